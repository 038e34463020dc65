"""Accuracy after each session, mean over class orders."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import grid
from figures.frames import PAIR, fill, label, measured, origin, require, select
from study.report.paired import against_best

MEASURE = "A_t"


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix: a part per data set, a column per session.

    Parameters
    ----------
    frames : mapping
        ``sessions``: one row per run and session, accuracies in percent.
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
    cells = []
    for dataset in options["datasets"]:
        of_set = table[table["dataset"] == dataset]
        for session in sorted(of_set["session"].unique()):
            of_session = of_set[of_set["session"] == session]
            values = of_session.pivot(index=PAIR, columns="method", values=MEASURE)
            where = {"backbone": of_session["backbone"].iloc[0], "dataset": dataset}
            compared = against_best(values[ran], higher_is_better=True).to_dict("index")
            cells += [
                grid.Cell(
                    f"{row['mean']:.1f}",
                    part=label(options, "datasets", dataset),
                    label=label(options, "methods", str(method), short=True),
                    head=str(session),
                    best=row["best"],
                    tied=row["tied"],
                    origin=origin(
                        options, "sessions", MEASURE, **where, method=method, session=session
                    ),
                )
                for method, row in compared.items()
            ]
    return grid.texts(cells, fill(options, table), options["id"])
