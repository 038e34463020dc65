"""Effect of the partition: accuracy by the size of the core in which classes have a covariance of their own."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import labels, require, select, shown

CURVE = "sparcl-plus"  # whose colour the curve has


@style.styled
def draw(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> Figure:
    """Draw last accuracy over the size of the core in one panel per data set.

    Parameters
    ----------
    frames : mapping
        ``runs``: one row per run, in percent.
    options : mapping
        ``datasets``, ``methods``; ``curve``: the method without a core, then others by its size; ``against``: the one
        of them that the curve is named after, with a large point; ``show``: methods drawn as level lines.

    Returns
    -------
    Figure
        Means over (order, seed) pairs; a band reaches from the least to the greatest of them.

    Raises
    ------
    InputError
        A method or pair is missing, or a cell that is drawn is empty.
    """
    curve, levels = list(options["curve"]), shown(options)
    rows = select(frames, "runs", options, ["A_last", "k"], [*levels, *curve])
    require(rows, "runs", ["A_last"])
    require(rows[rows["method"].isin(curve)], "runs", ["k"])
    default = options["against"]
    names = labels(options, "methods", [*levels, default], short=True)
    datasets, room = labels(options, "datasets", options["datasets"]), style.room(names.values())
    margins = (0.42, room, 0.36, 0.24)
    figure, stacks = style.per_dataset(datasets, 1, 1.5, margins, (room + 0.3, 0.0), abreast=2)
    for dataset, (ax,) in stacks.items():
        of_set = rows[rows["dataset"] == dataset]
        by_method = of_set.groupby("method")["A_last"]
        sizes = of_set.groupby("method")["k"].first()[curve].astype(int).tolist()
        places = pd.Index(range(len(curve)))
        low, high = (by_method.agg(of)[curve].set_axis(places) for of in ("min", "max"))
        mean = by_method.mean()[curve].set_axis(places)
        look = style.line(CURVE) | {"marker": "o"}
        ax.plot(mean.index, mean, label="curve", clip_on=False, **look)
        style.band(ax, CURVE, low, high)
        large = curve.index(default)
        ax.plot([large], [mean[large]], label="default", clip_on=False, **look | {"markersize": 5})
        ends = [(names[default], places[-1], mean.iloc[-1], look["color"])]
        for method in levels:
            level, look = float(by_method.mean()[method]), style.line(method) | {"marker": ""}
            ax.plot([places[0], places[-1]], [level, level], label=method, **look)
            ends.append((names[method], places[-1], level, look["color"]))
        # doubled sizes are evenly apart; the core of none has no place on a logarithmic axis
        ax.set_xticks(places, ["0", *map(str, sizes[1:])])
        ax.set_xlim(places[0] - 0.3, places[-1])
        ax.yaxis.set_major_locator(MaxNLocator(5))
        ax.set_xlabel("directions of the core")
        if style.is_first_column(ax):
            ax.set_ylabel("last accuracy (%)")
        style.label_ends(ax, ends)
    return figure
