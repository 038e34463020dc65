"""What methods cost, as it was measured once, on one machine: the cells of a table of costs."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from figures.frames import origin, require
from sparcl.base.errors import InputError

EXEMPLARS = 2000 * 224 * 224 * 3  # bytes of the buffer of images that replay keeps
# Column of the frame, head in the table, and how a value is printed.
Shown = tuple[str, str, Callable[[float], str]]


def cells(
    table: pd.DataFrame, frame: str, shown: list[Shown], options: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return a cell a method, data set and cost; the least of a column is marked.

    Parameters
    ----------
    table : one row a data set, order and method
    frame : its name, for the origin of cells and for errors
    options : mapping
        ``show``: methods in the order of the rows; ``names``: their labels, of any suite.

    Raises
    ------
    InputError
        A shown method was not measured on every data set exactly once, or a cost is empty.
    """
    require(table, frame, [column for column, _, _ in shown])
    found = []
    chosen = table[table["method"].isin(options["show"])]
    for dataset, measured in chosen.groupby("dataset", sort=False):
        name = options["datasets"].get(dataset, {}).get("label", dataset)
        for column, head, form in shown:
            for method in options["show"]:
                rows = measured[measured["method"] == method]
                if len(rows) != 1:
                    raise InputError(
                        f"timings/{frame}.csv has {len(rows)} rows of data set {dataset}, method {method}, not one"
                    )
                value = rows[column].iloc[0]
                found.append(
                    {"label": options["names"][method], "over": name, "head": head}
                    | {"printed": form(value), "best": value == measured[column].min()}
                    | origin(options, frame, column, dataset=dataset, method=method)
                )
    return found
