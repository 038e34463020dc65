"""Accuracy, forgetting, and drift of logits.

Accuracies stay integer counts until they are printed.

``correct`` (T, K) holds after each session t the correctly predicted test samples of the class at
position j of the class order; ``counts`` (K,) the test samples of each class; ``session_of_class``
(K,) the session, from 0, in which the class at position j arrives.
"""

import base64
import zlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.base.types import Array, Ints

ROUNDING = 64  # units in the last place of the largest score


def by_session(correct: Ints, counts: Ints, session_of_class: Ints) -> Array:
    """Return a (T, T): accuracy in percent after session t on the classes of session s; nan for s > t."""
    member = session_of_class[:, None] == np.arange(len(correct))
    a = 100 * (correct @ member) / (counts @ member)
    a[np.triu_indices(len(correct), 1)] = np.nan
    return a


def session_accuracy(
    correct: Ints,
    counts: Ints,
    session_of_class: Ints,
    by: Literal["samples", "sessions", "classes"] = "samples",
) -> Array:
    """Return A_t (T,) in percent over the classes seen, averaged by samples, sessions or classes.

    By samples is the convention of PILOT and RevisitingCIL, by sessions that of RanPAC's tables
    and Fly-CL, by classes that of RanDumb.
    """
    T = len(correct)
    seen = session_of_class[None, :] <= np.arange(T)[:, None]
    if by == "samples":
        return 100 * (correct * seen).sum(axis=1) / (counts * seen).sum(axis=1)
    if by == "sessions":
        return np.nanmean(by_session(correct, counts, session_of_class), axis=1)
    return 100 * (correct / counts * seen).sum(axis=1) / seen.sum(axis=1)


def forgetting(
    correct: Ints, counts: Ints, session_of_class: Ints, *, with_current: bool = True
) -> Array:
    """Return the forgetting (T,) in percentage points; the last entry is the run's.

    After session t it is the mean, over earlier sessions s < t, of the best accuracy on s so far
    minus the accuracy on s after t.  The first entry is nan.

    Parameters
    ----------
    with_current : whether session t itself is among those so far, so that forgetting is never
        negative; without it, the definition of Chaudhry et al. (2018), negative where the accuracy
        on earlier sessions rises
    """
    a = by_session(correct, counts, session_of_class)
    result = np.full(len(a), np.nan)
    for t in range(1, len(a)):
        best = np.nanmax(a[: t + with_current, :t], axis=0)
        result[t] = np.mean(best - a[t, :t])
    return result


def logit_drift(previous: Array, current: Array) -> tuple[float, float]:
    """Return the old-logit drift between two sessions, raw and scaled.

    Both arrays (n, c) hold the logits of all test samples of the old classes, at these classes'
    columns.  Raw is the mean absolute change.  Scaled is that over the standard deviation of the
    previous logits, which makes methods of different scale comparable; nan where it is zero.
    """
    rounding = ROUNDING * np.finfo(current.dtype).eps * np.abs(previous).max(initial=0)
    drift = mean_change(current - previous, rounding)
    spread = float(np.std(previous))
    return drift, drift / spread if spread > 0 else np.nan


def mean_change(change: Array, rounding: float) -> float:
    """Return the mean absolute value of changes (n, c), of which those up to ``rounding`` count as none.

    A matrix product of another shape may differ in the last bits.
    """
    size = np.abs(change)
    return float(np.mean(np.where(size > rounding, size, 0)))


def pack_answers(hits: Sequence[NDArray[np.bool_]]) -> str:
    """Return which test samples were classified correctly after each session as text.

    Parameters
    ----------
    hits : of each session (n_t,), the test samples of all classes seen, in class order and in file order inside a
        class, so that each session's continue those of the session before

    Returns
    -------
    Base64 of compressed bits.  The bit of a sample of an old class says whether the answer changed, which few do.
    """
    changed = [now.copy() for now in hits]
    for t in range(1, len(hits)):
        changed[t][: len(hits[t - 1])] ^= hits[t - 1]
    bits = np.packbits(np.concatenate(changed)).tobytes()
    return base64.b64encode(zlib.compress(bits, 9)).decode("ascii")


def unpack_answers(
    text: str, counts: Ints, session_of_class: Ints, sessions: int
) -> list[NDArray[np.bool_]]:
    """Return the booleans of each of some sessions that :func:`pack_answers` wrote; the last may bring no class.

    Raises
    ------
    InputError
        When the text holds another number of answers.
    """
    arrived = np.bincount(session_of_class, weights=counts, minlength=sessions)
    sizes = np.cumsum(arrived.astype(np.int64))
    packed = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    if len(packed) != -(-sizes.sum() // 8):
        raise InputError(
            f"{len(packed)} bytes of answers, and {sizes.sum()} answers take {-(-sizes.sum() // 8)}."
        )
    bits = np.unpackbits(packed, count=int(sizes.sum())).astype(bool)
    hits = np.split(bits, np.cumsum(sizes)[:-1])
    for t in range(1, len(hits)):
        hits[t][: sizes[t - 1]] ^= hits[t - 1]
    return hits
