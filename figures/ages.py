"""Accuracy after the last session by the session in which a class arrived."""

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from figures import style
from figures.frames import Frames, Options, labels, select, shown
from figures.panels import per_dataset


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
    """Draw last accuracy by session of arrival in one panel per data set.

    Parameters
    ----------
    frames : mapping
        ``arrivals``: one row per run and session of arrival, in percent.
    options : mapping
        ``datasets``, ``methods``; ``show``: ids of the methods to draw (default: all).

    Returns
    -------
    Figure
        One curve per method, the mean over (order, seed) pairs.

    Raises
    ------
    InputError
        A method or pair is missing, or a drawn cell is empty.
    """
    methods = shown(options)
    rows = select(frames, "arrivals", options, ["arrival", "A_last"], methods)
    names = labels(options, "methods", methods, short=True)
    room = style.room(names.values())
    figure, panels = per_dataset(options, rows, ["last accuracy (%)"], 1.6, room)
    for _, of_set, (ax,) in panels:
        means = of_set.groupby(["method", "arrival"])["A_last"].mean()
        ends = style.curves(ax, {m: means[m] for m in methods}, lambda m, _: names[m])
        axis = "session in which the classes arrived"
        style.session_axis(ax, of_set["arrival"], name=axis)
        ax.yaxis.set_major_locator(MaxNLocator(5))
        style.label_ends(ax, ends)
    return figure
