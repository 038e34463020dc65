"""What accuracy costs: time after extraction, and memory kept between sessions."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from figures import style
from figures.costs_table import EXEMPLARS
from figures.frames import label, measured, require, select
from sparcl.base.errors import InputError

VALUE = "A_bar"
# Frame -> its column, the factor from its unit to the drawn one, and the name of the axis.
COSTS = {
    "methods": ("tau_post", 1.0, "seconds a session, after extraction"),
    "memory": ("state_bytes", 1e-6, "megabytes kept after the last session"),
}
NEXT = 2.2  # an axis of costs extends by this factor beyond its points


@style.styled
def draw(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> Figure:
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
        Accuracies are means over (order, seed) pairs; costs are of one class order.

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
            f"{' and '.join(COSTS)}.csv; correct `datasets:` of the timing in params.yaml"
        )
    methods = [m for m in measured(options) if all(m in set(f["method"]) for f in costs.values())]
    rows = select(frames, "runs", {**options, "datasets": datasets}, [VALUE], methods)
    require(rows, "runs", [VALUE])
    accuracy = rows.groupby(["dataset", "method"])[VALUE].mean()
    room = style.room([label(options, "methods", m, short=True) for m in methods])
    margins = (0.42, room, 0.36, 0.24)
    figure, stacks = style.per_dataset(len(datasets), len(costs), 1.6, margins, (room + 0.3, 0.44))
    for stack, dataset in zip(stacks, datasets, strict=True):
        stack[0].set_title(label(options, "datasets", dataset), loc="left")
        for ax, (name, frame) in zip(stack, costs.items(), strict=True):
            column, unit, axis = COSTS[name]
            require(frame, name, [column])
            cost = unit * frame[frame["dataset"] == dataset].set_index("method")[column]
            points = pd.DataFrame({"cost": cost, VALUE: accuracy[dataset]}).loc[methods]
            _points(ax, points, options, EXEMPLARS / 1e6 if name == "memory" else None)
            ax.set_xlabel(axis)
            if style.is_first_column(ax):
                ax.set_ylabel("average accuracy (%)")
    return figure


def _points(ax: Axes, points: pd.DataFrame, options: Mapping[str, Any], mark: float | None) -> None:
    """Draw each method at its cost and name it at the right edge."""
    ax.set_xscale("log")
    ends = []
    for method, x, y in zip(points.index, points["cost"], points[VALUE], strict=True):
        style.point(ax, method, x, y)
        name = label(options, "methods", method, short=True)
        ends.append((name, x, y, style.line(method)["color"]))
    lowest, highest = points["cost"].min(), max(points["cost"].max(), mark or 0)
    ax.set_xlim(lowest / NEXT, highest * NEXT)
    ax.margins(y=0.1)
    ax.xaxis.set_major_locator(LogLocator(numticks=8))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(MaxNLocator(5))
    style.label_at_edge(ax, ends)
    if mark:
        ax.axvline(mark, color=style.QUIET, lw=0.6, ls=":", label="exemplars")
        ax.text(
            mark,
            1.0,
            "2,000 images ",
            transform=ax.get_xaxis_transform(),
            ha="right",
            va="bottom",
            fontsize=style.LABEL_SIZE,
            color=style.QUIET,
        )
