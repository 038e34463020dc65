"""Costs and results of training the network: training accuracy, what is kept and trained, seconds, memory."""

from itertools import product

from figures.frames import PAIR, Frames, Options, measured, select
from figures.sheet import Sheet

# Column -> its head, how it is gathered over sessions, the factor from its unit to the printed one, and its format.
COLUMNS = {
    "training_accuracy": ("training accuracy", "mean", 1, ".1f"),
    "underfitted": ("underfitted", "sum", 1, ".3g"),
    "exemplars": ("exemplars", "last", 1, "g"),
    "trainable_parameters": ("parameters, M", "last", 1e6, ".2f"),
    "seconds": ("seconds", "sum", 1, ".0f"),
    "peak_bytes": ("peak, GB", "max", 1e9, ".1f"),
}


def texts(frames: Frames, options: Options) -> dict[str, str]:
    """Return the files of the table by suffix: a part per data set, means over class orders.

    Parameters
    ----------
    frames : mapping
        ``training``: one row per session of a run that trains the network.
    options : mapping
        ``datasets``, ``methods``; ``groups``: title -> methods, in the order of the rows; ``caption``; ``id``.

    Raises
    ------
    InputError
        A data set, method, pair or number is missing.
    """
    trained = methods(frames, options)
    rows = select(frames, "training", options, [*COLUMNS], trained).sort_values("session")
    titles = {m: title for title, ms in options.get("groups", {}).items() for m in ms}
    sheet = Sheet(options, "training", rows, part="dataset", label="method")
    runs = rows.groupby(["dataset", "method", *PAIR])
    for dataset, method in product(options["datasets"], trained):
        keys = {"dataset": dataset, "method": method}
        for column, (head, over_sessions, unit, form) in COLUMNS.items():
            value = runs[column].agg(over_sessions)[dataset, method].mean() / unit
            group = titles.get(method, "")
            sheet.add(f"{value:{form}}", column, keys, group=group, head=head)
    return sheet.texts()


def methods(frames: Frames, options: Options) -> list[str]:
    """Return the methods of the suite that train the network, in the order of ``groups`` and then of the suite."""
    ran = measured(options)
    placed = [m for ms in options.get("groups", {}).values() for m in ms if m in ran]
    told = set(frames["training"]["method"])
    return [m for m in dict.fromkeys([*placed, *ran]) if m in told]
