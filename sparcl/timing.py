"""How long learners take on one stream, as ratios measured in one process."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sparcl import methods
from sparcl.errors import InputError
from sparcl.experiment import Split


def relative(
    sessions: Sequence[Split], variants: Mapping[str, Mapping[str, Any]], repeats: int
) -> list[dict[str, Any]]:
    """Return a row a variant: median seconds of fitting all sessions, and relative to the first's.

    Variants take turns within a repeat, so that a change of the machine's load meets all of them.

    Parameters
    ----------
    variants : id -> ``learner`` and its ``hyper``; the first is the unit

    Raises
    ------
    InputError
        With fewer than one repeat or no variant.
    """
    if repeats < 1 or not variants:
        raise InputError("Timing needs at least one variant and one repeat.")
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(repeats):
        for name, variant in variants.items():
            learner = methods.build(variant["learner"], **variant["hyper"])
            start = time.perf_counter()
            for part in sessions:
                learner.fit_session(part.features, part.labels)
            seconds[name].append(time.perf_counter() - start)
    median = {name: float(np.median(taken)) for name, taken in seconds.items()}
    unit = next(iter(median.values()))
    return [
        {"method": name, "seconds": value, "relative_time": value / unit}
        for name, value in median.items()
    ]
