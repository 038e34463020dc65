"""Settings selected on the base session, and how often a choice lies on an edge of its candidates."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from figures.frames import label, select, shown
from figures.sheet import Sheet, groups
from sparcl.base.errors import InputError

# Column of `runs` -> setting and symbol.
SETTINGS = {
    "ridge_share": ("ridge", "λ"),
    "ridge_relative": ("ridge_relative", "λ"),
    "tau": ("tau", "τ"),
    "kappa": ("kappa", "κ"),
    "level": ("level", "share kept"),
    "ratio": ("ratio", "c"),
    "alpha": ("alpha", "α"),
    "centroids": ("centroids", "centroids"),
    "epsilon": ("epsilon", "ε"),
    "own": ("own", "own covariance"),
    "floor": ("floor", "γ"),
    "shift": ("shift", "s"),
}
RIDGES = ("ridge", "ridge_relative")


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix: a row per method and setting, a column per data set.

    A cell lists the values of the class orders in turn, or one value that all share.

    Parameters
    ----------
    frames : mapping
        ``runs``.
    options : mapping
        ``show``: the methods, or all of ``methods`` that select anything; ``selected``: method -> settings that
        it selects; ``candidates``: setting -> values; ``caption`` with ``{suite}``, ``{backbone}``,
        ``{sessions}``, ``{orders}`` and ``{edges}``; ``id``.

    Raises
    ------
    InputError
        A data set, method or pair is missing, or what was selected.
    """
    selected = options["selected"]
    methods = [method for method in shown(options) if method in selected]
    columns = [
        column
        for column, (setting, _) in SETTINGS.items()
        if any(setting in selected[method] for method in methods)
    ]
    table = select(frames, "runs", options, columns, methods)
    sheet = Sheet(options, "runs", table, head="dataset")
    for method, column in product(methods, columns):
        setting, symbol = SETTINGS[column]
        if setting not in selected[method]:
            continue
        name = f"{label(options, 'methods', method, short=True)}, {symbol}"
        for keys, of_set in groups(table, options):
            values = of_set.loc[of_set["method"] == method, column]
            if values.isna().any():
                raise InputError(
                    f"runs.csv has no {column} of method {method} on data set {keys['dataset']}, which selects its "
                    f"{setting}; let the method report it, and run it again"
                )
            sheet.add(_in_use(values), column, keys | {"method": method}, label=name)
    return sheet.texts(edges=_edges(table, options))


def _in_use(values: pd.Series) -> str:
    """Return the text of one cell, given the value of each run."""
    texts = [f"{value:.3g}" for value in values]
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


def _edges(table: pd.DataFrame, options: Mapping[str, Any]) -> str:
    """Return how many of the chosen ridges are the least or the greatest of their candidates."""
    on_edge = total = 0
    for column, (setting, _) in SETTINGS.items():
        if setting not in RIDGES or column not in table:
            continue
        candidates = options["candidates"][setting]
        for method, rows in table.groupby("method"):
            if setting not in options["selected"][method]:
                continue
            chosen = rows[column].to_numpy(dtype=float)
            ends = np.isclose(chosen[:, None], [min(candidates), max(candidates)], rtol=1e-4)
            on_edge, total = on_edge + int(ends.any(axis=1).sum()), total + len(chosen)
    return f"{on_edge} of {total}"
