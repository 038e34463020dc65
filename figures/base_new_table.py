"""Accuracy on the classes of the first session and on all others, and the harmonic mean of the two."""

from figures.frames import PAIR, Frames, Options, measured, select
from figures.sheet import Sheet, groups

LAST = "A_last"
# Column -> its head, and the frame and column that it is made from.
HEADS = {
    "A_bar": ("average accuracy", "runs", "A_bar"),
    "A_last": ("last accuracy", "runs", "A_last"),
    "base": ("base classes", "arrivals", "A_last"),
    "new": ("new classes", "arrivals", "A_last"),
    "harmonic": ("harmonic mean", "arrivals", "A_last"),
}


def texts(frames: Frames, options: Options) -> dict[str, str]:
    """Return the files of the table by suffix: a part per data set, means over class orders.

    Base classes are those of the first session, new ones all others, whose accuracy is the mean over the sessions
    in which they arrived.  Both are measured after the last session, and so is their harmonic mean.

    Parameters
    ----------
    frames : mapping
        ``runs``; ``arrivals``: accuracy by session of arrival.
    options : mapping
        ``datasets``, ``methods``; ``caption`` with ``{suite}``, ``{backbone}``, ``{sessions}`` and
        ``{orders}``; ``id``.

    Raises
    ------
    InputError
        A data set, method, pair or number is missing.
    """
    methods = measured(options)
    runs = select(frames, "runs", options, ["A_bar", LAST], methods)
    arrived = select(frames, "arrivals", options, ["arrival", LAST], methods)
    keys, first = ["dataset", "method", *PAIR], arrived["arrival"] == 1
    base, new = (arrived[part].groupby(keys)[LAST].mean() for part in (first, ~first))
    rows = runs.join(base.to_frame("base"), on=keys).join(new.to_frame("new"), on=keys)
    total = (rows["base"] + rows["new"]).where(lambda both: both > 0, 1.0)
    rows["harmonic"] = 2 * rows["base"] * rows["new"] / total
    sheet = Sheet(options, "runs", rows, part="dataset", label="method")
    for of, of_set in groups(rows, options):
        means = of_set.groupby("method")[list(HEADS)].mean()
        for method in methods:
            for column, (head, frame, source) in HEADS.items():
                value, place = means[column][method], of | {"method": method}
                best = bool(value == means[column].max())
                sheet.add(f"{value:.1f}", source, place, best, name=frame, head=head)
    return sheet.texts()
