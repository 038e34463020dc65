"""Random Fourier features of a Gaussian kernel, and two rules for the kernel's width."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from sparcl.base.randomness import generator

Array = NDArray[np.floating]

ROWS = 500  # base samples that the median distance is taken over


@dataclass(frozen=True)
class FourierMap:
    """``h(f) = sqrt(2 / M) cos(f W + b)``, so that E[h(f) . h(g)] = exp(-gamma |f - g|^2).

    W (d, M) has normal entries of variance 2 gamma, b (M,) is uniform on [0, 2 pi) (Rahimi and
    Recht, NeurIPS 2007).
    """

    d: int
    width: int
    gamma: float
    seed: int

    @cached_property
    def weights(self) -> Array:
        """W (d, M)."""
        rng = generator("fourier", self.d, self.width, self.seed)
        return np.sqrt(2 * self.gamma) * rng.standard_normal((self.d, self.width))

    @cached_property
    def phases(self) -> Array:
        """Phases b (M,)."""
        return generator("fourier-phases", self.width, self.seed).uniform(0, 2 * np.pi, self.width)

    def __call__(self, Phi: Array) -> Array:
        """Map Phi (n, d) to (n, M): 2 n d M flops."""
        H = Phi @ self.weights
        H += self.phases
        np.cos(H, out=H)
        H *= np.sqrt(2 / self.width)
        return H


def median_gamma(Phi: Array) -> float:
    """Return ``1 / (2 m^2)``, m the median distance of rows of Phi (n, d); 1/2 where m is 0."""
    distances = pdist(Phi[:: max(len(Phi) // ROWS, 1)])
    median = float(np.median(distances)) if len(distances) else 0.0
    return 0.5 / median**2 if median > 0 else 0.5


def variance_gamma(Phi: Array) -> float:
    """Return ``1 / (d v)``, v the variance of all entries of Phi (n, d); 1 / d where v is 0."""
    variance = float(np.var(Phi))
    return 1 / (Phi.shape[1] * (variance if variance > 0 else 1.0))
