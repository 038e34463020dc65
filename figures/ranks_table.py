"""Methods over all data sets: mean ranks, and wins, ties and losses of one against each."""

from figures import grid
from figures.frames import Frames, Options, differences, label, select, shown
from figures.sheet import Sheet
from study.report import across

SHOWN = {
    "A_bar": ("average accuracy", True),
    "A_last": ("last accuracy", True),
    "forgetting": ("forgetting", False),
}


def texts(frames: Frames, options: Options) -> dict[str, str]:
    """Return the files of the table by suffix: a row per method, best rank of last accuracy first.

    A cell has the mean rank over data sets and, in brackets, on how many of them the method ``of`` wins,
    ties and loses against it (`study.report.differences`).

    Parameters
    ----------
    frames : mapping
        ``runs`` and ``differences``.
    options : mapping
        ``of``; ``caption`` with ``{suite}``, ``{backbone}``, ``{sessions}``, ``{orders}``, ``{method}`` and
        ``{difference}``, the critical difference of ranks; ``id``.

    Raises
    ------
    InputError
        A method, data set, pair or difference is missing.
    """
    of = options["of"]
    table = select(frames, "runs", options, ["sessions", *SHOWN], shown(options))
    ranks, difference = across.mean_ranks(table, "A_last")
    sheet = Sheet(options, "runs", table, label="method")
    pairs = differences(frames, options)
    for measure, (title, higher) in SHOWN.items():
        if measure == "forgetting" and (table["sessions"] == 1).all():  # nothing is old
            for method in ranks.index:
                sheet.add(grid.NOTHING, measure, {"method": method}, head=title)
            continue
        of_measure, _ = across.mean_ranks(table, measure, higher)
        for method in ranks.index:
            rank = of_measure[method]
            counts = ""
            if method != of:
                found = [pairs.between(of, method, d, measure).verdict for d in options["datasets"]]
                won, lost = ("above", "below") if higher else ("below", "above")
                counts = f" ({found.count(won)}, {found.count('tie')}, {found.count(lost)})"
            best = bool(rank == of_measure.min())
            sheet.add(f"{rank:.2f}{counts}", measure, {"method": method}, best, head=title)
    name = label(options, "methods", of)
    return sheet.texts(method=name, difference=f"{difference:.1f}")
