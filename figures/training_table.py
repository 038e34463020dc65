"""Costs and results of training the network: training accuracy, what is kept and trained, seconds, memory."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple

import pandas as pd

from figures.frames import PAIR, measured, require, select
from figures.sheet import Sheet


class Column(NamedTuple):
    """A column: what it is made from, its head, how it is gathered over sessions, how it is printed."""

    source: str
    head: str
    over_sessions: str
    form: Callable[[float], str]


COLUMNS = [
    Column("training_accuracy", "training accuracy", "mean", lambda percent: f"{percent:.1f}"),
    Column("underfitted", "underfitted", "sum", lambda count: f"{count:.3g}"),
    Column("exemplars", "exemplars", "last", lambda count: f"{count:g}"),
    Column("trainable_parameters", "parameters, M", "last", lambda count: f"{count / 1e6:.2f}"),
    Column("seconds", "seconds", "sum", lambda seconds: f"{seconds:.0f}"),
    Column("peak_bytes", "peak, GB", "max", lambda size: f"{size / 1e9:.1f}"),
]


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix: a part per data set, means over class orders.

    Parameters
    ----------
    frames : mapping
        ``training``: one row per session of a run that trains the network.
    options : mapping
        ``datasets``, ``methods``; ``groups``: title -> methods, in the order of the rows; ``caption``; ``id``.

    Raises
    ------
    InputError
        A data set, method, pair or number is missing.
    """
    sources = [column.source for column in COLUMNS]
    trained = methods(frames, options)
    rows = select(frames, "training", options, sources, trained)
    require(rows, "training", sources)
    titles = {m: title for title, ms in options.get("groups", {}).items() for m in ms}
    sheet = Sheet(options, "training", rows, part="dataset", label="method")
    for dataset, method in product(options["datasets"], trained):
        mine = rows[(rows["dataset"] == dataset) & (rows["method"] == method)]
        runs, keys = (
            mine.sort_values("session").groupby(PAIR),
            {"dataset": dataset, "method": method},
        )
        for source, head, over_sessions, form in COLUMNS:
            printed = form(runs[source].agg(over_sessions).mean())
            sheet.add(printed, source, keys, group=titles.get(method, ""), head=head)
    return sheet.texts()


def methods(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> list[str]:
    """Return the methods of the suite that train the network, in the order of ``groups`` and then of the suite."""
    ran = measured(options)
    placed = [m for ms in options.get("groups", {}).values() for m in ms if m in ran]
    told = set(frames["training"]["method"])
    return [m for m in dict.fromkeys([*placed, *ran]) if m in told]
