"""Mild and hard class orders: class means of consecutive sessions that overlap little or much.

With ``m_c`` the mean training feature of class c minus the mean over all class means, and U_s an
orthonormal basis of the span of session s's ``m_c``, the overlap of two sessions is
``||U_s^T U_t||_F^2 / min(rank U_s, rank U_t)``, between 0 and 1.  A hard order makes it large
between consecutive sessions, a mild one small.  The means are centred because raw ones share a
direction, the mean feature, which would hide all other overlap.
"""

from collections.abc import Sequence

import numpy as np

from sparcl.algebra.spectra import orthonormal_span
from sparcl.base.errors import InputError
from sparcl.base.types import Array, Ints


def centred_means(Phi: Array, labels: Ints, classes: int) -> Array:
    """Return the centred class means (d, classes) of features Phi (n, d) with labels (n,).

    Raises
    ------
    InputError
        When a class has no sample.
    """
    counts = np.bincount(labels, minlength=classes)
    if counts.min() == 0:
        raise InputError(
            f"Class {int(np.argmin(counts))} has no training sample, but an order by class means "
            "needs at least one of each class: add samples or remove the class."
        )
    sums = np.zeros((classes, Phi.shape[1]))
    np.add.at(sums, labels, Phi)
    means = sums / counts[:, None]
    return (means - means.mean(axis=0)).T


def greedy(
    Phi: Array,
    labels: Ints,
    sessions: Sequence[Ints],
    *,
    hard: bool,
) -> list[Ints]:
    """Return sessions of the same sizes, chosen greedily after the first, which is kept.

    Each next session takes, of the classes that remain, those whose centred mean lies most
    (``hard``) or least in the span U of the previous session's means, by
    ``||U^T m_c||^2 / ||m_c||^2``; ties go by label.

    Parameters
    ----------
    Phi : (n, d) training features; labels : (n,)
    sessions : classes of each session, in any order; their sizes are kept

    Raises
    ------
    InputError
        When a class has no training sample.
    """
    means = centred_means(Phi, labels, sum(map(len, sessions)))
    energy = np.square(means).sum(axis=0)
    remaining = np.setdiff1d(np.arange(means.shape[1]), sessions[0])
    result: list[Ints] = [np.asarray(sessions[0], dtype=np.int64)]
    for session in sessions[1:]:
        U = orthonormal_span(means[:, result[-1]])
        inside = np.square(U.T @ means[:, remaining]).sum(axis=0)
        fraction = inside / np.where(energy[remaining] > 0, energy[remaining], 1)
        ranked = np.argsort(-fraction if hard else fraction, kind="stable")[: len(session)]
        result.append(remaining[ranked])
        remaining = np.delete(remaining, ranked)
    return result
