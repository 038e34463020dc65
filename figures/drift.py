"""How far the logits of old classes move from one session to the next."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from figures import style
from figures.frames import labels, require, select, shown


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
    names = labels(options, "methods", [*methods, *still], short=True)
    room = style.room(names[m] for m in methods)
    margins, datasets = (0.38, room, 0.36, 0.24), labels(options, "datasets", options["datasets"])
    figure, stacks = style.per_dataset(datasets, 1, 1.45, margins, (room + 0.2, 0.0))
    for dataset, (ax,) in stacks.items():
        of_set = rows[rows["dataset"] == dataset]
        if of_set.empty:
            style.undefined(ax, style.ALONE)
            continue
        percent = 100 * of_set.groupby(["method", "session"])["drift_scaled"].agg(
            ["mean", "min", "max"]
        )
        for method in methods:
            style.band(ax, method, percent["min"][method], percent["max"][method])
        means = {method: percent["mean"][method] for method in methods}
        ends = style.curves(ax, means, lambda m, _: names[m])
        ax.set_yscale("log")
        style.log_ticks(ax.yaxis, "{x:g}", subs=[1, 2, 5])
        style.session_axis(ax, of_set["session"])
        if style.is_first_column(ax):
            ax.set_ylabel("old-logit drift (% of logits' s.d.)")
        style.label_ends(ax, ends)
        if still:
            said = f"no drift: {', '.join(names[m] for m in still)}"
            style.note(ax, 0.02, 0.02, said, style.QUIET, transform=ax.transAxes, va="bottom")
    return figure
