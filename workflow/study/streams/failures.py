"""The failure cases of the paper, which change both splits: near-duplicate classes, saturated features, a long tail."""

from collections.abc import Sequence

import numpy as np

from sparcl.base.types import Ints
from study.loop.experiment import Split


def near_duplicate(sessions: Sequence[Ints], parts: list[Split], *, move: float) -> list[Split]:
    """Move the second half's classes onto those of the first half, ``move`` of the way (0 to 1).

    Class means are those of training rows; test rows of a class move as its training rows do.
    """
    order, train = np.concatenate(sessions), parts[0]
    half = len(order) // 2
    shift = np.zeros((int(order.max()) + 1, train.features.shape[1]))
    for old, new in zip(order[:half], order[half:], strict=False):
        means = [train.features[train.labels == label].mean(axis=0) for label in (old, new)]
        shift[new] = move * (means[0] - means[1])
    return [Split(part.features + shift[part.labels], part.labels) for part in parts]


def saturated(sessions: Sequence[Ints], parts: list[Split], *, scale: float) -> list[Split]:
    """Press every coordinate against the ends of its range; at unit norm sqrt(d) f is about one."""
    factor = scale * np.sqrt(parts[0].features.shape[1])
    return [Split(np.tanh(factor * part.features), part.labels) for part in parts]


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
