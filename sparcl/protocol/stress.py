"""The paper's failure cases, made from any data set's features.

near-duplicate : each class of the stream's second half is moved a share of the way, mean onto mean,
    to a class of the first half, so that new classes share old ones' principal directions
saturated : every feature becomes ``tanh(scale sqrt(d) f)``: extreme temperature
long-tail : within a session the j-th of J classes keeps n imbalance^(-j / (J - 1)) training rows

Class means are those of training rows; test rows of a class move as its training rows do, and the
long tail leaves them alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.base.rows import prepared
from sparcl.protocol.experiment import Split

Sessions = Sequence[NDArray[np.integer]]


def splits(spec: Mapping[str, Any], sessions: Sequence[Sequence[int]], *data: Any) -> list[Split]:
    """Return the splits as a suite's learners see them: normalised and, if it says so, stressed.

    Parameters
    ----------
    spec : ``normalize`` of the suite, and ``stress``: settings by kind, empty for features as they are
    sessions : classes of each session
    data : the training split, and perhaps the test split; each with ``features`` and ``labels``

    Raises
    ------
    InputError
        For an unknown kind of stress.
    """
    normalize = spec["normalize"]
    parts = [Split(prepared(d.features, normalize), d.labels) for d in data]
    for kind, settings in spec["stress"].items():
        if kind not in KINDS:
            raise InputError(f"stress {kind!r} is unknown; there are {', '.join(KINDS)}.")
        stressed = KINDS[kind]([np.asarray(part) for part in sessions], parts, **settings)
        parts = [Split(prepared(part.features, normalize), part.labels) for part in stressed]
    return parts


def near_duplicate(sessions: Sessions, parts: list[Split], *, move: float) -> list[Split]:
    """Move the second half's classes onto those of the first half, ``move`` of the way (0 to 1)."""
    order, train = np.concatenate(sessions), parts[0]
    half = len(order) // 2
    shift = np.zeros((int(order.max()) + 1, train.features.shape[1]))
    for old, new in zip(order[:half], order[half:], strict=False):
        means = [train.features[train.labels == label].mean(axis=0) for label in (old, new)]
        shift[new] = move * (means[0] - means[1])
    return [Split(part.features + shift[part.labels], part.labels) for part in parts]


def saturated(sessions: Sessions, parts: list[Split], *, scale: float) -> list[Split]:
    """Press every coordinate against the ends of its range; at unit norm sqrt(d) f is about one."""
    factor = scale * np.sqrt(parts[0].features.shape[1])
    return [Split(np.tanh(factor * part.features), part.labels) for part in parts]


def long_tail(
    sessions: Sessions, parts: list[Split], *, imbalance: float, least: int
) -> list[Split]:
    """Thin out the training rows, more from class to class within a session.

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


KINDS: dict[str, Callable[..., list[Split]]] = {
    "near-duplicate": near_duplicate,
    "saturated": saturated,
    "long-tail": long_tail,
}
