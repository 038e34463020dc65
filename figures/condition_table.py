"""Condition numbers of the joint problem and of the residual block after each session."""

from itertools import product

from figures import grid
from figures.frames import Frames, Options, label, require, select, shown
from figures.sheet import Sheet

SHOWN = {
    "kappa": "κ of the paper",
    "condition": "condition number of R + λI",
    "residual_condition": "condition number of the residual block",
}


def texts(frames: Frames, options: Options) -> dict[str, str]:
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
    table = select(frames, "diagnostics", options, ["session"], [method], gaps=[*SHOWN])
    sheet = Sheet(options, "diagnostics", table, part="dataset", head="session")
    for dataset, (column, name) in product(options["datasets"], SHOWN.items()):
        for session, rows in table[table["dataset"] == dataset].groupby("session"):
            printed = grid.NOTHING
            if not (session == 1 and rows[column].isna().all()):
                require(rows, "diagnostics", [column])
                mean = rows[column].mean()
                printed = f"{mean:.{1 if mean < 100 else 0}f}"
            keys = {"dataset": dataset, "method": method, "session": session}
            sheet.add(printed, column, keys, label=name)
    return sheet.texts(method=label(options, "methods", method))
