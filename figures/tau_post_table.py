"""Seconds a session after extraction, as they were measured once, on one machine."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import grid
from figures.frames import origin, require
from sparcl.errors import InputError

FRAME = "methods"
SHOWN = {"tau_post": ("s", "{:.3f}"), "relative_time": ("relative", "{:.2f}")}
MACHINE = ["processor", "threads", "numpy"]


def rows(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the grid of times; the fastest of a column is marked.

    Parameters
    ----------
    frames : mapping
        ``methods`` of timings/: one row a data set, order and method.
    options : mapping
        ``show``: methods in the order of the rows; ``names``: their labels, of any suite.

    Raises
    ------
    InputError
        A shown method was not timed on every data set exactly once, a time is empty, or machines are mixed.
    """
    table = frames[FRAME]
    require(table, FRAME, [*SHOWN, *MACHINE])
    if len(table[MACHINE].drop_duplicates()) > 1:
        raise InputError(
            f"timings/{FRAME}.csv mixes machines; measure all of it on one with `make timings`"
        )
    cells = []
    for dataset, timed in table[table["method"].isin(options["show"])].groupby(
        "dataset", sort=False
    ):
        name = options["datasets"].get(dataset, {}).get("label", dataset)
        for column, (unit, form) in SHOWN.items():
            for method in options["show"]:
                found = timed[timed["method"] == method]
                if len(found) != 1:
                    raise InputError(
                        f"timings/{FRAME}.csv has {len(found)} rows of data set {dataset}, method {method}, not one"
                    )
                value = found[column].iloc[0]
                cells.append(
                    {"label": options["names"][method], "over": name, "head": unit}
                    | {"printed": form.format(value), "best": value == timed[column].min()}
                    | origin(options, FRAME, column, dataset=dataset, method=method)
                )
    return grid.grid(cells).assign(**{key: table[key].iloc[0] for key in MACHINE})


def texts(cells: pd.DataFrame, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix; ``caption`` with ``{processor}``, ``{threads}``, ``{numpy}``."""
    caption = options["caption"].format(**cells[MACHINE].iloc[0])
    return grid.texts(cells[grid.COLUMNS], caption, options["id"], wide=False)
