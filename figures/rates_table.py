"""Accuracies by kind and rate of what goes wrong in a stream."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from figures.frames import differences, measured, require, select
from figures.sheet import Sheet, groups
from study.report.differences import against_best

LAST, OLD = "A_last", "A_old"


def complete(
    frames: Mapping[str, pd.DataFrame],
    options: Mapping[str, Any],
    methods: Sequence[str],
    measures: Sequence[str] = (LAST, OLD),
) -> pd.DataFrame:
    """Return the rows of all streams, each stream with every data set, method and pair.

    Raises
    ------
    InputError
        In a stream a data set, method, pair or number is missing.
    """
    streams = [rows for _, rows in frames["rates"].groupby(["stress", "rate"])]
    parts = [select({"rates": s}, "rates", options, measures, methods) for s in streams]
    rows = pd.concat(parts, ignore_index=True)
    require(rows, "rates", measures)
    return rows


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix: a part per data set, means over class orders.

    A cell has accuracy after the last session on all classes and on those of the first half of the
    sessions, and their average decides which is best; or ``measures``, and the first of them decides.

    Parameters
    ----------
    frames : mapping
        ``rates``: one row per run of a stream; ``differences`` on each stream.
    options : mapping
        ``datasets``, ``methods``; ``caption`` with ``{suite}``, ``{backbone}``, ``{sessions}`` and
        ``{orders}``; ``id``.

    Raises
    ------
    InputError
        A data set, method, pair or number is missing.
    """
    methods = measured(options)
    measures = options.get("measures", [LAST, OLD])
    rows = complete(frames, options, methods, measures)
    decides = measures[0] if "measures" in options else "A_both"
    if decides not in rows:
        rows[decides] = (rows[LAST] + rows[OLD]) / 2
    sheet = Sheet(
        options, "rates", rows, part="dataset", label="method", over="stress", head="rate"
    )
    pairs = differences(frames, options)
    for keys, of_stream in groups(rows, options, "stress", "rate"):
        between = partial(pairs.between, measure=decides, **keys)
        values = of_stream.pivot(index="order", columns="method", values=decides)
        judged = against_best(values, True, between)
        means = of_stream.groupby("method")[list(measures)].mean()
        for method in methods:
            of = {"dataset": keys["dataset"], "method": method}
            of |= {"stress": keys["stress"], "rate": f"{keys['rate']:g}"}
            printed = " / ".join(f"{value:.1f}" for value in means.loc[method])
            marks = (bool(judged.loc[method, mark]) for mark in ("best", "tied"))
            sheet.add(printed, " / ".join(measures), of, *marks)
    rank = [cell.label for cell in sheet.cells[: len(methods)]]
    parts = [cell.part for cell in sheet.cells]
    sheet.cells.sort(key=lambda cell: (parts.index(cell.part), rank.index(cell.label)))
    return sheet.texts(tested=True)
