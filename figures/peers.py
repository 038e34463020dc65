"""Accuracy of many methods after the last session: a row per method, with the interval of its difference to one."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import Frames, Options, differences, first, grouped, label, select
from sparcl.base.errors import InputError
from study.places import where
from study.report.differences import Difference

VALUE = "A_last"
# Inches: the height of a row, the space above and below the panels and between them.
ROW, TOP, BOTTOM, GAP = 0.138, 0.26, 0.4, 0.14
BAND = "#F1F1F1"


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
    """Draw last accuracy as a dot, with the interval of its difference to one method, in one column per data set.

    Parameters
    ----------
    frames : mapping
        ``runs``: one row per run, in percent; ``differences``.
    options : mapping
        ``datasets``, ``methods``; ``groups``: title -> methods; those outside the suite are skipped;
        ``against``: the method whose mean is a line through all rows, and which the others are held against.

    Returns
    -------
    Figure
        Means over (order, seed) pairs, a row per method, best group member first, with the 95% interval of the
        difference to the method of the line; dots of those that are told apart from it are filled. A mean far below
        all others is an arrow at the left edge, with its value.

    Raises
    ------
    InputError
        A method or pair is missing, or a cell that is drawn is empty.
    """
    groups = grouped(options)
    methods = [method for ids in groups.values() for method in ids]
    runs = select(frames, "runs", options, [VALUE], methods)
    overall = runs.groupby("method")[VALUE].mean()
    lines: list[tuple[str, str | None]] = []  # what stands at the left, and the method of the row
    for title, ids in groups.items():
        ranked = sorted(ids, key=lambda m: -overall[m])
        lines += [(title, None), *((label(options, "methods", m, short=True), m) for m in ranked)]
    figure, axes = _layout(lines, len(options["datasets"]))
    reference, pairs = first(options, options.get("against", "")), differences(frames, options)
    if reference is None:
        raise InputError(
            f"the suite has none of {options.get('against')} to hold the others against; name one of its methods in "
            f"{where('figures', options['id'], 'against')}"
        )
    for ax, dataset in zip(axes, options["datasets"], strict=True):
        means = runs[runs["dataset"] == dataset].groupby("method")[VALUE].mean()
        against = {
            m: pairs.between(m, reference, dataset, VALUE) for m in methods if m != reference
        }
        _dots(ax, means, against, lines, float(means[reference]))
        ax.set_title(label(options, "datasets", dataset), loc="left")
        ax.set_xlabel("last accuracy (%)")
    style.foot(figure, f"dotted: {label(options, 'methods', reference, short=True)}")
    return figure


def _layout(lines: list[tuple[str, str | None]], columns: int) -> tuple[Figure, list[Axes]]:
    """Return the figure and a panel per data set; the first has the names of the rows at its left."""
    names = max(style.room([text]) for text, method in lines if method)
    left = names + 0.02
    height = TOP + ROW * len(lines) + BOTTOM
    wide = (style.PAGE - left - 0.08 - (columns - 1) * GAP) / columns
    figure = Figure(figsize=(style.PAGE, height))
    axes = []
    for column in range(columns):
        x, tall = left + column * (wide + GAP), ROW * len(lines)
        axes.append(style.panel(figure, x, BOTTOM, wide, tall))
        axes[-1].set_ylim(len(lines) - 0.5, -0.5)
        axes[-1].set_yticks([])
        axes[-1].spines["left"].set_visible(False)
    start = -left / wide
    for y, (text, method) in enumerate(lines):
        title = {} if method else {"fontstyle": "italic", "fontsize": style.LABEL_SIZE + 0.3}
        x, at = start + (0.02 + (0.06 if method else 0.0)) / wide, axes[0].get_yaxis_transform()
        # a title may run on over the panel, where its row is empty
        style.note(axes[0], x, y, text, transform=at, va="center", **title)
    return figure, axes


def _dots(
    ax: Axes,
    means: pd.Series,
    against: Mapping[str, Difference],
    lines: list[tuple[str, str | None]],
    reference: float,
) -> None:
    """Draw the rows of one data set, ``against`` being the differences to the mean of ``reference``."""
    near = means[style.near(means)]
    found = [it for method, it in against.items() if method in near]
    low = min(reference, *near, *(reference + it.low for it in found))
    high = max(reference, *near, *(reference + it.high for it in found))
    pad = 0.06 * max(high - low, 1.0)
    ax.set_xlim(low - pad, high + pad)
    for y, (_, method) in enumerate(lines):
        if method is None:
            continue
        if y % 2:
            ax.axhspan(y - 0.5, y + 0.5, color=BAND, lw=0, zorder=0)
        color, mean, it = style.INK, float(means[method]), against.get(method)
        if method not in near.index:
            style.note(ax, low - pad, y, f" ◂ {mean:.1f}", style.ink(color), va="center")
            continue
        if it is not None:
            limits = [reference + it.low, reference + it.high]
            ax.plot(limits, [y, y], color=color, lw=0.8, solid_capstyle="butt")
        ax.plot(
            [mean],
            [y],
            label=method,
            color=color,
            marker="o",
            markersize=3.2,
            markeredgewidth=0.8,
            markerfacecolor=color if it is not None and it.verdict != "tie" else "white",
            clip_on=False,
        )
    ax.axvline(reference, color=style.QUIET, lw=0.7, ls=":", zorder=0.5, label="reference")
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
