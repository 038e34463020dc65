"""The ridge and energy threshold in use where they are selected."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import grid
from figures.frames import PAIR, fill, label, origin, select, shown

SETTINGS = {"ridge": ("sessions", "λ"), "tau": ("runs", "τ")}


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix: a row per method and setting, a column per data set.

    A cell lists the values of the class orders in turn, or one value that all share. Where the
    value is chosen anew in each session, the cell gives the least and the greatest.

    Parameters
    ----------
    frames : mapping
        ``runs`` (``tau``) and ``sessions`` (``ridge`` in each session).
    options : mapping
        ``show``: the methods; ``caption`` with ``{suite}``, ``{backbone}``, ``{sessions}`` and
        ``{orders}``; ``id``.

    Raises
    ------
    InputError
        A data set, method or pair is missing.
    """
    methods = shown(options)
    tables = {
        setting: select(frames, name, options, [setting], methods)
        for setting, (name, _) in SETTINGS.items()
    }
    cells = []
    for method in methods:
        for setting, (name, symbol) in SETTINGS.items():
            of_method = tables[setting][tables[setting]["method"] == method]
            if of_method[setting].isna().all():
                continue
            for dataset in options["datasets"]:
                rows = of_method[of_method["dataset"] == dataset]
                where = {"backbone": rows["backbone"].iloc[0], "dataset": dataset}
                cells.append(
                    grid.Cell(
                        _in_use([run[setting].dropna() for _, run in rows.groupby(PAIR)]),
                        label=f"{label(options, 'methods', method, short=True)}, {symbol}",
                        head=label(options, "datasets", dataset),
                        origin=origin(options, name, setting, **where, method=method),
                    )
                )
    return grid.texts(cells, fill(options, tables["tau"]), options["id"])


def _in_use(runs: list[pd.Series]) -> str:
    """Return the text of one cell, given the values of each run."""
    every = pd.concat(runs)
    if every.nunique() == 1:
        return f"{every.iloc[0]:g}"
    if all(run.nunique() == 1 for run in runs):
        return ", ".join(f"{run.iloc[0]:g}" for run in runs)
    return f"{every.min():g} to {every.max():g}"
