"""One method against each other one of a suite: the difference in last accuracy on each data set and over all."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures.frames import differences, label, select, shown
from figures.increments_table import MEAN
from figures.sheet import Sheet
from study.report.differences import ALL

VALUE = "A_last"


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
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
    peers = [method for method in shown(options) if method != of]
    peers.sort(key=lambda peer: pairs.between(of, peer, ALL, VALUE).difference)
    sheet = Sheet(options, frame, table)
    for peer in peers:
        for dataset in (ALL, *options["datasets"]):
            it = pairs.between(of, peer, dataset, VALUE)
            first, second = sorted((of, peer))
            keys = {"dataset": dataset, "measure": VALUE, "method": first, "against": second}
            printed = f"{it.difference:+.1f} [{it.low:.1f}, {it.high:.1f}]".replace("-", "−")
            name = label(options, "methods", peer, short=True)
            head = MEAN if dataset == ALL else label(options, "datasets", dataset)
            sheet.add(printed, "difference", keys, tied=it.verdict == "tie", label=name, head=head)
    method = label(options, "methods", of)
    return sheet.texts(method=method, orders=table["orders"].max())
