"""Which ridge and threshold were used after all, where they are selected."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import grid
from figures.frames import PAIR, label, origin, select, shown

SETTINGS = {"ridge": "λ", "tau": "τ"}


def rows(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the grid: a row a method and setting, a column a data set.

    A cell lists the values over class orders, in their order, or the one value of all; where it is
    chosen in each session, the least and the greatest of all sessions and orders stand for it.

    Parameters
    ----------
    frames : mapping
        ``runs`` (``tau``), ``sessions`` (``ridge`` in each session).

    Raises
    ------
    InputError
        A data set, method or pair is missing.
    """
    methods = shown(options)
    table = {
        "ridge": select(frames, "sessions", options, ["ridge"], methods),
        "tau": select(frames, "runs", options, ["tau"], methods),
    }
    kept = [
        (method, setting)
        for method in methods
        for setting in SETTINGS
        if table[setting].loc[table[setting]["method"] == method, setting].notna().any()
    ]
    cells = []
    for method, setting in kept:
        name = "sessions" if setting == "ridge" else "runs"
        for dataset in options["datasets"]:
            frame = table[setting]
            used = frame[(frame["method"] == method) & (frame["dataset"] == dataset)]
            keys = {"backbone": used["backbone"].iloc[0], "dataset": dataset, "method": method}
            runs = [run[setting].dropna() for _, run in used.groupby(PAIR)]
            cells.append(
                {"label": f"{label(options, 'methods', method, short=True)}, {SETTINGS[setting]}"}
                | {"head": label(options, "datasets", dataset)}
                | {"printed": _used(runs)}
                | origin(options, name, setting, **keys)
            )
    orders = len(table["tau"][PAIR].drop_duplicates())
    return grid.grid(cells).assign(backbone=table["tau"]["backbone"].iloc[0], orders=orders)


def texts(cells: pd.DataFrame, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix; ``caption`` as in the main table."""
    caption = options["caption"].format(
        suite=options["suite"],
        backbone=label(options, "backbones", cells["backbone"].iloc[0]),
        orders=cells["orders"].iloc[0],
    )
    return grid.texts(cells[grid.COLUMNS], caption, options["id"])


def _used(runs: list[pd.Series]) -> str:
    """Return the values of one cell, given those of each run."""
    every = pd.concat(runs)
    if every.nunique() == 1:
        return f"{every.iloc[0]:g}"
    if all(run.nunique() == 1 for run in runs):
        return ", ".join(f"{run.iloc[0]:g}" for run in runs)
    return f"{every.min():g} to {every.max():g}"
