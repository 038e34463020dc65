"""Joint ridge on the features: W = (R + ridge I)^-1 C.

Source: paper eq. 2, "ACIL-style" statistics.  The same solution as ACIL's recursion (NeurIPS
2022) without its random buffer, whatever the batches, sessions and class order.
"""

from collections.abc import Sequence

from sparcl.learners.composed import Composed
from sparcl.parts.core import Core
from sparcl.parts.rules import HoldOut, named


def build(
    *, ridge: float | Sequence[float] = 1.0, relative: bool = False, dtype: str = "float64"
) -> Composed:
    """Build the learner.

    Parameters
    ----------
    ridge : lambda (the paper's is 1), or several that are fitted at once
    relative : whether these are shares of the mean squared norm of a row of the first session
    dtype : float64 or float32
    """
    return Composed(core=Core(k=0), rule=named(ridge, (), HoldOut(), relative), dtype=dtype)
