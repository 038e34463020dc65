"""Accuracy after each session, mean over class orders."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from figures.frames import PAIR, differences, measured, require, select
from figures.sheet import Sheet, groups
from study.report.differences import against_best

MEASURE = "A_t"


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix: a part per data set, a column per session.

    Parameters
    ----------
    frames : mapping
        ``sessions``: one row per run and session, accuracies in percent; ``differences`` after each.
    options : mapping
        ``datasets``, ``methods``, ``backbones``, ``absent``; ``caption`` with the fields
        of `figures.frames.fill`; ``id``.

    Raises
    ------
    InputError
        A data set, method, pair or accuracy is missing.
    """
    ran = measured(options)
    table = select(frames, "sessions", options, ["session", MEASURE], ran)
    require(table, "sessions", [MEASURE])
    sheet = Sheet(
        options, "sessions", table, short=True, part="dataset", label="method", head="session"
    )
    pairs = differences(frames, options)
    for keys, rows in groups(table, options, "session"):
        values = rows.pivot(index=PAIR, columns="method", values=MEASURE)[ran]
        between = partial(pairs.between, measure=MEASURE, **keys)
        for method, row in against_best(values, True, between).to_dict("index").items():
            of = {"dataset": keys["dataset"], "method": method, "session": keys["session"]}
            sheet.add(f"{row['mean']:.1f}", MEASURE, of, row["best"], row["tied"])
    return sheet.texts(tested=True)
