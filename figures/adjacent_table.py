"""Class orders by adjacent similarity: what they reach of it, and the accuracy of each method on them."""

from figures.frames import Frames, Options, fill, label, measured, origin, select
from figures.grid import Cell
from figures.grid import texts as laid_out

MEASURES = ["A_bar", "A_last"]


def texts(frames: Frames, options: Options) -> dict[str, str]:
    """Return the files of the table by suffix: a part per data set, a row per rule of orders, means over orders.

    Parameters
    ----------
    frames : mapping
        The frames that ``columns`` names, one row per run, and the ``orders`` beside each; a suite without them has
        the drawn orders, whose similarity the others state.
    options : mapping
        ``columns``: frame -> name of its rule; ``datasets``, ``methods``; ``caption`` with ``{backbone}``,
        ``{sessions}`` and ``{orders}``; ``id``.

    Raises
    ------
    InputError
        A data set, method, pair or number is missing.
    """
    methods, cells = measured(options), []
    orders = {name: frame for name, frame in frames.items() if name.endswith("/orders")}
    for dataset in options["datasets"]:
        for name, rule in options["columns"].items():
            runs = select(frames, name, options, MEASURES, methods)
            own = name.replace("/runs", "/orders")
            column = "similarity" if own in orders else "similarity_drawn"
            own = own if own in orders else next(iter(orders))
            place = {"part": label(options, "datasets", dataset), "label": rule}
            similarity = orders[own].loc[orders[own]["dataset"] == dataset, column].mean()
            source = origin(options, own, column, dataset=dataset)
            cells.append(Cell(f"{similarity:.3f}", head="similarity", origin=source, **place))
            for method in methods:
                keys = {"backbone": runs["backbone"].iloc[0], "dataset": dataset, "method": method}
                own_runs = runs[(runs["dataset"] == dataset) & (runs["method"] == method)]
                means = own_runs[MEASURES].mean()
                source = origin(options, name, " / ".join(MEASURES), **keys)
                head = label(options, "methods", method, short=True)
                printed = "{:.1f} / {:.1f}".format(*means)
                cells.append(Cell(printed, head=head, origin=source, **place))
    return laid_out(cells, fill(options, runs), options["id"], True)
