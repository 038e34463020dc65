"""Accuracy after each session, mean over class orders."""

from figures.frames import Frames, Options, differences, measured, select
from figures.sheet import Sheet, groups, judged

MEASURE = "A_t"


def texts(frames: Frames, options: Options) -> dict[str, str]:
    """Return the files of the table by suffix: a part per data set, a column per session.

    Parameters
    ----------
    frames : mapping
        ``sessions``: one row per run and session, accuracies in percent; ``differences`` after each.
    options : mapping
        ``datasets``, ``methods``, ``backbones``, ``absent``; ``caption`` with the fields
        of `figures.frames.fill`; ``id``.

    Raises
    ------
    InputError
        A data set, method, pair or accuracy is missing.
    """
    table = select(frames, "sessions", options, ["session", MEASURE], measured(options))
    sheet = Sheet(
        options, "sessions", table, short=True, part="dataset", label="method", head="session"
    )
    pairs = differences(frames, options)
    for keys, rows in groups(table, options, "session"):
        for method, row in judged(rows, options, MEASURE, pairs, keys).items():
            of = {"dataset": keys["dataset"], "method": method, "session": keys["session"]}
            sheet.add(f"{row['mean']:.1f}", MEASURE, of, row["best"], row["tied"])
    return sheet.texts(tested=True)
