"""Gaussian kernels over centres from the first session."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparcl.algebra.backend import of
from sparcl.base.checks import check_choice, check_int, check_positive
from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.maps.map import Map, activate, median_distance

MEDIAN = "median"


@dataclass(eq=False)
class KernelMap(Map):
    """``h_j(f) = exp(-||f - c_j||^2 / (2 sigma^2))`` over centres c_j (GKEAL, CVPR 2023): O(n M d).

    Parameters
    ----------
    width : M, wanted number of centres
    seed : of their choice
    centres : ``data``, min(M, n) random rows of the first session; ``official``, M of them where
        there are as many, and beyond n random combinations of all rows, each coefficient row divided
        by the *column* sum over the new centres as the public code does (near 0 it explodes)
    sigma : bandwidth, or ``median``, ``kappa`` times the median distance between samples of the first
        session
    """

    width: int
    seed: int = 0
    centres: str = "data"
    sigma: float | str = MEDIAN
    kappa: float = 1.0
    whole_session: ClassVar[str] = "its centres are drawn from the first session"
    keeps_samples: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {"points": (None, "d"), "bandwidth": None}

    def __post_init__(self) -> None:
        check_int("width", self.width, least=1)
        check_int("seed", self.seed, least=0)
        check_choice("centres", self.centres, ("data", "official"))
        if self.sigma != MEDIAN:
            check_positive("sigma", self.sigma)
        check_positive("kappa", self.kappa)
        self.points: Array = np.zeros((0, 0))
        self.bandwidth = 0.0

    def begin(self, Phi: Array) -> None:
        """Choose the centres among the rows of Phi (n, d), and the bandwidth."""
        rng = generator("kernel-centres", self.width, self.seed)
        Phi = np.asarray(Phi, dtype=np.float64)
        points = Phi[rng.permutation(len(Phi))[: self.width]]
        extra = self.width - len(points)
        if self.centres == "official" and extra > 0:
            coefficients = rng.standard_normal((extra, len(Phi)))
            points = np.concatenate([points, (coefficients / coefficients.sum(axis=0)) @ Phi])
        bandwidth = self.sigma
        if isinstance(bandwidth, str):
            bandwidth = self.kappa * median_distance(Phi) if len(Phi) > 1 else 1.0
            if bandwidth == 0:
                raise InputError(
                    "sigma = 'median': most features of the first session are equal, so the median "
                    "distance is 0; give sigma as a number."
                )
        self.points, self.bandwidth = points, float(bandwidth)

    @property
    def output(self) -> int:
        """Centres that there are."""
        return int(self.points.shape[0])

    def __call__(self, Phi: Array) -> Array:
        """Map Phi (n, d) to (n, M): O(n M d), in float64 inside."""
        on = of(Phi)
        self.points = on.array(self.points)
        H = on.squared_distances(on.array(Phi, self.points.dtype), self.points)
        H /= -2 * self.bandwidth**2
        activate(H, on.xp.exp)
        return on.array(H, Phi.dtype)
