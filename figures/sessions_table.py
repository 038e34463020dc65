"""Accuracy after each session, mean over orders."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import grid
from figures.frames import label, measured, origin, require, select
from figures.tables import compare

MEASURE = "A_t"


def rows(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the grid: a block a data set, a row a method, a column a session.

    Parameters
    ----------
    frames : mapping
        ``sessions``: one row a run and session.

    Raises
    ------
    InputError
        A data set, method, pair or accuracy is missing.
    """
    ran = measured(options)
    table = select(frames, "sessions", options, ["session", MEASURE], ran)
    require(table, "sessions", [MEASURE])
    cells = []
    for (dataset, session), of_session in table.groupby(["dataset", "session"]):
        values = of_session.pivot(index=["order", "seed"], columns="method", values=MEASURE)
        best = compare(values[ran], higher_is_better=True)
        keys = {"backbone": of_session["backbone"].iloc[0], "dataset": dataset}
        cells += [
            {"part": label(options, "datasets", dataset), "head": str(session)}
            | {"label": label(options, "methods", method, short=True)}
            | {"printed": f"{best['mean'][method]:.1f}", "best": best["best"][method]}
            | origin(options, "sessions", MEASURE, **keys, method=method, session=session)
            for method in ran
        ]
    places = [label(options, "datasets", dataset) for dataset in options["datasets"]]
    cells.sort(key=lambda cell: places.index(cell["part"]))
    orders = len(table[["order", "seed"]].drop_duplicates())
    return grid.grid(cells).assign(backbone=table["backbone"].iloc[0], orders=orders)


def texts(cells: pd.DataFrame, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix; ``caption`` as in the main table."""
    caption = options["caption"].format(
        suite=options["suite"],
        backbone=label(options, "backbones", cells["backbone"].iloc[0]),
        orders=cells["orders"].iloc[0],
    )
    return grid.texts(cells[grid.COLUMNS], caption, options["id"])
