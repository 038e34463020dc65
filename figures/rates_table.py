"""Accuracy on all and on old classes by kind and rate of what goes wrong in a stream."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import grid
from figures.frames import fill, label, measured, origin
from figures.rates import LAST, OLD, of_stream, streams
from study.report.paired import against_best


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix: a part per data set, means over class orders.

    A cell has accuracy after the last session on all classes and on those of the first half of the
    sessions; which is best is told by their average.

    Parameters
    ----------
    frames : mapping
        ``rates``: one row per run of a stream.
    options : mapping
        ``datasets``, ``methods``; ``caption`` with ``{suite}``, ``{backbone}``, ``{sessions}`` and
        ``{orders}``; ``id``.

    Raises
    ------
    InputError
        A data set, method, pair or number is missing.
    """
    methods, cells = measured(options), []
    for stream in streams(frames):
        rows = of_stream(frames, options, stream, methods)
        for dataset in options["datasets"]:
            of_set = rows[rows["dataset"] == dataset]
            both = of_set.assign(both=(of_set[LAST] + of_set[OLD]) / 2)
            judged = against_best(both.pivot(index="order", columns="method", values="both"), True)
            for method in methods:
                own = of_set[of_set["method"] == method]
                where = {"backbone": own["backbone"].iloc[0], "dataset": dataset, "method": method}
                where |= {"stress": stream[0], "rate": f"{stream[1]:g}"}
                cells.append(
                    grid.Cell(
                        f"{own[LAST].mean():.1f} / {own[OLD].mean():.1f}",
                        part=label(options, "datasets", dataset),
                        label=label(options, "methods", method),
                        over=stream[0].replace("-", " "),
                        head=f"{stream[1]:g}",
                        best=bool(judged.loc[method, "best"]),
                        tied=bool(judged.loc[method, "tied"]),
                        origin=origin(options, "rates", f"{LAST} / {OLD}", **where),
                    )
                )
    parts = [label(options, "datasets", dataset) for dataset in options["datasets"]]
    rank = [label(options, "methods", method) for method in methods]
    cells.sort(key=lambda cell: (parts.index(cell.part), rank.index(cell.label)))
    return grid.texts(cells, fill(options, rows), options["id"])
