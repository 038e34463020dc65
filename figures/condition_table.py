"""The condition numbers of the joint problem and of the residual block, session by session."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import grid
from figures.frames import label, origin, select, shown
from sparcl.base.errors import InputError

SHOWN = {
    "kappa": "κ of the paper",
    "condition": "condition number of R + λI",
    "residual_condition": "condition number of the residual block",
}


def rows(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the grid: a block a data set, a row a number, a column a session; means over orders.

    The first two depend on the sums alone, so they are those of every method of one ridge; the third,
    undefined before there are old classes, depends on the core.

    Parameters
    ----------
    frames : mapping
        ``diagnostics``: one row a run and session.
    options : mapping
        ``show``: the one method whose numbers are shown.

    Raises
    ------
    InputError
        A data set, method, pair or number is missing.
    """
    (method,) = shown(options)
    table = select(frames, "diagnostics", options, ["session", *SHOWN], [method])
    cells = []
    for column, name in SHOWN.items():
        for (dataset, session), of_session in table.groupby(["dataset", "session"]):
            place = {"part": label(options, "datasets", dataset), "label": name}
            place |= {"head": str(session)}
            values = of_session[column]
            if session == 1 and values.isna().all():
                cells.append(place | {"printed": grid.NOTHING})
                continue
            if values.isna().any():
                raise InputError(
                    f"diagnostics.csv: {column} is empty for dataset {dataset}, method {method}, session {session}"
                )
            keys = {"backbone": of_session["backbone"].iloc[0], "dataset": dataset}
            keys |= {"method": method, "session": session}
            cells.append(
                place
                | {"printed": f"{values.mean():.{1 if values.mean() < 100 else 0}f}"}
                | origin(options, "diagnostics", column, **keys)
            )
    places = [label(options, "datasets", dataset) for dataset in options["datasets"]]
    cells.sort(key=lambda cell: places.index(cell["part"]))
    orders = len(table[["order", "seed"]].drop_duplicates())
    return grid.grid(cells).assign(
        backbone=table["backbone"].iloc[0],
        orders=orders,
        method=label(options, "methods", method),
    )


def texts(cells: pd.DataFrame, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix; ``caption`` as in the main table, and ``{method}``."""
    caption = options["caption"].format(
        suite=options["suite"],
        backbone=label(options, "backbones", cells["backbone"].iloc[0]),
        orders=cells["orders"].iloc[0],
        method=cells["method"].iloc[0],
    )
    return grid.texts(cells[grid.COLUMNS], caption, options["id"])
