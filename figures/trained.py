"""Gain and cost of training the network: accuracy by seconds of training, beside closed-form heads."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import PAIR, Frames, Options, label, labels, measured, select
from figures.panels import per_dataset
from figures.training_table import methods

VALUE = "A_last"
NEXT = 1.6  # the axis of seconds extends by this factor beyond its points
PAD = 0.12  # and that of accuracies by this share of theirs
TRAINED = "#B22222"  # no closed form's colour
KEEPS = "s"  # marker of a method that keeps all images; others are circles


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
    """Draw accuracy over seconds of training in one panel per data set; up and left is better.

    Parameters
    ----------
    frames : mapping
        ``runs``: one row per run; ``training``: one row per session of a run that trains the network.
    options : mapping
        ``datasets``, ``methods``.

    Returns
    -------
    Figure
        Means over (order, seed) pairs. Closed-form heads are lines, since they train nothing. A hollow point
        has a session that is underfitted; a square keeps as many images as the stream has.

    Raises
    ------
    InputError
        A frame lacks a column or a row, or a drawn cell is empty.
    """
    trained, ran = methods(frames, options), measured(options)
    runs = select(frames, "runs", options, [VALUE], ran)
    told = select(frames, "training", options, ["seconds", "underfitted", "exemplars"], trained)
    accuracy = runs.groupby(["dataset", "method"])[VALUE].mean()
    closed = [method for method in ran if method not in trained]
    room = style.room(labels(options, "methods", closed or trained, short=True).values())
    axis = ["accuracy after the last session (%)"]
    figure, panels = per_dataset(options, told, axis, 2.6, room, bottom=0.58)
    for dataset, rows, (ax,) in panels:
        of_set = rows.groupby(["method", *PAIR])
        seconds = of_set["seconds"].sum().groupby("method").mean()
        most = of_set["exemplars"].max().groupby("method").mean()
        points = pd.DataFrame(
            {
                "seconds": seconds,
                VALUE: accuracy[dataset][trained],
                "underfitted": of_set["underfitted"].max().groupby("method").max() > 0,
                "keeps": (most == most.max()) & (most > 0),
            }
        ).loc[trained]
        _panel(ax, points, accuracy[dataset][closed], options)
    look: dict[str, Any] = {"ls": "", "color": TRAINED, "markersize": 3.8, "markeredgewidth": 0.8}
    handles = [
        Line2D([], [], marker=marker, markerfacecolor=face, label=text, **look)
        for marker, face, text in (
            ("o", TRAINED, "trained: every session fits 95% of its images"),
            ("o", "white", "a session fits less"),
            (KEEPS, "white", "square: keeps all images"),
        )
    ]
    handles.append(
        Line2D([], [], color=style.INK, lw=0.7, label="line: closed form, frozen network")
    )
    figure.legend(
        handles=handles, loc="lower left", ncols=4, frameon=False, fontsize=style.LABEL_SIZE
    )
    return figure


def _panel(ax: Axes, points: pd.DataFrame, closed: pd.Series, options: Options) -> None:
    """Draw trained methods as named points and closed-form heads as named lines."""
    values = pd.concat([points[VALUE], closed])
    pad = PAD * max(float(values.max() - values.min()), 1.0)
    ax.set_xscale("log")
    ax.set_xlim(points["seconds"].min() / NEXT, points["seconds"].max() * NEXT)
    ax.set_ylim(float(values.min()) - pad, float(values.max()) + pad)
    ax.set_xlabel("seconds of training, all sessions")
    style.log_ticks(ax.xaxis, "{x:g}", numticks=8, subs=(1.0, 2.0, 5.0))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    left, right = ax.get_xlim()
    ends, lines = [], []
    for method, value in closed.items():
        look = style.look(str(method))
        color = look.color
        ax.axhline(value, color=color, lw=0.7, ls=look.linestyle, zorder=1, label=str(method))
        ends.append((label(options, "methods", str(method), short=True), right, value, color))
        lines.append((left, value, right, value))
    for method, row in points.iterrows():
        ax.plot(
            [row["seconds"]],
            [row[VALUE]],
            marker=KEEPS if row["keeps"] else "o",
            markersize=3.8,
            markeredgewidth=0.8,
            ls="",
            color=TRAINED,
            markerfacecolor="white" if row["underfitted"] else TRAINED,
            label=str(method),
            zorder=3,
        )
    named = [
        (label(options, "methods", str(method), short=True), row["seconds"], row[VALUE], TRAINED)
        for method, row in points.iterrows()
    ]
    style.label_points(ax, named, lines)
    style.label_ends(ax, ends)
