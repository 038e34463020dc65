"""One method against its peers: the difference in last accuracy over all data sets, and on each."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import style
from figures.frames import differences, label, select, shown
from study.report.differences import ALL

VALUE = "A_last"
# Inches: a row, the space above and below all, a line of the key; a row has a line for each data set and the mean.
ROW, TOP, BOTTOM, KEY = 0.3, 0.3, 0.4, 0.16
MARKS = ("s", "^", "D", "v")  # of data sets
BAND = "#F1F1F1"


@style.styled
def draw(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> Figure:
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
    peers = [method for method in shown(options) if method != of]
    whole = {peer: pairs.between(of, peer, ALL, VALUE) for peer in peers}
    peers.sort(key=lambda peer: whole[peer].difference)
    near = style.near(pd.Series({peer: -it.difference for peer, it in whole.items()}))
    names = {peer: label(options, "methods", peer, short=True) for peer in peers}
    page, left, tall = style.width(), style.room(names.values()) + 0.06, ROW * len(peers)
    keys, whole_page = 1 + len(options["datasets"]), page == style.PAGE
    columns = keys if whole_page else 2
    bottom = BOTTOM if whole_page else BOTTOM + KEY
    height = TOP + KEY * (-(-keys // columns) - 1) + tall + bottom
    figure = Figure(figsize=(page, height))
    ax = figure.add_axes((left / page, bottom / height, (page - left - 0.08) / page, tall / height))
    color = style.line(of)["color"]
    ends = [0.0]
    for y, peer in enumerate(peers):
        if y % 2:
            ax.axhspan(y - 0.5, y + 0.5, color=BAND, lw=0, zorder=0)
        if not near[peer]:
            continue
        it = whole[peer]
        face = color if it.verdict != "tie" else "white"
        look: dict[str, Any] = {"color": color, "lw": 1.4, "solid_capstyle": "butt"}
        ax.plot([it.low, it.high], [y - 0.3] * 2, **look)
        ax.plot([it.difference], [y - 0.3], marker="o", ms=5, mfc=face, label=peer, **look)
        ends += [it.low, it.high]
        for i, dataset in enumerate(options["datasets"]):
            one = pairs.between(of, peer, dataset, VALUE)
            place = y - 0.3 + 0.68 * (i + 1) / len(options["datasets"])
            told = style.QUIET if one.verdict != "tie" else "white"
            ax.plot([one.low, one.high], [place] * 2, color=style.QUIET, lw=0.5)
            ax.plot(
                [one.difference],
                [place],
                marker=MARKS[i % len(MARKS)],
                ms=2.8,
                color=style.QUIET,
                mfc=told,
                mew=0.6,
                label=f"{peer} {dataset}",
            )
            ends += [one.low, one.high]
    pad = 0.04 * (max(ends) - min(ends) or 1.0)
    ax.set_xlim(min(ends) - pad, max(ends) + pad)
    for y, peer in enumerate(peers):
        if not near[peer]:
            text = f"{whole[peer].difference:.1f} ▸ "
            style.note(ax, max(ends) + pad, y, text, style.ink(color), ha="right", va="center")
    ax.axvline(0, color=style.QUIET, lw=0.7, ls=":", zorder=0.5, label="equal")
    ax.set_ylim(len(peers) - 0.5, -0.5)
    ax.set_yticks(range(len(peers)), [names[peer] for peer in peers])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    name = label(options, "methods", of, short=True)
    gap = " " if whole_page else "\n"
    ax.set_xlabel(f"last accuracy of {name}{gap}less that of the peer (points)")
    handles = [Line2D([], [], color=color, marker="o", ms=5, lw=1.4, label="mean of the data sets")]
    handles += [
        Line2D(
            [],
            [],
            color=style.QUIET,
            marker=MARKS[i % len(MARKS)],
            ms=2.8,
            lw=0.5,
            label=label(options, "datasets", dataset, short=True),
        )
        for i, dataset in enumerate(options["datasets"])
    ]
    figure.legend(handles=handles, loc="upper right", ncols=columns, frameon=False)
    return figure
