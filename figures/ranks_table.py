"""Methods over all data sets: mean ranks, and wins, ties and losses of one against each."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import grid
from figures.frames import label, select, shown
from figures.sheet import Sheet
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
    table = select(frames, "runs", options, ["sessions", *SHOWN], shown(options))
    ranks, difference = across.mean_ranks(table, "A_last")
    sheet = Sheet(options, "runs", table, label="method")
    for measure, (title, higher) in SHOWN.items():
        if measure == "forgetting" and (table["sessions"] == 1).all():  # nothing is old
            for method in ranks.index:
                sheet.add(grid.NOTHING, measure, {"method": method}, head=title)
            continue
        won = across.wins(across.paired_tests(table, of, measure, higher))
        of_measure, _ = across.mean_ranks(table, measure, higher)
        for method in ranks.index:
            rank = of_measure[method]
            counts = "" if method == of else " ({win}, {tie}, {loss})".format(**won.loc[method])
            best = bool(rank == of_measure.min())
            sheet.add(f"{rank:.2f}{counts}", measure, {"method": method}, best, head=title)
    name = label(options, "methods", of)
    return sheet.texts(method=name, difference=f"{difference:.1f}")
