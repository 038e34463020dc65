"""Whether to hold a core, as sums advise, and how often that is right."""

from typing import Any

from figures.frames import Frames, Options, shown
from figures.rates_table import LAST, complete
from figures.sheet import Sheet, groups

SHARE = "contamination_sums"  # the column with the contaminated fraction


def texts(frames: Frames, options: Options) -> dict[str, str]:
    """Return the files of the table by suffix: a row per data set, a column per kind and rate of stress.

    In each class order the advice is to hold a core where the contaminated fraction that sums tell
    reaches ``limit``.  It is right where the advised learner has the better last accuracy, or is within ``tie`` points
    of it.  A cell has the mean fraction in percent, and in how many class orders a core is advised, and is right.

    Parameters
    ----------
    frames : mapping
        ``rates``: one row per run of a stream.
    options : mapping
        ``show``: the methods without and with a core; ``limit``, ``tie``; ``datasets``; ``caption`` with
        ``{suite}``, ``{backbone}``, ``{sessions}``, ``{orders}``, ``{limit}``, ``{right}``, ``{streams}``,
        ``{never}`` and ``{always}``; ``id``.

    Raises
    ------
    InputError
        A data set, method, pair or number is missing.
    """
    without, held = shown(options)
    rows = complete(frames, options, [without, held])
    sheet = Sheet(options, "rates", rows, label="dataset", over="stress", head="rate")
    totals: dict[str, Any] = dict.fromkeys(("right", "never", "always", "streams"), 0)
    for keys, of_stream in groups(rows, options, "stress", "rate"):
        last = of_stream.pivot(index="order", columns="method", values=LAST)
        gain = last[held] - last[without]
        share = of_stream[of_stream["method"] == held].set_index("order")[SHARE]
        advised = share >= options["limit"]
        says = {"always": gain >= -options["tie"], "never": gain <= options["tie"]}
        says["right"] = says["always"].where(advised, says["never"])
        for name, true in says.items():
            totals[name] += int(true.sum())
        totals["streams"] += len(gain)
        of = {"dataset": keys["dataset"], "method": held, "stress": keys["stress"]}
        printed = f"{100 * share.mean():.0f}: {advised.sum()}, {says['right'].sum()}/{len(gain)}"
        sheet.add(printed, f"{SHARE} / {LAST}", of | {"rate": f"{keys['rate']:g}"})
    return sheet.texts(limit=f"{100 * options['limit']:g}", **totals)
