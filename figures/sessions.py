"""Accuracy while classes arrive, and what each method gains and forgets against one of them."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import PAIR, differences, first, label, require, select, shown, valued
from study.report.differences import Difference

ACCURACY, FORGETTING = "A_t", "forgetting"
# A column of panels: its measure, and whether the other method's is taken from it.
COLUMNS = ((ACCURACY, False), (ACCURACY, True), (FORGETTING, True))
# Inches: the height of a panel, the space above, below and left of all, and between panels beside their names.
TALL, TOP, BOTTOM, LEFT, DOWN, ACROSS = 1.1, 0.24, 0.36, 0.5, 0.28, 0.3


@style.styled
def draw(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> Figure:
    """Draw accuracy, and beside it both differences to one method, in one row per data set.

    Parameters
    ----------
    frames : mapping
        ``sessions``: one row per run and session, in percent and points; ``forgetting`` is defined from
        session 2 on; ``differences`` after each session.
    options : mapping
        ``datasets``, ``methods``; ``show``: ids of the methods to draw (default: all); ``against``:
        the method that the others are compared with (default: the first of those).

    Returns
    -------
    Figure
        One curve per method, the mean over (order, seed) pairs; the number before its name is the
        value after the last session. A band is the 95% interval of a difference, over class
        orders and test samples together.

    Raises
    ------
    InputError
        A method, session, pair or difference is missing, or a cell that is drawn is empty.
    """
    methods = shown(options)
    reference = first(options, "against") or methods[0]
    methods = [*methods, *({reference} - {*methods})]
    rows = select(frames, "sessions", options, ["session", ACCURACY, FORGETTING], methods)
    require(rows, "sessions", [ACCURACY])
    require(rows[rows["session"] > 1], "sessions", [FORGETTING])
    pairs = differences(frames, options)
    datasets, name = list(options["datasets"]), label(options, "methods", reference, short=True)
    titles = ("accuracy on seen (%)", f"accuracy − {name}", f"forgetting − {name}")
    room = style.room([valued(options, method, -99.9) for method in methods])
    page, columns = style.width(), len(COLUMNS) if style.width() == style.PAGE else 1
    lines, down = len(datasets) * len(COLUMNS) // columns, DOWN if columns > 1 else DOWN + TOP
    height = TOP + lines * TALL + (lines - 1) * down + BOTTOM
    figure = Figure(figsize=(page, height))
    gap = room + ACROSS
    wide = (page - LEFT - room - (columns - 1) * gap) / columns
    panels = figure.subplots(
        lines,
        columns,
        squeeze=False,
        gridspec_kw={
            "left": LEFT / page,
            "right": 1 - room / page,
            "bottom": BOTTOM / height,
            "top": 1 - TOP / height,
            "wspace": gap / wide,
            "hspace": down / TALL,
        },
    ).reshape(len(datasets), len(COLUMNS))
    for row, dataset in zip(panels, datasets, strict=True):
        of_set = rows[rows["dataset"] == dataset]
        for ax, (measure, differs) in zip(row, COLUMNS, strict=True):
            kept = of_set if measure == ACCURACY else of_set[of_set["session"] > 1]
            bands: dict[str, list[Difference]] = {}
            tables = {
                method: kept[kept["method"] == method].pivot(
                    index="session", columns=PAIR, values=measure
                )
                for method in methods
            }
            if differs:
                base = tables.pop(reference)
                tables = {method: table - base for method, table in tables.items()}
                bands = {
                    method: [
                        pairs.between(method, reference, dataset, measure, session=t)
                        for t in table.index
                    ]
                    for method, table in tables.items()
                }
            if kept.empty:
                style.undefined(ax, style.ALONE)
                continue
            _curves(ax, tables, bands, options)
        row[0].set_ylabel(label(options, "datasets", dataset))
    for ax, title in zip(panels[0], titles, strict=True):
        ax.set_title(title, loc="left")
    for ax in panels.ravel()[-columns:]:
        ax.set_xlabel("session")
    return figure


def _curves(
    ax: Axes,
    tables: Mapping[str, pd.DataFrame],
    bands: Mapping[str, list[Difference]],
    options: Mapping[str, Any],
) -> None:
    """Draw one panel: the mean over pairs of each method, named at its end, with the band of a difference."""
    means = {method: table.mean(axis=1) for method, table in tables.items()}
    if bands:
        ax.axhline(0, color=style.QUIET, lw=0.6, label="equal")
    for method, mean in means.items():
        if bands and len(mean) > 1:
            low, high = (
                pd.Series([getattr(it, end) for it in bands[method]], index=mean.index)
                for end in ("low", "high")
            )
            style.band(ax, method, low, high, alpha=0.13)
    ends = style.curves(ax, means, lambda method, y: valued(options, method, y))
    last = max((mean.index[-1] for mean in means.values()), default=1)
    ax.set_xlim(0.6, last + 0.3)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    style.label_ends(ax, ends)
