"""How far the logits of old classes move from one session to the next."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from figures import style
from figures.frames import label, require, select, shown


@style.styled
def draw(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> Figure:
    """Draw scaled old-logit drift by session in one panel per data set.

    Parameters
    ----------
    frames : mapping
        ``sessions``: one row per run and session; ``drift_scaled``, in standard deviations of the
        logits, is empty in session 1 only.
    options : mapping
        ``datasets``, ``methods``; ``show``: ids of the methods to draw (default: all).

    Returns
    -------
    Figure
        One curve per method, the mean over (order, seed) pairs, in percent; a band reaches from the
        least to the greatest of them. The axis is logarithmic; a method whose logits
        stand still in some session is named below it.

    Raises
    ------
    InputError
        A method, session or pair is missing.
    """
    methods = shown(options)
    rows = select(frames, "sessions", options, ["session", "drift_scaled"], methods)
    rows = rows[rows["session"] > 1]
    require(rows, "sessions", ["drift_scaled"])
    still = [m for m in methods if (rows["drift_scaled"][rows["method"] == m] <= 0).any()]
    methods = [m for m in methods if m not in still]
    datasets = list(options["datasets"])
    room = style.room([label(options, "methods", m, short=True) for m in methods])
    margins = (0.38, room, 0.36, 0.24)
    figure, stacks = style.per_dataset(len(datasets), 1, 1.45, margins, (room + 0.2, 0.0))
    for (ax,), dataset in zip(stacks, datasets, strict=True):
        of_set = rows[rows["dataset"] == dataset]
        ax.set_title(label(options, "datasets", dataset), loc="left")
        if of_set.empty:
            style.undefined(ax, style.ALONE)
            continue
        ends = []
        for method in methods:
            by_session = of_set[of_set["method"] == method].groupby("session")["drift_scaled"]
            mean = 100 * by_session.mean()
            look = style.line(method, len(mean))
            ax.fill_between(
                mean.index,
                100 * by_session.min(),
                100 * by_session.max(),
                color=look["color"],
                alpha=0.12,
                lw=0,
            )
            ax.plot(mean.index, mean, label=method, clip_on=False, **look)
            name = label(options, "methods", method, short=True)
            ends.append((name, mean.index[-1], mean.iloc[-1], look["color"]))
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=[1, 2, 5]))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_locator(NullLocator())
        style.session_axis(ax, of_set["session"])
        if style.is_first_column(ax):
            ax.set_ylabel("old-logit drift (% of logits' s.d.)")
        style.label_ends(ax, ends)
        if still:
            names = ", ".join(label(options, "methods", m, short=True) for m in still)
            ax.text(
                0.02,
                0.02,
                f"no drift: {names}",
                transform=ax.transAxes,
                va="bottom",
                fontsize=style.LABEL_SIZE,
                color=style.QUIET,
            )
    return figure
