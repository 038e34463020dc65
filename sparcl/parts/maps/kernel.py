"""Maps of a Gaussian kernel: over centres from the first session, and random Fourier features."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sparcl.algebra.backend import of
from sparcl.algebra.sums import check_lengths, squared_lengths
from sparcl.base.checks import check_choice, check_int, check_memory, check_positive
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
    kept: ClassVar[dict[str, Shape | None]] = {"points": (None, "d"), "bandwidth": float}

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


RULES = ("median", "variance")


@dataclass(eq=False)
class FourierMap(Map):
    """``h(f) = sqrt(2 / M) cos(f W + b)``, so that E[h(f) . h(g)] = exp(-gamma |f - g|^2).

    W (d, M) has normal entries of variance 2 gamma, b (M,) is uniform on [0, 2 pi) (Rahimi and
    Recht, NeurIPS 2007).

    Parameters
    ----------
    width : M
    seed : of W and b
    gamma : a number above 0; ``median``, 1 / (2 kappa^2 m^2) with m the median distance between samples of
        the first session (as if m were 1 where it is 0); ``variance``, 1 / (d v) with v the variance of all their
        entries (1 / d where v is 0), scikit-learn's "scale"
    kappa : bandwidth of ``median`` in median distances
    """

    width: int
    seed: int = 0
    gamma: float | str = "median"
    kappa: float = 1.0
    kept: ClassVar[dict[str, Shape | None]] = {"d": int, "used_gamma": float}

    def __post_init__(self) -> None:
        check_int("width", self.width, least=1)
        check_int("seed", self.seed, least=0)
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, RULES)
        else:
            check_positive("gamma", self.gamma)
        check_positive("kappa", self.kappa)
        self.d, self.used_gamma = 0, 0.0

    @property
    def whole_session(self) -> str:  # type: ignore[override]
        """Why the first session must come whole; with a number for gamma it need not."""
        measured = isinstance(self.gamma, str)
        return "its kernel's width is measured on the first session" if measured else ""

    def begin(self, Phi: Array) -> None:
        """Choose gamma from Phi (n, d); NumericalError where one row alone would decide on it."""
        self.d = Phi.shape[1]
        check_memory("The map", (self.d, self.width), np.float64)
        if self.gamma == "median":
            median = median_distance(Phi)
            self.used_gamma = 0.5 / (self.kappa * (median if median > 0 else 1.0)) ** 2
        elif self.gamma == "variance":
            check_lengths(squared_lengths(Phi), 0.0)  # one row must not be all the variance
            variance = float(np.var(Phi))
            self.used_gamma = 1 / (self.d * (variance if variance > 0 else 1.0))
        else:
            self.used_gamma = float(self.gamma)

    @property
    def output(self) -> int:
        """M."""
        return self.width

    @cached_property
    def weights(self) -> Array:
        """W (d, M)."""
        rng = generator("fourier", self.d, self.width, self.seed)
        return np.sqrt(2 * self.used_gamma) * rng.standard_normal((self.d, self.width))

    @cached_property
    def phases(self) -> Array:
        """Phases b (M,)."""
        return generator("fourier-phases", self.width, self.seed).uniform(0, 2 * np.pi, self.width)

    def __call__(self, Phi: Array) -> Array:
        """Map Phi (n, d) to (n, M): 2 n d M flops."""
        on = of(Phi)
        # in float64, whatever the precision of Phi
        self.weights, self.phases = on.array(self.weights), on.array(self.phases)
        H = on.array(Phi, self.weights.dtype) @ self.weights
        H += self.phases
        activate(H, on.xp.cos)
        H *= float(np.sqrt(2 / self.width))
        return on.array(H, Phi.dtype)

    def report(self) -> dict[str, float]:
        """Return gamma."""
        return {"gamma": self.used_gamma}
