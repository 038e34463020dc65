"""What a method keeps, against a buffer of images, and the memory it needs at its peak."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import costs, grid
from figures.costs import EXEMPLARS

FRAME = "memory"
SHOWN = [
    ("state_bytes", "kept, MB", lambda size: f"{size / 1e6:.1f}"),
    ("state_bytes", "of the buffer", lambda size: f"{100 * size / EXEMPLARS:.1f}%"),
    ("peak_bytes", "peak, MB", lambda size: f"{size / 1e6:.0f}"),
]


def rows(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the grid of bytes; the least of a column is marked.

    Parameters
    ----------
    frames : mapping
        ``memory`` of timings/: one row a data set, order and method.
    options : mapping
        See `costs.cells`, which also says what is refused.
    """
    return grid.grid(costs.cells(frames[FRAME], FRAME, SHOWN, options))


def texts(cells: pd.DataFrame, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix; ``caption`` with ``{buffer}``, in MB."""
    caption = options["caption"].format(buffer=f"{EXEMPLARS / 1e6:.0f}")
    return grid.texts(cells[grid.COLUMNS], caption, options["id"], wide=True)
