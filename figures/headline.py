"""One method against its peers: the difference in last accuracy over all data sets, and on each."""

from itertools import cycle
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import style
from figures.frames import Frames, Options, differences, label, labels, select, shown
from study.report.differences import ALL, Differences

VALUE = "A_last"
# Inches: a row, the space above and below all, a line of the key; a row has a line for each data set and the mean.
ROW, TOP, BOTTOM, KEY = 0.3, 0.3, 0.4, 0.16
MARKS = ("s", "^", "D", "v")  # of data sets
BAND = "#F1F1F1"


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
    """Draw the differences of one method to others with their intervals, a row per peer.

    Parameters
    ----------
    frames : mapping
        ``differences``, in points.
    options : mapping
        ``datasets``, ``methods``; ``of``: the method; ``show``: its peers (default: all others of the suite).

    Returns
    -------
    Figure
        A dot with the 95% interval is the mean over the data sets, filled where it is told apart from 0; small marks
        are the data sets. The peer with the smallest mean difference comes first. A peer far from all others is an
        arrow at the right edge, with its mean difference.

    Raises
    ------
    InputError
        A data set or a difference is missing.
    """
    of = options["of"]
    select(frames, "differences", options, ["measure", "difference"])
    pairs = differences(frames, options)
    names = labels(options, "methods", peers(options, pairs), short=True)
    whole = {peer: pairs.between(of, peer, ALL, VALUE) for peer in names}
    near = style.near(pd.Series({peer: -it.difference for peer, it in whole.items()}))
    page, left, tall = style.width(), style.room(names.values()) + 0.06, ROW * len(names)
    keys, whole_page = 1 + len(options["datasets"]), page == style.PAGE
    columns = keys if whole_page else 2
    bottom = BOTTOM if whole_page else BOTTOM + KEY
    height = TOP + KEY * (-(-keys // columns) - 1) + tall + bottom
    figure = Figure(figsize=(page, height))
    ax = style.panel(figure, left, bottom, page - left - 0.08, tall)
    color, ends = style.line(of)["color"], [0.0]
    looks: dict[str, dict[str, Any]] = {ALL: {"color": color, "lw": 1.4, "marker": "o", "ms": 5}}
    for dataset, marker in zip(options["datasets"], cycle(MARKS), strict=False):
        looks[dataset] = {"color": style.QUIET, "lw": 0.5, "marker": marker, "ms": 2.8}
    for y, peer in enumerate(names):
        if y % 2:
            ax.axhspan(y - 0.5, y + 0.5, color=BAND, lw=0, zorder=0)
        for i, (dataset, look) in enumerate(looks.items() if near[peer] else ()):
            it = pairs.between(of, peer, dataset, VALUE)
            place = y - 0.3 + 0.68 * i / len(options["datasets"])
            # the line of a point has no length, whatever its width
            more: dict[str, Any] = {"mew": 0.6, "lw": 1.2} if i else {"solid_capstyle": "butt"}
            face = look["color"] if it.verdict != "tie" else "white"
            ax.plot([it.low, it.high], [place] * 2, **more | look | {"marker": ""})
            ax.plot([it.difference], [place], mfc=face, label=f"{peer} {dataset}", **look | more)
            ends += [it.low, it.high]
    pad = 0.04 * (max(ends) - min(ends) or 1.0)
    ax.set_xlim(min(ends) - pad, max(ends) + pad)
    for y, peer in enumerate(names):
        if not near[peer]:
            text = f"{whole[peer].difference:.1f} ▸ "
            style.note(ax, max(ends) + pad, y, text, style.ink(color), ha="right", va="center")
    ax.axvline(0, color=style.QUIET, lw=0.7, ls=":", zorder=0.5, label="equal")
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(range(len(names)), names.values())
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    name = label(options, "methods", of, short=True)
    gap = " " if whole_page else "\n"
    ax.set_xlabel(f"last accuracy of {name}{gap}less that of the peer (points)")
    said = {ALL: "mean of the data sets"}
    said |= labels(options, "datasets", options["datasets"], short=True)
    handles = [Line2D([], [], label=said[dataset], **look) for dataset, look in looks.items()]
    figure.legend(handles=handles, loc="upper right", ncols=columns, frameon=False)
    return figure


def peers(options: Options, pairs: Differences) -> list[str]:
    """Return the other methods that are shown, the one with the smallest mean difference first."""
    found = [method for method in shown(options) if method != options["of"]]
    return sorted(found, key=lambda m: pairs.between(options["of"], m, ALL, VALUE).difference)
