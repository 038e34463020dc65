"""One method against each other one of a suite: the difference in last accuracy on each data set and over all."""

from figures.frames import Frames, Options, differences, label, of_pair, select
from figures.headline import VALUE, peers
from figures.increments_table import MEAN
from figures.sheet import Sheet
from study.report.differences import ALL


def texts(frames: Frames, options: Options) -> dict[str, str]:
    """Return the files of the table by suffix: a row per method, the smallest mean difference first.

    Parameters
    ----------
    frames : mapping
        ``differences``, in points.
    options : mapping
        ``datasets``, ``methods``; ``of``: the method; ``caption`` with ``{suite}``, ``{backbone}``, ``{sessions}``,
        ``{orders}`` and ``{method}``; ``id``.

    Raises
    ------
    InputError
        A data set or a difference is missing.
    """
    of, frame = options["of"], "differences"
    table = select(frames, frame, options, ["measure", "difference", "orders"])
    pairs = differences(frames, options)
    sheet = Sheet(options, frame, table)
    for peer in peers(options, pairs):
        for dataset in (ALL, *options["datasets"]):
            it = pairs.between(of, peer, dataset, VALUE)
            keys = of_pair(dataset, VALUE, of, peer)
            printed = f"{it.difference:+.1f} [{it.low:.1f}, {it.high:.1f}]".replace("-", "−")
            name = label(options, "methods", peer, short=True)
            head = MEAN if dataset == ALL else label(options, "datasets", dataset)
            sheet.add(printed, "difference", keys, tied=it.verdict == "tie", label=name, head=head)
    method = label(options, "methods", of)
    return sheet.texts(method=method, orders=table["orders"].max())
