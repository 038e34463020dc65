"""Settings selected on the base session, and how often a choice lies on an edge of its candidates."""

from itertools import product

import numpy as np
import pandas as pd

from figures.frames import Frames, Options, label, require, select, shown
from figures.sheet import Sheet, groups

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


def texts(frames: Frames, options: Options) -> dict[str, str]:
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
    chosen = {setting for method in methods for setting in selected[method]}
    columns = [column for column, (setting, _) in SETTINGS.items() if setting in chosen]
    table = select(frames, "runs", options, [], methods, gaps=columns)
    sheet = Sheet(options, "runs", table, head="dataset")
    for method, column in product(methods, columns):
        setting, symbol = SETTINGS[column]
        if setting not in selected[method]:
            continue
        name = f"{label(options, 'methods', method, short=True)}, {symbol}"
        of_method = table[table["method"] == method]
        require(of_method, "runs", [column])
        for keys, of_set in groups(of_method, options):
            sheet.add(_in_use(of_set[column]), column, keys | {"method": method}, label=name)
    return sheet.texts(edges=_edges(table, options))


def _in_use(values: pd.Series) -> str:
    """Return the text of one cell, given the value of each run."""
    texts = [f"{value:.3g}" for value in values]
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


def _edges(table: pd.DataFrame, options: Options) -> str:
    """Return how many of the chosen ridges are the least or the greatest of their candidates."""
    on_edge = total = 0
    for (column, (setting, _)), (method, rows) in product(
        SETTINGS.items(), table.groupby("method")
    ):
        if setting in RIDGES and setting in options["selected"][method]:
            candidates = options["candidates"][setting]
            chosen = rows[column].to_numpy(dtype=float)
            ends = np.isclose(chosen[:, None], [min(candidates), max(candidates)], rtol=1e-4)
            on_edge, total = on_edge + int(ends.any(axis=1).sum()), total + len(chosen)
    return f"{on_edge} of {total}"
