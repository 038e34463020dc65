"""Stability against plasticity: average accuracy over forgetting, as tau varies."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import Frames, Options, labels, measured, select, shown
from figures.panels import per_dataset, undefined

MEASURES = ["A_bar", "forgetting"]
TOUCHING = 0.02  # points nearer than this share of the curve's extent have one label
CURVE = "sparcl"  # whose colour the curve has


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
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
    rows = select(frames, "runs", options, ["sessions", *MEASURES], [*points, *curve], ["tau"])
    names = labels(options, "methods", points, short=True)
    room = style.room(names.values())
    figure, panels = per_dataset(options, rows, ["average accuracy (%)"], 2.1, room)
    for _, of_set, (ax,) in panels:
        if (of_set["sessions"] == 1).all():
            undefined(ax)
            continue
        means = of_set.groupby("method")[[*MEASURES, "tau"]].mean()
        look = style.line(CURVE)
        ax.plot(means["forgetting"][curve], means["A_bar"][curve], label="curve", **look)
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
        ax.margins(0.16, 0.08)  # labels stand around the curve
        right = ax.get_xlim()[1]
        style.label_ends(ax, [(text, right, y, color) for text, _, y, color in ends])
        for _, x, y, color in ends:  # a thin line joins a point to its name
            ax.plot([x, right], [y, y], color=color, lw=0.4, alpha=0.35, zorder=0)
        ax.set_xlim(right=right)
        others = [(x, y, right, y) for _, x, y, _ in ends]
        _taus(ax, means.loc[curve], others, style.line(CURVE)["color"])
    return figure


def _taus(
    ax: Axes, means: pd.DataFrame, avoid: list[tuple[float, float, float, float]], color: Any
) -> None:
    """Write the tau of each method beside its point; points that coincide share a label."""
    span = np.ptp(means[MEASURES].to_numpy(), axis=0)
    labels: list[tuple[np.ndarray, list[str]]] = []
    for _, row in means.iterrows():
        place = row[MEASURES].to_numpy(dtype=float)
        if labels and (np.abs(place - labels[-1][0]) <= TOUCHING * span).all():
            labels[-1][1].append(f"{row['tau']:g}")
        else:
            labels.append((place, [f"{row['tau']:g}"]))
    named = [(", ".join(taus), x, y, color) for (y, x), taus in labels]
    # labels keep off the curve, which may turn back, and off the other methods
    steps = np.linspace(0, len(means) - 1, 20 * len(means))
    y, x = (np.interp(steps, range(len(means)), means[name]) for name in MEASURES)
    style.label_points(ax, named, [*zip(x[:-1], y[:-1], x[1:], y[1:], strict=True), *avoid])
