"""Accuracy while classes arrive, and what each method gains and forgets against one of them."""

from collections.abc import Callable
from functools import partial
from itertools import product

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import PAIR, Frames, Options, differences, first, label, select, shown, valued
from figures.panels import undefined
from study.report.differences import Difference

ACCURACY, FORGETTING = "A_t", "forgetting"
# A column of panels: its measure, and whether the other method's is taken from it.
COLUMNS = ((ACCURACY, False), (ACCURACY, True), (FORGETTING, True))
# Inches: the height of a panel, the space above, below and left of all, and between panels beside their names.
TALL, TOP, BOTTOM, LEFT, DOWN, ACROSS = 1.1, 0.24, 0.36, 0.5, 0.28, 0.3


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
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
    reference = first(options, options.get("against", "")) or methods[0]
    methods = [*methods, *({reference} - {*methods})]
    rows = select(frames, "sessions", options, ["session", ACCURACY, FORGETTING], methods)
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
    ).ravel()
    for ax, (dataset, (measure, differs)) in zip(panels, product(datasets, COLUMNS), strict=True):
        kept = rows[rows["dataset"] == dataset]
        if measure == ACCURACY and not differs:
            ax.set_ylabel(label(options, "datasets", dataset))
        if measure != ACCURACY:
            kept = kept[kept["session"] > 1]
        if kept.empty:
            undefined(ax)
            continue
        table = kept.pivot(index="session", columns=["method", *PAIR], values=measure)
        if differs:
            between = partial(pairs.between, dataset=dataset, measure=measure)
            means = _differences(ax, table, methods, reference, between)
        else:
            means = {method: table[method].mean(axis=1) for method in methods}
        ends = style.curves(ax, means, lambda method, y: valued(options, method, y))
        style.session_axis(ax, pd.Index([1, table.index[-1]]), name="")
        ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        style.label_ends(ax, ends)
    for ax, title in zip(panels, titles, strict=False):
        ax.set_title(title, loc="left")
    for ax in panels[-columns:]:
        ax.set_xlabel("session")
    return figure


def _differences(
    ax: Axes,
    table: pd.DataFrame,
    methods: list[str],
    reference: str,
    between: Callable[..., Difference],
) -> dict[str, pd.Series]:
    """Draw where methods equal the ``reference`` and the band of each difference to it; return their means."""
    ax.axhline(0, color=style.QUIET, lw=0.6, label="equal")
    means = {}
    for method in methods:
        if method == reference:
            continue
        gaps = pd.DataFrame(table[method]) - table[reference]
        means[method] = gaps.mean(axis=1)
        found = [between(method, reference, session=session) for session in table.index]
        low, high = (
            pd.Series([getattr(it, end) for it in found], table.index) for end in ("low", "high")
        )
        style.band(ax, method, low, high, alpha=0.13)
    return means
