"""Fewer training rows from class to class within a session."""

from collections.abc import Sequence

import numpy as np

from sparcl.base.types import Ints
from sparcl.protocol.experiment import Split


def long_tail(
    sessions: Sequence[Ints], parts: list[Split], *, imbalance: float, least: int
) -> list[Split]:
    """Thin out the training rows, more from class to class within a session; test rows stay.

    Parameters
    ----------
    imbalance : training rows of a session's first class to those of its last, if they had equally many
    least : rows that a class keeps, as far as it has them
    """
    train, kept = parts[0], []
    for classes in sessions:
        for j, label in enumerate(classes):
            rows = np.flatnonzero(train.labels == label)
            share = imbalance ** (-j / max(len(classes) - 1, 1))
            kept.append(rows[: max(round(share * len(rows)), min(least, len(rows)))])
    rows = np.sort(np.concatenate(kept))
    return [Split(train.features[rows], train.labels[rows]), *parts[1:]]
