"""What sums hold, and what the paper's diagnostic protocol makes of them in a class order."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sparcl.algebra.sums import Sums
from sparcl.app import inspecting
from sparcl.base.errors import InputError
from sparcl.base.types import Ints
from sparcl.protocol import stream
from study.sums.sums_file import SumsFile


def inspect(
    path: Path, order: tuple[int, int] | None, ridge: float, tau: float
) -> inspecting.Inspection:
    """Return what a file of sums holds, and the protocol's numbers.

    Cost: for each session, one eigendecomposition of R (D, D) and as much again.

    Parameters
    ----------
    path : of sums
    order : of sums by class: number of a class order, and into how many sessions it is cut
    ridge, tau : of the protocol

    Raises
    ------
    InputError
        When the file is something else, or the sums are not by class and an order is given.
    """
    file = SumsFile.load(path)
    return inspecting.traced(_of_sums(file), _by_session(file, path, order), ridge, tau)


def _of_sums(file: SumsFile) -> inspecting.Inspection:
    sums, present = file.sums, np.flatnonzero(file.sums.counts)
    facts = [("network", str(file.terms["backbone"]))]
    facts.append(("features", inspecting.shown_features(sums.d, file.terms["normalisation"])))
    names = [file.class_names[i] for i in present]
    found = inspecting.Inspection(
        f"sums, {len(present)} classes", facts, names, sums.counts[present]
    )
    found.prototypes = (sums.sums[present] / sums.counts[present, None]).T
    if len(present) == sums.classes:
        found.sums = sums.of(np.arange(sums.classes))
    else:
        found.lacks.append("Not every class has samples: add the other shards up.")
    return found


def _by_session(
    file: SumsFile, path: Path, order: tuple[int, int] | None
) -> Iterator[inspecting.Stage]:
    """Yield sums after each session of a class order, or of the order that they were summed by."""
    sums, groups = file.sums, file.sums.groups
    by_class = np.array_equal(groups, np.arange(len(groups)))
    if order is not None and not by_class:
        raise InputError(
            f"{path}: these sums are of the sessions of one class order: no other follows. Leave the order out."
        )
    if not sums.counts.all():
        return
    sessions: Sequence[Ints]
    if order is not None:
        number, count = order
        sessions = stream.split_sessions(stream.class_order(number, len(groups)), count)
    else:
        whole = [np.arange(len(groups))]
        sessions = whole if by_class else [np.flatnonzero(groups == t) for t in np.unique(groups)]
    total, seen = Sums(sums.d), np.zeros(0, dtype=np.int64)
    total.grow(len(groups))
    for classes in sessions:
        total.merge(sums.of(classes), classes)
        seen = np.union1d(seen, classes)
        yield total, seen
