"""Methods over all data sets: mean ranks, and wins, ties and losses of one against each."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import grid
from figures.frames import fill, label, origin, select, shown
from study.report import across

SHOWN = {
    "A_bar": ("average accuracy", True),
    "A_last": ("last accuracy", True),
    "forgetting": ("forgetting", False),
}


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix: a row per method, best rank of last accuracy first.

    A cell has the mean rank over data sets and, in brackets, on how many of them the method ``of`` wins,
    ties and loses against it: paired t-tests over class orders, corrected by Holm over all rows and
    data sets of a column.

    Parameters
    ----------
    frames : mapping
        ``runs``.
    options : mapping
        ``of``; ``caption`` with ``{suite}``, ``{backbone}``, ``{sessions}``, ``{orders}``, ``{method}`` and
        ``{difference}``, the critical difference of ranks; ``id``.

    Raises
    ------
    InputError
        A method, data set or pair is missing, or there are fewer than five pairs.
    """
    of = options["of"]
    methods = shown(options)
    table = select(frames, "runs", options, ["sessions", *SHOWN], methods)
    ranks, difference = across.mean_ranks(table, "A_last")
    cells = []
    for measure, (title, higher) in SHOWN.items():
        if measure == "forgetting" and (table["sessions"] == 1).all():  # nothing is old
            names = [label(options, "methods", method) for method in ranks.index]
            cells += [grid.Cell(grid.NOTHING, label=name, head=title) for name in names]
            continue
        tests = across.paired_tests(table, of, measure, higher)
        won = across.wins(tests)
        of_measure, _ = across.mean_ranks(table, measure, higher)
        best = of_measure.min()
        for method in ranks.index:
            counts = "" if method == of else " ({win}, {tie}, {loss})".format(**won.loc[method])
            where = {"backbone": table["backbone"].iloc[0], "method": method}
            cells.append(
                grid.Cell(
                    f"{of_measure[method]:.2f}{counts}",
                    label=label(options, "methods", method),
                    head=title,
                    best=bool(of_measure[method] == best),
                    origin=origin(options, "runs", measure, **where),
                )
            )
    name = label(options, "methods", of)
    caption = fill(options, table, method=name, difference=f"{difference:.1f}")
    return grid.texts(cells, caption, options["id"])
