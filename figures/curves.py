"""Curves of many methods: accuracy and forgetting by session, one row per group, the others in grey."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import Frames, Options, grouped, label, labels, select
from figures.panels import undefined

MEASURES = {"A_t": "accuracy", "forgetting": "forgetting"}
# Inches: height of a panel; space above, between and below the rows of a group, and beside a panel.
HEIGHT, ABOVE, BETWEEN, BELOW, LEFT, RIGHT = 0.6, 0.22, 0.1, 0.2, 0.34, 0.27
TOP, BOTTOM, SAMPLE = 0.22, 0.18, 0.24
NARROW = 2.0  # percent
BEHIND = "#D8D8D8"

Looks = Mapping[str, dict[str, Any]]  # as `figures.style.distinct` returns them


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
    """Draw accuracy and, below it, forgetting of each group, in one column per data set.

    Parameters
    ----------
    frames : mapping
        ``sessions``: one row per run and session, in percent and points; ``forgetting`` is defined from
        session 2 on.
    options : mapping
        ``datasets``, ``methods``; ``groups``: title -> methods; those outside the suite are skipped.

    Returns
    -------
    Figure
        Curves are means over (order, seed) pairs; the number at the end of one is its value after
        the last session. The names at the right are sorted by last accuracy, mean over data sets.

    Raises
    ------
    InputError
        A method, session or pair is missing, or a cell that is drawn is empty.
    """
    groups = grouped(options)
    methods = [method for ids in groups.values() for method in ids]
    rows = select(frames, "sessions", options, ["session", *MEASURES], methods)
    means = rows.groupby(["dataset", "method", "session"])[list(MEASURES)].mean()
    datasets = list(options["datasets"])
    names = labels(options, "methods", methods, short=True)
    sizes = [len(ids) for ids in groups.values()]
    room = SAMPLE + style.room(names.values())
    figure, panels, keys = _layout(sizes, len(datasets), room)
    last = means["A_t"].groupby(["dataset", "method"]).last().groupby("method").mean()
    for place, (title, ids) in enumerate(groups.items()):
        looks = style.distinct(ids)
        for line, measure in enumerate(MEASURES):
            for ax, dataset in zip(panels[2 * place + line], datasets, strict=True):
                _curves(ax, means.loc[dataset][measure], looks, methods)
                ax.tick_params(labelbottom=line == 1)
            panels[2 * place + line][0].set_ylabel(MEASURES[measure])
        panels[2 * place][0].set_title(title, loc="left", fontweight="bold", pad=6)
        ranked = {m: names[m] for m in sorted(ids, key=lambda m: -last[m])}
        _key(keys[place], ranked, looks)
    for ax, dataset in zip(panels[0], datasets, strict=True):
        x, y = ax.get_position().x0, 1 - 0.09 / figure.get_figheight()
        figure.text(x, y, label(options, "datasets", dataset), va="center", fontsize=9)
    for ax in panels[-1]:
        ax.set_xlabel("session")
    return figure


def _layout(
    sizes: list[int], columns: int, room: float
) -> tuple[Figure, list[list[Axes]], list[Axes]]:
    """Return the figure, two rows of panels for each group, and a field for its names at the right."""
    # the values at the ends of a group's curves stand one below the other
    heights = [max(HEIGHT, (size - 1) * style.LINE / 72) for size in sizes]
    blocks = [ABOVE + 2 * height + BETWEEN + BELOW for height in heights]
    total = TOP + sum(blocks) + BOTTOM
    width = (style.PAGE - room) / columns - LEFT - RIGHT
    figure = Figure(figsize=(style.PAGE, total))

    panels, keys = [], []
    for group, height in enumerate(heights):
        upper = total - TOP - sum(blocks[:group]) - ABOVE - height
        lower = upper - BETWEEN - height
        lefts = [LEFT + i * (LEFT + width + RIGHT) for i in range(columns)]
        for y in (upper, lower):
            panels.append([style.panel(figure, x, y, width, height) for x in lefts])
        keys.append(style.field(figure, style.PAGE - room, lower, room, 2 * height + BETWEEN))
    return figure, panels, keys


def _key(ax: Axes, names: Mapping[str, str], looks: Looks) -> None:
    """Write the names of a group beside a piece of their curves."""
    for i, (method, name) in enumerate(names.items()):
        y, look = -0.06 - i * (style.LABEL_SIZE + 3) / 72, looks[method]
        ax.plot([0, SAMPLE / 2, SAMPLE], [y] * 3, label=method, **look, markevery=[1])
        color = style.ink(look["color"])
        style.note(ax, SAMPLE + 0.07, y, name, color, va="center_baseline")


def _curves(ax: Axes, means: pd.Series, looks: Looks, methods: list[str]) -> None:
    """Draw one panel: every method thin and grey, those with ``looks`` over it, each with its last value."""
    if means.name == "forgetting":
        means = means[means.index.get_level_values("session") > 1]
    if means.empty:
        undefined(ax)
        return
    for method in (m for m in methods if m not in looks):
        curve = means.loc[method]
        ax.plot(curve.index, curve, color=BEHIND, lw=0.6, label=f"behind {method}", zorder=0)
    thin = {method: own | {"lw": 0.9, "markersize": 2.2} for method, own in looks.items()}
    ends = style.curves(ax, {m: means.loc[m] for m in thin}, lambda _, y: f"{y:.1f}", thin)
    low, high = ax.get_ylim()
    if high - low < NARROW:  # more decimals than a tick label has room for
        ax.set_ylim((low + high - NARROW) / 2, (low + high + NARROW) / 2)
    style.session_axis(ax, pd.Index([1, means.index[-1][-1]]), name="")
    ax.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    style.label_ends(ax, ends)
