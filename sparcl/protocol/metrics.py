"""Accuracy, forgetting, drift, and how alike prototypes are.  Accuracies are integer counts until they are printed.

``correct`` (T, K) holds after each session t the correctly predicted test samples of the class at
position j of the class order; ``counts`` (K,) the test samples of each class; ``session_of_class``
(K,) the session, from 0, in which the class at position j arrives.
"""

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError

ROUNDING = 64  # units in the last place of the largest score

Ints = NDArray[np.integer]
Floats = NDArray[np.floating]


def by_session(correct: Ints, counts: Ints, session_of_class: Ints) -> Floats:
    """Return a (T, T): accuracy in percent after session t on session s; nan for s > t."""
    member = session_of_class[:, None] == np.arange(len(correct))
    a = 100 * (correct @ member) / (counts @ member)
    a[np.triu_indices(len(correct), 1)] = np.nan
    return a


def session_accuracy(
    correct: Ints, counts: Ints, session_of_class: Ints, by: str = "samples"
) -> Floats:
    """Return A_t (T,) in percent over the classes seen, averaged by samples, sessions or classes.

    By samples is the convention of PILOT and RevisitingCIL, by sessions that of RanPAC's tables
    and Fly-CL, by classes that of RanDumb.

    Raises
    ------
    InputError
        For another value of ``by``.
    """
    T = len(correct)
    seen = session_of_class[None, :] <= np.arange(T)[:, None]
    if by == "samples":
        return 100 * (correct * seen).sum(axis=1) / (counts * seen).sum(axis=1)
    if by == "sessions":
        return np.nanmean(by_session(correct, counts, session_of_class), axis=1)
    if by == "classes":
        return 100 * (correct / counts * seen).sum(axis=1) / seen.sum(axis=1)
    raise InputError(f"by = {by!r}: accuracies are averaged by 'samples', 'sessions' or 'classes'.")


def forgetting(correct: Ints, counts: Ints, session_of_class: Ints) -> Floats:
    """Return the forgetting (T,) in percentage points; the last entry is the run's.

    After session t: the mean over earlier sessions s < t of the best accuracy on s so far, minus
    that after t.  The first entry is nan.
    """
    a = by_session(correct, counts, session_of_class)
    result = np.full(len(a), np.nan)
    for t in range(1, len(a)):
        result[t] = np.mean(np.nanmax(a[: t + 1, :t], axis=0) - a[t, :t])
    return result


def logit_drift(previous: Floats, current: Floats) -> tuple[float, float]:
    """Return the old-logit drift between two sessions, raw and scaled.

    Both arrays (n, c) hold the scores of all test samples of the classes seen before, at these
    classes' columns.  Raw: mean absolute change.  Scaled: divided by the standard deviation of the
    previous scores, so that methods of different scale compare; nan where that is zero.  A change
    of a few last bits is what a matrix product of another shape leaves, and counts as none.
    """
    change = np.abs(current - previous)
    rounding = ROUNDING * np.finfo(current.dtype).eps * np.abs(previous).max(initial=0)
    drift = float(np.mean(np.where(change > rounding, change, 0)))
    spread = float(np.std(previous))
    return drift, drift / spread if spread > 0 else np.nan


def prototype_cosine(prototypes: Floats) -> float:
    """Return the mean cosine between different columns of prototypes (D, c); nan for one column."""
    c = prototypes.shape[1]
    if c < 2:
        return np.nan
    norm = np.linalg.norm(prototypes, axis=0)
    unit = prototypes / np.where(norm > 0, norm, 1)
    return float((np.square(unit.sum(axis=1)).sum() - np.square(unit).sum()) / (c * (c - 1)))
