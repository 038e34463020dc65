"""GKEAL: ridge on Gaussian kernels, h_j(f) = exp(-||f - c_j||^2 / (2 sigma^2)).

The centres c_j are samples of the first session, kept for good: the method keeps samples.
Source: GKEAL (CVPR 2023) as in Analytic-continual-learning, commit 0afd6bf; its repeated augmented
samples of the few-shot setting are not there.

Official: ridge 0.1, sigma 10, M = 8,192, float64, features as they are.  On unit-norm features a
sigma of 10 puts all kernels into [0.98, 1], so that the median distance is the default here.  With
M above the first session's n the public code makes up centres with unbounded coefficients
(``centres = "official"``); the default stops at n.
"""

from typing import ClassVar

from sparcl.learners.mapped import MappedRidge, Settings


class KernelRidge(MappedRidge):
    """Ridge on kernels whose centres are samples."""

    keeps_samples: ClassVar[bool] = True


def build(
    *,
    ridge: float | str = 0.1,
    width: int = 8192,
    sigma: float | str = "median",
    centres: str = "data",
    seed: int = 0,
    dtype: str = "float64",
) -> KernelRidge:
    """Build the learner.

    Parameters
    ----------
    ridge : lambda, or a rule of :class:`sparcl.learners.mapped.Settings`
    width : M, number of centres
    sigma : bandwidth (official 10), or ``median``
    centres : ``data`` or ``official``, see :func:`sparcl.parts.maps.kernel_map`
    seed : of the centres and of hold-outs
    dtype : float64 (official) or float32
    """
    return KernelRidge(
        Settings(ridge, width, "kernel", sigma=sigma, centres=centres, seed=seed, dtype=dtype)
    )
