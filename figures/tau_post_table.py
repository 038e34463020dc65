"""Seconds a session after extraction, as they were measured once, on one machine."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import costs, grid
from figures.frames import require
from sparcl.base.errors import InputError

FRAME = "methods"
SHOWN = [("tau_post", "s", "{:.3f}".format), ("relative_time", "relative", "{:.2f}".format)]
MACHINE = ["processor", "threads", "numpy"]


def rows(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the grid of times; the fastest of a column is marked.

    Parameters
    ----------
    frames : mapping
        ``methods`` of timings/: one row a data set, order and method.
    options : mapping
        See `costs.cells`.

    Raises
    ------
    InputError
        See `costs.cells`; or machines are mixed.
    """
    table = frames[FRAME]
    require(table, FRAME, MACHINE)
    if len(table[MACHINE].drop_duplicates()) > 1:
        raise InputError(
            f"timings/{FRAME}.csv mixes machines; measure all of it on one with `make timings`"
        )
    cells = costs.cells(table, FRAME, SHOWN, options)
    return grid.grid(cells).assign(**{key: table[key].iloc[0] for key in MACHINE})


def texts(cells: pd.DataFrame, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix; ``caption`` with ``{processor}``, ``{threads}``, ``{numpy}``."""
    caption = options["caption"].format(**cells[MACHINE].iloc[0])
    return grid.texts(cells[grid.COLUMNS], caption, options["id"], wide=False)
