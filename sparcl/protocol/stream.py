"""Class orders and sessions."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.base.types import Ints


def class_order(order: int, classes: int) -> NDArray[np.int64]:
    """Return the class order with number ``order``: ``RandomState(order).permutation(classes)``.

    The rule of PILOT, RevisitingCIL and RanPAC, whose order number is 1993.
    """
    return np.random.RandomState(order).permutation(classes).astype(np.int64)


def split_sessions(order: Ints, sessions: int | Sequence[int], base_classes: int = 0) -> list[Ints]:
    """Cut a class order (K,) into sessions of nearly equal size, larger ones first, or of given sizes.

    With ``base_classes`` > 0 the first session has that many classes and the other
    ``sessions - 1`` share the rest.

    Raises
    ------
    InputError
        When a session would be empty, or given sizes do not add up to K.
    """
    K = len(order)
    if not isinstance(sessions, int):
        if min(sessions, default=0) < 1 or sum(sessions) != K or base_classes:
            raise InputError(
                f"{K} classes cannot fill sessions of {', '.join(map(str, sessions))}, which hold {sum(sessions)}: "
                "correct `sessions` of the suite (a size is 1 or more, the first is that of the base classes)."
            )
        return np.split(order, np.cumsum(sessions)[:-1])
    rest = sessions - 1 if base_classes else sessions
    left = K - base_classes
    if sessions < 1 or base_classes < 0 or left < rest or (left and not rest):
        raise InputError(
            f"{K} classes cannot fill {sessions} sessions"
            + (f" with {base_classes} classes in the first" if base_classes else "")
            + ": lower `sessions` or `base_classes` of the suite, so that each session has a class."
        )
    first = [order[:base_classes]] if base_classes else []
    return first + (np.array_split(order[base_classes:], rest) if rest else [])


def order_hash(sessions: list[list[int]]) -> str:
    """Return the sha256 of the classes of each session, which records of runs quote."""
    return hashlib.sha256(repr(sessions).encode()).hexdigest()


def rows_of(labels: Ints, classes: Ints) -> NDArray[np.intp]:
    """Return the rows, ascending, whose label is among ``classes``."""
    return np.flatnonzero(np.isin(labels, classes))
