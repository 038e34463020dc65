"""Accuracy after the last session by the session in which a class arrived."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import labels, require, select, shown


@style.styled
def draw(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> Figure:
    """Draw last accuracy by session of arrival in one panel per data set.

    Parameters
    ----------
    frames : mapping
        ``arrivals``: one row per run and session of arrival, in percent.
    options : mapping
        ``datasets``, ``methods``; ``show``: ids of the methods to draw (default: all).

    Returns
    -------
    Figure
        One curve per method, the mean over (order, seed) pairs.

    Raises
    ------
    InputError
        A method or pair is missing, or a drawn cell is empty.
    """
    methods = shown(options)
    given = {"arrivals": frames["arrivals"].rename(columns={"arrival": "session"})}
    rows = select(given, "arrivals", options, ["session", "A_last"], methods)
    require(rows, "arrivals", ["A_last"])
    names = labels(options, "methods", methods, short=True)
    datasets, room = labels(options, "datasets", options["datasets"]), style.room(names.values())
    margins = (0.42, room, 0.36, 0.24)
    figure, stacks = style.per_dataset(datasets, 1, 1.6, margins, (room + 0.3, 0.0))
    for dataset, (ax,) in stacks.items():
        of_set = rows[rows["dataset"] == dataset]
        means = of_set.groupby(["method", "session"])["A_last"].mean()
        ends = style.curves(ax, {m: means[m] for m in methods}, lambda m, _: names[m])
        style.session_axis(ax, of_set["session"])
        ax.yaxis.set_major_locator(MaxNLocator(5))
        ax.set_xlabel("session in which the classes arrived")
        if style.is_first_column(ax):
            ax.set_ylabel("last accuracy (%)")
        style.label_ends(ax, ends)
    return figure
