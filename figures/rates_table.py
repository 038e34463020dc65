"""Accuracy on all and on old classes by kind and rate of what goes wrong in a stream."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from figures.frames import differences, measured, require, select
from figures.sheet import Sheet, groups
from study.report.differences import against_best

LAST, OLD = "A_last", "A_old"


def complete(
    frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any], methods: Sequence[str]
) -> pd.DataFrame:
    """Return the rows of all streams, each stream with every data set, method and pair.

    Raises
    ------
    InputError
        In a stream a data set, method, pair or number is missing.
    """
    streams = [rows for _, rows in frames["rates"].groupby(["stress", "rate"])]
    parts = [select({"rates": s}, "rates", options, [LAST, OLD], methods) for s in streams]
    rows = pd.concat(parts, ignore_index=True)
    require(rows, "rates", [LAST, OLD])
    return rows


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix: a part per data set, means over class orders.

    A cell has accuracy after the last session on all classes and on those of the first half of the
    sessions; which is best is told by their average.

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
    rows = complete(frames, options, methods)
    rows["both"] = (rows[LAST] + rows[OLD]) / 2
    sheet = Sheet(
        options, "rates", rows, part="dataset", label="method", over="stress", head="rate"
    )
    pairs = differences(frames, options)
    for keys, of_stream in groups(rows, options, "stress", "rate"):
        between = partial(pairs.between, measure="A_both", **keys)
        values = of_stream.pivot(index="order", columns="method", values="both")
        judged = against_best(values, True, between)
        means = of_stream.groupby("method")[[LAST, OLD]].mean()
        for method in methods:
            of = {"dataset": keys["dataset"], "method": method}
            of |= {"stress": keys["stress"], "rate": f"{keys['rate']:g}"}
            printed = "{:.1f} / {:.1f}".format(*means.loc[method])
            marks = (bool(judged.loc[method, mark]) for mark in ("best", "tied"))
            sheet.add(printed, f"{LAST} / {OLD}", of, *marks)
    rank = [cell.label for cell in sheet.cells[: len(methods)]]
    parts = [cell.part for cell in sheet.cells]
    sheet.cells.sort(key=lambda cell: (parts.index(cell.part), rank.index(cell.label)))
    return sheet.texts(tested=True)
