"""Kernel LDA: linear discriminant analysis on random Fourier features.

h(f) = sqrt(2 / M) cos(f Omega + b), Omega ~ N(0, 2 sigma), b ~ U(0, 2 pi)
score_c(f) = -(mu_c - h)^T S^+ (mu_c - h) + h^T S^+ h,    S = sum of (h - mu_y)(h - mu_y)^T
Source: KLDA (AAAI 2025), its class ``KLDA`` as read in public copies; the term that all classes
share is left out here, which moves no prediction and makes the score linear in h.  M = 5,000 in
its scripts; sigma is tuned there for each backbone, on raw features, and no rule for it is given, so that
the median rule is this project's.

What differs.  The official code centres a batch on the class's *running* mean, which is exact
only if a class arrives in one batch; here S is exact whatever the batches.  It inverts with a
pseudo-inverse.  With n - c < M samples S is singular, and the two ways part: a pseudo-inverse
ignores the directions in which no class has any spread, while a ridge, S + ridge tr(S) / M I,
looks at them first (distances there count 1 / ridge times as much as average ones), as null-space
LDA does.  ``ridge = 0`` is the pseudo-inverse, an eigendecomposition of 9 M^3 flops; the default
is a ridge of 1e-4 and a Cholesky factor of M^3 / 3.  Where S is regular both tend to one solution.
An absolute value is another share of S at
every scale, width and number of samples.  ``ridge_relative`` is a share of tr S / n, the mean squared distance
of a sample to its class mean, which needs no other value for another M, n or scale: 1 is a rule
without a choice.  ``klda-e`` averages the posteriors of several.
"""

from collections.abc import Sequence

from sparcl.base.checks import check_positive
from sparcl.learners.composed import Composed
from sparcl.parts.heads import RidgedScatter
from sparcl.parts.maps import FourierMap
from sparcl.parts.rules import NARROW, Given, HoldOut, Value, named


def build(
    *,
    width: int = 5000,
    sigma: float | str = "median",
    kappa: float = 1.0,
    ridge: float = 1e-4,
    ridge_relative: Value | None = None,
    grid: Sequence[float] = NARROW,
    validation_share: float = 0.2,
    seed: int = 0,
) -> Composed:
    """Build the learner: n M^2 + M^3 / 3 flops a session of n samples, or 9 M^3 with the pseudo-inverse.

    Parameters
    ----------
    width : M, outputs of the map
    sigma : of the kernel exp(-sigma |f - g|^2); "median": 1 / (2 ``kappa``^2 m^2), m the median
        distance of samples of the first session
    ridge : share of tr S / M added to S; 0: the official pseudo-inverse
    ridge_relative : share of tr S / n, in place of ``ridge``; a number, or ``gaussian``, which chooses
        it from ``grid`` in each session
    validation_share : of each class's rows of a session, which that rule holds out
    seed : of the map, and of hold-outs
    """
    if sigma != "median":
        check_positive("sigma", sigma)
    layer = FourierMap(width, seed, sigma, kappa)
    if ridge_relative is not None:
        rule = named(ridge_relative, grid, HoldOut(validation_share, True, seed))
        return Composed(map=layer, head=RidgedScatter("sample"), rule=rule)
    value = 0.0 if ridge == 0 else check_positive("ridge", ridge)
    return Composed(map=layer, head=RidgedScatter(), rule=Given((value,)))
