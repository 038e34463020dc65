"""Accuracy after the last session by the session in which a class arrived."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import label, require, select, shown


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
    datasets = list(options["datasets"])
    room = style.room([label(options, "methods", m, short=True) for m in methods])
    figure, stacks = style.per_dataset(
        len(datasets), 1, 1.6, (0.42, room, 0.36, 0.24), (room + 0.3, 0.0)
    )
    for (ax,), dataset in zip(stacks, datasets, strict=True):
        of_set = rows[rows["dataset"] == dataset]
        ends = []
        for method in methods:
            mean = of_set[of_set["method"] == method].groupby("session")["A_last"].mean()
            look = style.line(method, len(mean))
            ax.plot(mean.index, mean, label=method, clip_on=False, **look)
            name = label(options, "methods", method, short=True)
            ends.append((name, mean.index[-1], mean.iloc[-1], look["color"]))
        ax.set_title(label(options, "datasets", dataset), loc="left")
        style.session_axis(ax, of_set["session"])
        ax.yaxis.set_major_locator(MaxNLocator(5))
        ax.set_xlabel("session in which the classes arrived")
        if style.is_first_column(ax):
            ax.set_ylabel("last accuracy (%)")
        style.label_ends(ax, ends)
    return figure
