"""Time or memory of methods, as measured once on one machine (timings/)."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple

import pandas as pd

from figures.frames import label, require
from figures.sheet import Sheet
from sparcl.base.errors import InputError

EXEMPLARS = 2000 * 224 * 224 * 3  # bytes of the image buffer that a replay method keeps
MACHINE = ["processor", "threads", "numpy"]


class Cost(NamedTuple):
    """A column of the table: where its values come from, its name, and how they are printed."""

    column: str
    head: str
    form: Callable[[float], str]


COSTS = {
    "methods": [
        Cost("tau_post", "s", lambda seconds: f"{seconds:.3f}"),
        Cost("relative_time", "relative", lambda ratio: f"{ratio:.2f}"),
    ],
    "memory": [
        Cost("state_bytes", "kept, MB", lambda size: f"{size / 1e6:.1f}"),
        Cost("state_bytes", "of the buffer", lambda size: f"{100 * size / EXEMPLARS:.1f}%"),
        Cost("peak_bytes", "peak, MB", lambda size: f"{size / 1e6:.0f}"),
    ],
}


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix; the least of a column is in bold.

    Parameters
    ----------
    frames : mapping
        ``methods`` or ``memory``: one row per data set, class order and method; times in seconds,
        sizes in bytes.
    options : mapping
        ``show``: methods in the order of the rows; ``names``: their labels; ``caption`` with
        ``{buffer}``, the size of the image buffer in MB, and where times are shown ``{processor}``,
        ``{threads}`` and ``{numpy}``; ``id``.

    Raises
    ------
    InputError
        A method is not measured exactly once on every data set, a cost is empty, or times are
        from more than one machine.
    """
    (name, table), *_ = frames.items()
    costs = COSTS[name]
    require(table, name, [cost.column for cost in costs])
    machine: dict[str, Any] = {}
    if name == "methods":
        require(table, name, MACHINE)
        machine = {key: table[key].iloc[0] for key in MACHINE}
        if len(table[MACHINE].drop_duplicates()) > 1:
            raise InputError(
                f"timings/{name}.csv mixes machines; measure all of it on one with `make timings`"
            )
    chosen = table[table["method"].isin(options["show"])]
    sheet = Sheet(options, name, table.iloc[:0])
    for dataset in chosen["dataset"].unique():
        measured = chosen[chosen["dataset"] == dataset]
        over = label(options, "datasets", dataset) if dataset in options["datasets"] else dataset
        for (column, head, form), method in product(costs, options["show"]):
            rows = measured[measured["method"] == method]
            if len(rows) != 1:
                raise InputError(
                    f"timings/{name}.csv has {len(rows)} rows of data set {dataset}, method "
                    f"{method}, not one; measure again with `make timings`"
                )
            value, keys = rows[column].iloc[0], {"dataset": dataset, "method": method}
            best, row = bool(value == measured[column].min()), options["names"][method]
            sheet.add(form(value), column, keys, best, label=row, over=over, head=head)
    return sheet.texts(wide=name == "memory", buffer=f"{EXEMPLARS / 1e6:.0f}", **machine)
