"""Accuracy and its costs: time after extraction, and memory kept between sessions."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.costs_table import EXEMPLARS
from figures.frames import Frames, Options, label, measured, require, select
from figures.panels import per_dataset
from sparcl.base.errors import InputError
from study.places import where

VALUE = "A_bar"
# Frame -> its column, the factor from its unit to the drawn one, and the name of the axis.
COSTS = {
    "methods": ("tau_post", 1.0, "seconds per session, after extraction"),
    "memory": ("state_bytes", 1e-6, "megabytes kept after the last session"),
}
NEXT = 2.6  # an axis of costs extends by this factor beyond its points
PAD = 0.1  # and one of accuracies by this share of theirs
FRONT = style.INK


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
    """Draw average accuracy over each measured cost in one column per data set; up and left is better.

    Parameters
    ----------
    frames : mapping
        ``runs``: one row per run; ``methods`` (seconds) and, if given, ``memory`` (bytes): one row
        per data set and method. Methods of the suite whose costs are measured are drawn.
    options : mapping
        ``datasets``, ``methods``.

    Returns
    -------
    Figure
        Accuracies are means over (order, seed) pairs; costs are of one class order. Filled and joined:
        the front, whose methods nothing cheaper beats. A method far below the others is an arrow at
        the lower edge, with its accuracy. Methods of the suite without costs are named at the foot.

    Raises
    ------
    InputError
        A frame lacks a column, no data set of the suite has costs, or a drawn cell is empty.
    """
    costs = {name: frames[name] for name in COSTS if name in frames}
    for name, frame in costs.items():
        if absent := {"dataset", "method", COSTS[name][0]} - set(frame.columns):
            raise InputError(f"{name}.csv has no column {', '.join(sorted(absent))}")
    both = [set(frame["dataset"]) for frame in costs.values()]
    datasets = [d for d in options["datasets"] if both and all(d in names for names in both)]
    if not datasets:
        raise InputError(
            f"figure efficiency: no data set of the suite ({', '.join(options['datasets'])}) has costs in "
            f"{' and '.join(COSTS)}.csv; correct `datasets` of the timing in {where('timings')}"
        )
    methods = [m for m in measured(options) if all(m in set(f["method"]) for f in costs.values())]
    options = {**options, "datasets": {d: options["datasets"][d] for d in datasets}}
    rows = select(frames, "runs", options, [VALUE], methods)
    accuracy = rows.groupby(["dataset", "method"])[VALUE].mean()
    untimed = [
        label(options, "methods", m, short=True) for m in measured(options) if m not in methods
    ]
    axes, bottom = ["average accuracy (%)"] * len(costs), 0.54 if untimed else 0.36
    figure, panels = per_dataset(options, rows, axes, 1.75, 0.12, bottom=bottom, down=0.44)
    for dataset, _, stack in panels:
        for ax, (name, frame) in zip(stack, costs.items(), strict=True):
            column, unit, axis = COSTS[name]
            require(frame, name, [column])
            cost = unit * frame[frame["dataset"] == dataset].set_index("method")[column]
            points = pd.DataFrame({"cost": cost, VALUE: accuracy[dataset]}).loc[methods]
            _points(ax, points, options, EXEMPLARS / 1e6 if name == "memory" else None)
            ax.set_xlabel(axis)
    if untimed:
        style.foot(figure, f"not timed: {'; '.join(untimed)}")
    return figure


def _points(ax: Axes, points: pd.DataFrame, options: Options, mark: float | None) -> None:
    """Draw each method at its cost, those that nothing beats joined by a line, and name it beside."""
    ax.set_xscale("log")
    lowest, highest = points["cost"].min(), max(points["cost"].max(), mark or 0)
    ax.set_xlim(lowest / NEXT, highest * NEXT)
    near = style.near(points[VALUE])
    low, high = float(points[VALUE][near].min()), float(points[VALUE][near].max())
    pad = PAD * max(high - low, 1.0)
    ax.set_ylim(low - 2 * pad, high + pad)
    style.log_ticks(ax.xaxis, "{x:g}", numticks=8)
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    best = front(points)
    ax.step(best["cost"], best[VALUE], where="post", color=FRONT, lw=0.8, label="front", zorder=1)
    named = []
    for method, x, y in zip(points.index, points["cost"], points[VALUE], strict=True):
        color = FRONT if method in best.index else style.QUIET
        name, shown = label(options, "methods", method, short=True), max(y, low - 1.4 * pad)
        look: dict[str, Any] = {"marker": "o", "markersize": 3.6, "markeredgewidth": 0.8, "ls": ""}
        if shown > y:  # far below: an arrow with its value, instead of a squeezed panel
            look["marker"], name = "v", f"{name} {y:.1f}"
        face = FRONT if method in best.index else "white"
        ax.plot([x], [shown], color=color, markerfacecolor=face, label=method, **look)
        named.append((name, x, shown, style.INK if method in best.index else style.QUIET))
    if mark:
        ax.axvline(mark, color=style.QUIET, lw=0.6, ls=":", label="exemplars")
        at = {"transform": ax.get_xaxis_transform(), "ha": "right", "va": "bottom"}
        style.note(ax, mark, 1.0, "2,000 images ", style.QUIET, **at)
    corners = [*zip(best["cost"], best[VALUE], strict=True), (highest * NEXT, best[VALUE].max())]
    lines = [(x, y, after, y) for (x, y), (after, _) in pairwise(corners)][:-1]
    lines += [(after, y, after, up) for (_, y), (after, up) in pairwise(corners[:-1])]
    lines += [(mark, low - 2 * pad, mark, high + pad)] if mark else []
    style.label_points(ax, named, lines)


def front(points: pd.DataFrame) -> pd.DataFrame:
    """Return the methods that no other beats in accuracy at the same cost or less, cheapest first."""
    ordered = points.sort_values(["cost", VALUE], ascending=[True, False])
    return ordered[ordered[VALUE] > ordered[VALUE].cummax().shift(fill_value=-np.inf)]
