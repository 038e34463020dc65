"""How far the logits of old classes move from one session to the next."""

from matplotlib.figure import Figure

from figures import style
from figures.frames import Frames, Options, labels, select, shown
from figures.panels import per_dataset, undefined


@style.styled
def draw(frames: Frames, options: Options) -> Figure:
    """Draw scaled old-logit drift by session in one panel per data set.

    Parameters
    ----------
    frames : mapping
        ``sessions``: one row per run and session; ``drift_scaled``, in standard deviations of the
        logits, is empty in session 1 only.
    options : mapping
        ``datasets``, ``methods``; ``show``: ids of the methods to draw (default: all).

    Returns
    -------
    Figure
        One curve per method, the mean over (order, seed) pairs, in percent; a band reaches from the
        least to the greatest of them. The axis is logarithmic; a method whose logits
        stand still in some session is named below it.

    Raises
    ------
    InputError
        A method, session or pair is missing.
    """
    methods = shown(options)
    rows = select(frames, "sessions", options, ["session", "drift_scaled"], methods)
    rows = rows[rows["session"] > 1]
    least = rows.groupby("method")["drift_scaled"].min()
    still = [m for m in methods if least.get(m, 1) <= 0]
    methods = [m for m in methods if m not in still]
    names = labels(options, "methods", [*methods, *still], short=True)
    room = style.room(names[m] for m in methods)
    axis = ["old-logit drift (% of logits' s.d.)"]
    figure, panels = per_dataset(options, rows, axis, 1.45, room, left=0.38, across=0.2)
    for _, of_set, (ax,) in panels:
        if of_set.empty:
            undefined(ax)
            continue
        drift = 100 * of_set.groupby(["method", "session"])["drift_scaled"].agg(
            ["mean", "min", "max"]
        )
        for method in methods:
            style.band(ax, method, drift["min"][method], drift["max"][method])
        means = {method: drift["mean"][method] for method in methods}
        ends = style.curves(ax, means, lambda m, _: names[m])
        ax.set_yscale("log")
        style.log_ticks(ax.yaxis, "{x:g}", subs=[1, 2, 5])
        style.session_axis(ax, of_set["session"])
        style.label_ends(ax, ends)
        if still:
            said = f"no drift: {', '.join(names[m] for m in still)}"
            style.note(ax, 0.02, 0.02, said, style.QUIET, transform=ax.transAxes, va="bottom")
    return figure
