"""Accuracy, and accuracy left on old classes, over the rate at which a stream goes wrong."""

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import Frames, Options, shown, valued
from figures.panels import per_dataset
from figures.rates_table import LAST, OLD, complete
from sparcl.base.errors import InputError

MEASURES = {LAST: "accuracy, all (%)", OLD: "accuracy, old (%)"}


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
    """Draw both accuracies after the last session by rate, one below the other, two data sets abreast.

    Parameters
    ----------
    frames : mapping
        ``rates``: one row per run of a stream; one kind of stress.
    options : mapping
        ``datasets``, ``methods``; ``show``: ids of the methods to draw (default: all).

    Returns
    -------
    Figure
        One curve per method, the mean over (order, seed) pairs; the number before its name is the
        value at the highest rate.

    Raises
    ------
    InputError
        A method, rate or pair is missing, a cell that is drawn is empty, or there are several kinds of stress.
    """
    methods, kinds = shown(options), frames["rates"]["stress"].unique()
    if len(kinds) != 1:
        raise InputError(
            f"rates.csv has several kinds of stress ({', '.join(kinds)}); this figure shows one."
        )
    rows = complete(frames, options, methods)
    looks = style.distinct(methods)
    room = style.room([valued(options, method, 99.9) for method in methods]) + 0.14
    axes = list(MEASURES.values())
    figure, panels = per_dataset(options, rows, axes, 1.05, room, down=0.14, abreast=2)
    for _, of_set, stack in panels:
        of_method = {method: of_set[of_set["method"] == method] for method in methods}
        rates = sorted(of_set["rate"].unique())
        apart = [r for r in rates if r == rates[0] or r - rates[0] > 0.25 * (rates[-1] - rates[0])]
        for ax, measure in zip(stack, MEASURES, strict=True):
            means = {m: rows.groupby("rate")[measure].mean() for m, rows in of_method.items()}
            ends = style.curves(ax, means, lambda m, y: valued(options, m, y), looks)
            ax.set_xticks(apart, [f"{rate:g}" for rate in apart])
            ax.set_xticks(rates, minor=True)
            ax.yaxis.set_major_locator(MaxNLocator(5))
            style.label_ends(ax, ends)
        stack[0].tick_params(labelbottom=False)
        stack[1].set_xlabel("rate")
    return figure
