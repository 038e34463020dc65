"""Accuracies by kind and rate of what goes wrong in a stream."""

from collections.abc import Sequence

import pandas as pd

from figures.frames import Frames, Options, differences, measured, select
from figures.sheet import Sheet, groups, judged

LAST, OLD = "A_last", "A_old"


def complete(
    frames: Frames, options: Options, methods: Sequence[str], measures: Sequence[str] = (LAST, OLD)
) -> pd.DataFrame:
    """Return the rows of all streams, each stream with every data set, method and pair.

    Raises
    ------
    InputError
        In a stream a data set, method, pair or number is missing.
    """
    streams = [rows for _, rows in frames["rates"].groupby(["stress", "rate"])]
    parts = [select({"rates": s}, "rates", options, measures, methods) for s in streams]
    return pd.concat(parts, ignore_index=True)


def texts(frames: Frames, options: Options) -> dict[str, str]:
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
        means = of_stream.groupby("method")[measures].mean()
        for method, row in judged(of_stream, options, decides, pairs, keys).items():
            of = {"dataset": keys["dataset"], "method": method}
            of |= {"stress": keys["stress"], "rate": f"{keys['rate']:g}"}
            printed = " / ".join(f"{value:.1f}" for value in means.loc[method])
            sheet.add(printed, " / ".join(measures), of, row["best"], row["tied"])
    rank = [cell.label for cell in sheet.cells[: len(methods)]]
    parts = [cell.part for cell in sheet.cells]
    sheet.cells.sort(key=lambda cell: (parts.index(cell.part), rank.index(cell.label)))
    return sheet.texts(tested=True)
