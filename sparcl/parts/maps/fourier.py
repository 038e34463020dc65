"""Random Fourier features of a Gaussian kernel, and two rules for the kernel's width."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sparcl.algebra.backend import of
from sparcl.algebra.sums import check_lengths, squared_lengths
from sparcl.base.checks import check_choice, check_int, check_memory, check_positive
from sparcl.base.randomness import generator
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.maps.map import Map, activate, median_distance

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
    kept: ClassVar[dict[str, Shape | None]] = {"d": None, "used_gamma": None}
    whole_session: ClassVar[str] = "its kernel's width is measured on the first session"

    def __post_init__(self) -> None:
        check_int("width", self.width, least=1)
        check_int("seed", self.seed, least=0)
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, RULES)
        else:
            check_positive("gamma", self.gamma)
        check_positive("kappa", self.kappa)
        self.d, self.used_gamma = 0, 0.0

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
