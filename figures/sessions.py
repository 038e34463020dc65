"""Accuracy and forgetting while classes arrive."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import label, require, select, shown, valued

MEASURES = {"A_t": "accuracy on classes seen (%)", "forgetting": "forgetting (points)"}


@style.styled
def draw(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> Figure:
    """Draw accuracy (above) and forgetting (below) by session, in one column per data set.

    Parameters
    ----------
    frames : mapping
        ``sessions``: one row per run and session, in percent and points; ``forgetting`` is defined from
        session 2 on.
    options : mapping
        ``datasets``, ``methods``; ``show``: ids of the methods to draw (default: all).

    Returns
    -------
    Figure
        One curve per method, the mean over (order, seed) pairs; the number before its name is the
        value after the last session.

    Raises
    ------
    InputError
        A method, session or pair is missing, or a cell that is drawn is empty.
    """
    methods = shown(options)
    rows = select(frames, "sessions", options, ["session", *MEASURES], methods)
    require(rows, "sessions", ["A_t"])
    require(rows[rows["session"] > 1], "sessions", ["forgetting"])
    datasets = list(options["datasets"])
    room = style.room([valued(options, method, 99.9) for method in methods])
    margins = (0.42, room, 0.36, 0.24)
    figure, stacks = style.per_dataset(len(datasets), 2, 1.5, margins, (room + 0.2, 0.34))
    for stack, dataset in zip(stacks, datasets, strict=True):
        of_set = rows[rows["dataset"] == dataset]
        for ax, measure in zip(stack, MEASURES, strict=True):
            _curves(ax, of_set, measure, methods, options)
        stack[0].set_title(label(options, "datasets", dataset), loc="left")
        stack[1].set_xlabel("session")
    return figure


def _curves(
    ax: Axes, rows: pd.DataFrame, measure: str, methods: list[str], options: Mapping[str, Any]
) -> None:
    """Draw one panel: the mean over pairs of each method, named at its end."""
    first = 1 if measure == "A_t" else 2
    rows = rows[rows["session"] >= first]
    if rows.empty:
        style.undefined(ax, style.ALONE)
        return
    ends = []
    for method in methods:
        mean = rows[rows["method"] == method].groupby("session")[measure].mean()
        look = style.line(method, len(mean))
        ax.plot(mean.index, mean, label=method, clip_on=False, **look)
        name = valued(options, method, mean.iloc[-1])
        ends.append((name, mean.index[-1], mean.iloc[-1], look["color"]))
    ax.set_xlim(0.6, rows["session"].max() + 0.3)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(5))
    if measure == "forgetting":
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    if style.is_first_column(ax):
        ax.set_ylabel(MEASURES[measure])
    style.label_ends(ax, ends)
