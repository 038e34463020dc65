"""SPARCL+: the joint ridge and the linear discriminant of rooted features, from one factor a session.

Features that are never negative are rooted, rows have unit norm, and the score is the mean of the joint
ridge's and of linear discriminant analysis's, each in units of its own noise
(:class:`sparcl.parts.heads.RidgeDiscriminant`).  Both follow from the sums R, C and n at one ridge by one
Cholesky factor, so that a session costs what the joint ridge costs.  This project's own; docs/methods.md
shows the search on splits of training samples.  The composition of the first release is ``sparcl-plus-1``.
"""

from collections.abc import Sequence

from sparcl.learners.composed import Composed
from sparcl.parts.heads import RidgeDiscriminant
from sparcl.parts.rules import HoldOut, Value, named
from sparcl.parts.transforms import Rooted

RELATIVE = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # candidates, in mean squared norms of a row


def build(
    *,
    ridge: Value = 0.1,
    grid: Sequence[float] = RELATIVE,
    validation_share: float = 0.2,
    weight: float = 0.5,
    seed: int = 0,
    dtype: str = "float64",
) -> Composed:
    """Build the learner.

    Parameters
    ----------
    ridge : lambda in mean squared norms of a row, which is 1 here; several; or ``gaussian``, which chooses
        from ``grid`` by the accuracy that held-out sums predict (:func:`sparcl.parts.rules.named`)
    validation_share : of each class's rows in a session that this rule holds out
    weight : of the discriminant, in (0, 1); the rest is the joint ridge's
    seed : of hold-outs
    dtype : float64 or float32
    """
    return Composed(
        transform=Rooted(),
        head=RidgeDiscriminant(weight),
        rule=named(ridge, grid, HoldOut(validation_share, True, seed), relative=True),
        dtype=dtype,
    )
