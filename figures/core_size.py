"""Effect of the partition: accuracy by the size of the core in which classes have a covariance of their own."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import Frames, Options, labels, require, select, shown
from figures.panels import per_dataset

CURVE = "sparcl-plus"  # whose colour the curve has


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
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
    curve, levels, default = list(options["curve"]), shown(options), options["against"]
    rows = select(frames, "runs", options, ["A_last"], [*levels, *curve], gaps=["k"])
    require(rows[rows["method"].isin(curve)], "runs", ["k"])
    names = labels(options, "methods", [*levels, default], short=True)
    room = style.room(names.values())
    figure, panels = per_dataset(options, rows, ["last accuracy (%)"], 1.5, room, abreast=2)
    for _, of_set, (ax,) in panels:
        by_method = of_set.groupby("method")
        accuracy = by_method["A_last"].agg(["mean", "min", "max"])
        sizes = by_method["k"].first()[curve].astype(int).tolist()
        # doubled sizes are evenly apart; the core of none has no place on a logarithmic axis
        drawn = accuracy.loc[curve].set_axis(pd.RangeIndex(len(curve)))
        mean, large, last = drawn["mean"], curve.index(default), len(curve) - 1
        look = style.line(CURVE) | {"marker": "o"}
        ax.plot(mean.index, mean, label="curve", clip_on=False, **look)
        style.band(ax, CURVE, drawn["min"], drawn["max"])
        ax.plot([large], [mean[large]], label="default", clip_on=False, **look | {"markersize": 5})
        ends = [(names[default], last, mean[last], look["color"])]
        for method in levels:
            level, look = accuracy["mean"][method], style.line(method) | {"marker": ""}
            ax.plot([0, last], [level, level], label=method, **look)
            ends.append((names[method], last, level, look["color"]))
        ax.set_xticks(mean.index, ["0", *map(str, sizes[1:])])
        ax.set_xlim(-0.3, last)
        ax.yaxis.set_major_locator(MaxNLocator(5))
        ax.set_xlabel("directions of the core")
        style.label_ends(ax, ends)
    return figure
