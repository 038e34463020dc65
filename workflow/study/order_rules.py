"""Settings of a suite that concern its class orders: their rules, their first session, and few shots after it."""

from collections.abc import Sequence

import numpy as np

from sparcl.base.randomness import generator
from sparcl.base.types import Ints

# The rules of class orders that look at features.
LOOKING = ("mild", "hard", "adjacent-least", "adjacent-most")


def first_classes(base: float, classes: int) -> int:
    """Return how many classes the first session has, given their number or their share; 0 for one like the others."""
    return int(base if isinstance(base, int) else base * classes)


def few_after_first(labels: Ints, sessions: Sequence[Ints], shots: int, number: int) -> list[int]:
    """Return the session (n,) of each training row with labels (n,), -1 for a row that is not used.

    The first session has all rows of its classes, later ones the first ``shots`` rows of each class in an order
    that is drawn for the class and the ``number`` of the class order, or all where there are fewer.
    """
    session = np.full(len(labels), -1)
    for t, classes in enumerate(sessions):
        for label in classes:
            rows = np.flatnonzero(labels == label)
            drawn = generator("shots", number, int(label)).permutation(rows)
            session[drawn[:shots] if t else rows] = t
    found: list[int] = session.tolist()
    return found
