"""Mild and hard class orders: consecutive sessions whose class means share little or much.

With ``m_c`` the mean training feature of class c minus the mean of all class means, and U_s an
orthonormal basis of the span of session s's ``m_c``, the overlap of two sessions is
``||U_s^T U_t||_F^2 / min(rank U_s, rank U_t)``, between 0 and 1.  A hard order makes it large
between consecutive sessions, a mild one small.  Centred: the raw means share one direction, the
mean feature, whose overlap would hide all others.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError

Array = NDArray[np.floating]


def centred_means(Phi: Array, labels: NDArray[np.integer], classes: int) -> Array:
    """Return the centred class means (d, classes) of Phi (n, d).

    Raises
    ------
    InputError
        When a class has no sample.
    """
    counts = np.bincount(labels, minlength=classes)
    if counts.min() == 0:
        raise InputError(
            f"Class {int(np.argmin(counts))} has no training sample: an order by class means needs "
            "one at least."
        )
    sums = np.zeros((classes, Phi.shape[1]))
    np.add.at(sums, labels, Phi)
    means = sums / counts[:, None]
    return (means - means.mean(axis=0)).T


def span(means: Array) -> Array:
    """Return an orthonormal basis (d, rank) of the columns of means (d, c)."""
    U, size, _ = np.linalg.svd(means, full_matrices=False)
    return U[:, size > max(means.shape) * np.finfo(means.dtype).eps * size.max(initial=0)]


def overlap(first: Array, second: Array) -> float:
    """Return the overlap in [0, 1] of the spans of two groups of class means (d, c)."""
    U, V = span(first), span(second)
    least = min(U.shape[1], V.shape[1])
    return float(np.square(U.T @ V).sum() / least) if least else 0.0


def greedy(
    Phi: Array,
    labels: NDArray[np.integer],
    sessions: Sequence[NDArray[np.integer]],
    *,
    hard: bool,
) -> list[NDArray[np.int64]]:
    """Return sessions of the same sizes that start alike and go on greedily.

    The first session is kept.  Each next one takes, of the classes left, those whose centred mean
    lies most (``hard``) or least in the previous session's span: by ``||U^T m_c||^2 / ||m_c||^2``,
    ties by label.  Training features only.

    Parameters
    ----------
    Phi : (n, d) training features; labels : (n,)
    sessions : classes of each session of any order; their sizes are kept
    """
    means = centred_means(Phi, labels, sum(map(len, sessions)))
    size = np.square(means).sum(axis=0)
    left = np.setdiff1d(np.arange(means.shape[1]), sessions[0])
    result = [np.asarray(sessions[0], dtype=np.int64)]
    for session in sessions[1:]:
        inside = np.square(span(means[:, result[-1]]).T @ means[:, left]).sum(axis=0)
        share = inside / np.where(size[left] > 0, size[left], 1)
        ranked = np.argsort(-share if hard else share, kind="stable")[: len(session)]
        result.append(left[ranked])
        left = np.delete(left, ranked)
    return result
