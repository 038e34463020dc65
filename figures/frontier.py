"""Stability against plasticity: average accuracy over forgetting, as tau varies."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import labels, measured, require, select, shown

MEASURES = ["A_bar", "forgetting"]
TOUCHING = 0.02  # points nearer than this share of the curve's extent have one label
CURVE = "sparcl"  # whose colour the curve has


@style.styled
def draw(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> Figure:
    """Draw average accuracy over forgetting in one panel per data set; up and left is better.

    Parameters
    ----------
    frames : mapping
        ``runs``: one row per run, in percent and points.
    options : mapping
        ``datasets``, ``methods``; ``show``: methods drawn as points; ``curve``: methods joined by a
        line in this order, each labelled with its tau.

    Returns
    -------
    Figure
        Points are means over (order, seed) pairs.

    Raises
    ------
    InputError
        A method or pair is missing, or a cell that is drawn is empty.
    """
    points = shown(options)
    curve = [method for method in options["curve"] if method in measured(options)]
    rows = select(frames, "runs", options, ["sessions", *MEASURES, "tau"], [*points, *curve])
    require(rows[rows["sessions"] > 1], "runs", MEASURES)
    names = labels(options, "methods", points, short=True)
    datasets, room = labels(options, "datasets", options["datasets"]), style.room(names.values())
    margins = (0.42, room, 0.36, 0.24)
    figure, stacks = style.per_dataset(datasets, 1, 2.1, margins, (room + 0.3, 0.0))
    for dataset, (ax,) in stacks.items():
        of_set = rows[rows["dataset"] == dataset]
        if (of_set["sessions"] == 1).all():
            style.undefined(ax, style.ALONE)
            continue
        means = of_set.groupby("method")[[*MEASURES, "tau"]].mean()
        _curve(ax, means.loc[curve])
        ends = []
        for method in points:
            x, y = float(means["forgetting"][method]), float(means["A_bar"][method])
            look = style.line(method) | {"linestyle": "", "markersize": 4}
            look["marker"] = look["marker"] or "o"
            ax.plot([x], [y], label=method, clip_on=False, **look)
            ends.append((names[method], x, y, look["color"]))
        ax.set_xlabel("forgetting (points)")
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.yaxis.set_major_locator(MaxNLocator(5))
        ax.margins(0.16, 0.08)  # the labels of the curve stand to its left
        if style.is_first_column(ax):
            ax.set_ylabel("average accuracy (%)")
        right = ax.get_xlim()[1]
        style.label_ends(ax, [(text, right, y, color) for text, _, y, color in ends])
        for _, x, y, color in ends:  # a thin line joins a point to its name
            ax.plot([x, right], [y, y], color=color, lw=0.4, alpha=0.35, zorder=0)
        ax.set_xlim(right=right)
    return figure


def _curve(ax: Axes, means: pd.DataFrame) -> None:
    """Draw the methods along tau, each with its tau beside it; points that coincide share a label."""
    look = style.line(CURVE)
    ax.plot(means["forgetting"], means["A_bar"], label="curve", **look)
    span = np.ptp(means[MEASURES].to_numpy(), axis=0)
    labels: list[tuple[np.ndarray, list[str]]] = []
    for _, row in means.iterrows():
        place = row[MEASURES].to_numpy(dtype=float)
        if labels and (np.abs(place - labels[-1][0]) <= TOUCHING * span).all():
            labels[-1][1].append(f"{row['tau']:g}")
        else:
            labels.append((place, [f"{row['tau']:g}"]))
    for (accuracy, forgetting), taus in labels:
        ax.annotate(
            ", ".join(taus),
            (forgetting, accuracy),
            xytext=(-4, 3),
            textcoords="offset points",
            ha="right",
            fontsize=style.LABEL_SIZE - 1,
            color=look["color"],
            # the curve may turn back under a label
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
        )
