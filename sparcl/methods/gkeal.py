"""GKEAL: ridge on Gaussian kernels, h_j(f) = exp(-||f - c_j||^2 / (2 sigma^2)).

The centres c_j are samples of the first session, kept for good: the method keeps samples.
Source: GKEAL (CVPR 2023) as in Analytic-continual-learning, commit 0afd6bf; its repeated augmented
samples of the few-shot setting are not there.

Official: ridge 0.1, sigma 10, M = 8,192, float64, features as they are.  On unit-norm features a
sigma of 10 puts all kernels into [0.98, 1], so that the median distance is the default here.  With
M above the first session's n the public code makes up centres with unbounded coefficients
(``centres = "official"``); the default stops at n.
"""

from collections.abc import Sequence

from sparcl.learners.composed import Composed
from sparcl.parts.heads import Ridge
from sparcl.parts.maps import KernelMap
from sparcl.parts.rules import WIDE, HoldOut, Value, named


def build(
    *,
    ridge: Value = 0.1,
    grid: Sequence[float] = WIDE,
    relative: bool = False,
    validation_share: float = 0.2,
    width: int = 8192,
    sigma: float | str = "median",
    kappa: float = 1.0,
    centres: str = "data",
    seed: int = 0,
    dtype: str = "float64",
) -> Composed:
    """Build the learner.

    Parameters
    ----------
    ridge : lambda, several, or a rule (:func:`sparcl.parts.rules.named`) that chooses from ``grid``
    relative : whether ridges are shares of the mean squared norm of a mapped row of the first session
    validation_share : of a session's rows that a rule holds out
    width : M, number of centres
    sigma : bandwidth (official 10), or ``median``, ``kappa`` times the median distance between samples
    centres : ``data`` or ``official``, see :class:`sparcl.parts.maps.KernelMap`
    seed : of the centres and of hold-outs
    dtype : float64 (official) or float32
    """
    return Composed(
        map=KernelMap(width, seed, centres, sigma, kappa),
        head=Ridge(),
        rule=named(ridge, grid, HoldOut(validation_share, seed=seed), relative),
        dtype=dtype,
    )
