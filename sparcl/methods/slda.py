"""Streaming linear discriminant analysis: class means and one shared covariance.

score_c(f) = f^T L mu_c - mu_c^T L mu_c / 2,    L = ((1 - e) Sigma + e I)^-1
Source: Deep SLDA (Hayes and Kanan, CVPR workshops 2020); code read: ``methods/SLDA.py`` of
CHEN-YIZHU/GACL, commit fc21369.  Official: e = 1e-4 for every data set, features as they are.

What differs.  The official Sigma starts from the OAS estimate of the first data and then either
stays or is updated sample by sample; those updates weigh by the total count in place of the
class's, and take a class's first sample about zero, so that Sigma depends on the order.  Here
``streamed`` is the exact scatter inside the classes over n, from sums, whatever the batches;
``frozen`` is the OAS estimate of the first session for ever, as in the code.  L is a Cholesky
solve in place of a pseudo-inverse: the two are one, since e > 0.  e means another share of Sigma
on unit-norm features than on raw ones; ``ridge_relative`` is a share of the mean squared distance of a
sample to its class mean, which does not.
"""

from collections.abc import Sequence

from sparcl.base.checks import check_fraction
from sparcl.learners.composed import Composed
from sparcl.parts.heads import RidgedScatter, ShrunkCovariance
from sparcl.parts.rules import NARROW, Given, HoldOut, Value, named


def build(
    *,
    shrinkage: float = 1e-4,
    covariance: str = "streamed",
    ridge_relative: Value | None = None,
    grid: Sequence[float] = NARROW,
    validation_share: float = 0.2,
    seed: int = 0,
) -> Composed:
    """Build the learner: n d^2 + d^3 / 3 flops a session of n samples.

    Parameters
    ----------
    shrinkage : e in (0, 1); official 1e-4
    covariance : ``streamed`` over all sessions, or ``frozen`` after the first
    ridge_relative : share of tr S / n added to the scatter S, in place of ``shrinkage`` and of a frozen
        covariance; a number, or ``gaussian``, which chooses it from ``grid`` in each session
    validation_share, seed : of each class's rows of a session, which that rule holds out
    """
    if ridge_relative is not None:
        rule = named(ridge_relative, grid, HoldOut(validation_share, True, seed))
        return Composed(head=RidgedScatter("sample"), rule=rule)
    e = check_fraction(
        "shrinkage", shrinkage, "It is the weight of the identity beside the covariance."
    )
    return Composed(head=ShrunkCovariance(covariance), rule=Given((e,)))
