"""Condition numbers of the joint problem and of the residual block after each session."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from figures import grid
from figures.frames import fill, label, origin, require, select, shown

SHOWN = {
    "kappa": "κ of the paper",
    "condition": "condition number of R + λI",
    "residual_condition": "condition number of the residual block",
}


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix: a part per data set, means over class orders.

    The first two numbers depend on the sums alone, so every method with the same ridge has the
    same. The third depends on the core and is undefined while there are no old classes.

    Parameters
    ----------
    frames : mapping
        ``diagnostics``: one row per run and session.
    options : mapping
        ``show``: the one method whose numbers are shown; ``caption`` with ``{suite}``,
        ``{backbone}``, ``{sessions}``, ``{orders}`` and ``{method}``; ``id``.

    Raises
    ------
    InputError
        A data set, method, pair or number is missing.
    """
    (method,) = shown(options)
    table = select(frames, "diagnostics", options, ["session", *SHOWN], [method])
    cells = []
    for dataset in options["datasets"]:
        of_set = table[table["dataset"] == dataset]
        for column, name in SHOWN.items():
            for session in sorted(of_set["session"].unique()):
                rows = of_set[of_set["session"] == session]
                cell = grid.Cell(
                    grid.NOTHING,
                    part=label(options, "datasets", dataset),
                    label=name,
                    head=str(session),
                )
                if not (session == 1 and rows[column].isna().all()):
                    require(rows, "diagnostics", [column])
                    mean = rows[column].mean()
                    where = {"backbone": rows["backbone"].iloc[0], "dataset": dataset}
                    where |= {"method": method, "session": session}
                    cell = replace(
                        cell,
                        printed=f"{mean:.{1 if mean < 100 else 0}f}",
                        origin=origin(options, "diagnostics", column, **where),
                    )
                cells.append(cell)
    caption = fill(options, table, method=label(options, "methods", method))
    return grid.texts(cells, caption, options["id"])
