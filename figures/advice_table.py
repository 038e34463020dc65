"""Whether to hold a core, as sums advise, and how often that is right."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import grid
from figures.frames import fill, label, origin, select, shown
from figures.rates import LAST, streams


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix: a row per data set, a column per kind and rate of stress.

    In each class order the advice is to hold a core where the share of strangers that sums tell reaches
    ``limit``.  It is right where the advised learner has the better last accuracy, or is within ``tie`` points
    of it.  A cell has the mean share in percent, and in how many class orders a core is advised, and is right.

    Parameters
    ----------
    frames : mapping
        ``rates``: one row per run of a stream.
    options : mapping
        ``show``: the methods without and with a core; ``limit``, ``tie``; ``datasets``; ``caption`` with
        ``{suite}``, ``{backbone}``, ``{sessions}``, ``{orders}``, ``{limit}``, ``{right}``, ``{streams}``,
        ``{never}`` and ``{always}``; ``id``.

    Raises
    ------
    InputError
        A data set, method, pair or number is missing.
    """
    cells, totals = [], {"right": 0, "streams": 0, "never": 0, "always": 0}
    for kind, rate in streams(frames):
        judged, rows = _judged(frames, options, kind, rate)
        for dataset in options["datasets"]:
            of_set = judged[judged["dataset"] == dataset]
            n = len(of_set)
            totals["streams"] += n
            for name in ("right", "never", "always"):
                totals[name] += int(of_set[name].sum())
            where = {"backbone": rows["backbone"].iloc[0], "dataset": dataset}
            where |= {"method": shown(options)[1], "stress": kind, "rate": f"{rate:g}"}
            cells.append(
                grid.Cell(
                    f"{100 * of_set['share'].mean():.0f}: {of_set['held'].sum()}, {of_set['right'].sum()}/{n}",
                    label=label(options, "datasets", dataset),
                    over=kind.replace("-", " "),
                    head=f"{rate:g}",
                    origin=origin(options, "rates", f"strangers / {LAST}", **where),
                )
            )
    rank = [label(options, "datasets", dataset) for dataset in options["datasets"]]
    cells.sort(key=lambda cell: rank.index(cell.label))
    caption = fill(options, rows, limit=f"{100 * options['limit']:g}", **totals)
    return grid.texts(cells, caption, options["id"])


def _judged(
    frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any], kind: str, rate: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a row per data set and class order, and the rows of the stream that they come from."""
    table = frames["rates"]
    mine = table[(table["stress"] == kind) & (table["rate"] == rate)]
    without, held = shown(options)
    rows = select({"rates": mine}, "rates", options, [LAST], [without, held])
    found = rows.pivot(index=["dataset", "order"], columns="method", values=LAST)
    of_core = rows[rows["method"] == held].set_index(["dataset", "order"])
    gain = found[held] - found[without]
    advised = of_core["strangers"].reindex(gain.index) >= options["limit"]
    judged = pd.DataFrame({"share": of_core["strangers"].reindex(gain.index), "held": advised})
    judged["always"] = gain >= -options["tie"]
    judged["never"] = gain <= options["tie"]
    judged["right"] = judged["always"].where(advised, judged["never"])
    return judged.reset_index(), rows
