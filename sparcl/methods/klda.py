"""Kernel LDA: linear discriminant analysis on random Fourier features.

h(f) = sqrt(2 / M) cos(f Omega + b), Omega ~ N(0, 2 sigma), b ~ U(0, 2 pi)
score_c(f) = -(mu_c - h)^T S^+ (mu_c - h) + h^T S^+ h,    S = sum of (h - mu_y)(h - mu_y)^T
Source: KLDA (AAAI 2025), its class ``KLDA`` as read in public copies; the term that all classes
share is left out here, which moves no prediction and makes the score linear in h.  M and sigma
are arguments there, without a default; the paper's values were not verified, so M = 5,000 and the
median rule are this project's.

What differs.  The official code centres a batch on the class's *running* mean, which is exact
only if a class arrives in one batch; here S is exact whatever the batches.  It inverts with a
pseudo-inverse.  With n - c < M samples S is singular, and the two ways part: a pseudo-inverse
ignores the directions in which no class has any spread, while a ridge, S + ridge tr(S) / M I,
looks at them first (distances there count 1 / ridge times as much as average ones), as null-space
LDA does.  ``ridge = 0`` is the pseudo-inverse, an eigendecomposition of 9 M^3 flops; the default
is a ridge of 1e-4 and a Cholesky factor of M^3 / 3.  Where S is regular both tend to one solution.
The paper's ensemble over seeds is not built.
"""

from sparcl.base.checks import check_positive
from sparcl.learners.composed import Composed
from sparcl.parts.heads import RidgedScatter
from sparcl.parts.maps import FourierMap
from sparcl.parts.rules import Given


def build(
    *, width: int = 5000, sigma: float | str = "median", ridge: float = 1e-4, seed: int = 0
) -> Composed:
    """Build the learner: n M^2 + M^3 / 3 flops a session of n samples, or 9 M^3 with the pseudo-inverse.

    Parameters
    ----------
    width : M, outputs of the map
    sigma : of the kernel exp(-sigma |f - g|^2); "median": 1 / (2 m^2), m the median distance of
        samples of the first session
    ridge : share of the mean variance added to S; 0: the official pseudo-inverse
    seed : of the map
    """
    value = 0.0 if ridge == 0 else check_positive("ridge", ridge)
    if sigma != "median":
        check_positive("sigma", sigma)
    return Composed(map=FourierMap(width, seed, sigma), head=RidgedScatter(), rule=Given((value,)))
