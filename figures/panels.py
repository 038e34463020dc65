"""Panels for each data set, side by side."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import style
from figures.frames import Options, labels

ALONE = "one session:\nno class is old"  # where nothing can move or be forgotten
TOP = 0.24  # inches: the title of a panel


def per_dataset(
    options: Options,
    rows: pd.DataFrame,
    names: Sequence[str],
    height: float,
    right: float,
    *,
    left: float = 0.42,
    bottom: float = 0.36,
    across: float = 0.3,
    down: float = 0.0,
    abreast: int = 4,
    question: str = "",
) -> tuple[Figure, list[tuple[str, pd.DataFrame, list[Axes]]]]:
    """Lay out panels, one below the other, for each data set, some data sets abreast.

    Sizes are in inches and final, so that labels can be placed before drawing.

    Parameters
    ----------
    options : mapping
        ``datasets``, whose labels stand over their panels.
    rows : DataFrame
        What is drawn, with a column ``dataset``.
    names : sequence of str
        The axis of each panel of a data set; they stand at the left edge of the figure.
    height : float
        Height of a panel. Its width is what margins and gaps leave of the page.
    right, left, bottom : float
        Margins; below are tick labels and the name of an axis.
    across, down : float
        Between the right margin of a panel and the next one, and between the panels of one data set.
    abreast : int
        How many data sets stand side by side.
    question : str
        What the figure asks: the title of one as wide as a page.

    Returns
    -------
    Figure, and for each data set its id, its rows and its Axes
    """
    titles = labels(options, "datasets", options["datasets"])
    page, columns, gap = style.width(), min(len(titles), abreast), right + across
    lines = -(-len(titles) // columns)
    wide = (page - left - right - (columns - 1) * gap) / columns
    question = question if page == style.PAGE else ""
    block = TOP + len(names) * height + (len(names) - 1) * down + bottom
    height_of_all = lines * block + (0.2 if question else 0.0)
    figure = Figure(figsize=(page, height_of_all))
    if question:
        x, y = left / page, 1 - 0.11 / height_of_all
        figure.text(x, y, question, fontsize=9, fontweight="bold", va="center")
    panels = []
    for i, (dataset, title) in enumerate(titles.items()):
        line, column = divmod(i, columns)
        x, top = left + column * (wide + gap), (lines - line) * block - TOP
        stack = []
        for row, name in enumerate(names):
            y = top - row * (height + down) - height
            stack.append(style.panel(figure, x, y, wide, height))
            stack[-1].set_ylabel(name if column == 0 else "")
        stack[0].set_title(title, loc="left")
        panels.append((dataset, rows[rows["dataset"] == dataset], stack))
    return figure, panels


def undefined(ax: Axes) -> None:
    """Say in a panel that it has nothing to show."""
    ax.set(xticks=[], yticks=[], ylabel="")
    ax.spines[:].set_visible(False)
    ax.text(0.5, 0.5, ALONE, transform=ax.transAxes, ha="center", va="center", color=style.QUIET)
