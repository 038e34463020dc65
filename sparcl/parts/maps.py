"""Frozen maps of the full feature, held as data: what is drawn, activation, width.

Every closed-form peer is a joint ridge on h = phi(f) with phi fixed before or in the first session.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

from sparcl.algebra.linalg import product
from sparcl.base.checks import check_choice, check_fraction, check_int, check_positive
from sparcl.base.errors import InputError
from sparcl.base.randomness import generator

Array = NDArray[np.floating]

DRAWS = ("gaussian", "uniform", "sparse")
ACTIVATIONS = ("linear", "relu", "sigmoid", "topk")
BANDWIDTH_ROWS = 500  # base samples that the median distance is taken over
CACHED_ROWS = 64  # rows that the activation is applied to at a time, so that they stay in the cache


@dataclass(frozen=True)
class RandomMap:
    """``h(f) = g(f W)`` with W (d, M) drawn once.

    draw : entries of W

        gaussian : N(0, 1) (RanPAC, NeurIPS 2023; LoRanPAC)
        uniform : U(-1/sqrt d, 1/sqrt d), a linear layer's default start (ACIL, GACL, DS-AL, F-OAL)
        sparse : ``nonzeros`` entries N(0, 1) in each column, the rest 0 (Fly-CL, 2025)

    activation : g

        linear, relu, sigmoid : of each output
        topk : the floor(``level`` M) largest signed outputs of a sample kept, the rest 0 (Fly-CL)
    """

    d: int
    width: int
    seed: int
    draw: str = "gaussian"
    activation: str = "relu"
    nonzeros: int = 300
    level: float = 0.3
    dtype: str = "float64"

    def __post_init__(self) -> None:
        check_int("width", self.width, least=1)
        check_int("seed", self.seed, least=0)
        check_int("nonzeros", self.nonzeros, least=1)
        check_choice("draw", self.draw, DRAWS)
        check_choice("activation", self.activation, ACTIVATIONS)
        if self.level != 1:
            check_fraction("level", self.level)

    @cached_property
    def weights(self) -> Array:
        """W (d, M)."""
        # the Gaussian stream's name is older than the other draws, and drawn numbers hang on it
        name = "gaussian-relu" if self.draw == "gaussian" else self.draw
        rng = generator(name, self.d, self.width, self.seed)
        if self.draw == "gaussian":
            W = rng.standard_normal((self.d, self.width))
        elif self.draw == "uniform":
            bound = 1 / np.sqrt(self.d)
            W = rng.uniform(-bound, bound, (self.d, self.width))
        else:
            W = np.zeros((self.d, self.width))
            nonzeros = min(self.nonzeros, self.d)
            for column in W.T:
                column[rng.choice(self.d, nonzeros, replace=False)] = rng.standard_normal(nonzeros)
        return W.astype(self.dtype, copy=False)

    def __call__(self, Phi: Array) -> Array:
        """Map Phi (n, d) to (n, M): 2 n d M flops."""
        H = product(np.asarray(Phi, dtype=self.dtype), self.weights)
        for start in range(0, len(H), CACHED_ROWS):
            self._activate(H[start : start + CACHED_ROWS])
        return H

    def _activate(self, H: Array) -> None:
        """Apply g to rows of f W in place."""
        if self.activation == "relu":
            np.maximum(H, 0, out=H)
        elif self.activation == "sigmoid":
            # 1 / (1 + exp(-z)) = (1 + tanh(z / 2)) / 2, which overflows nowhere
            H *= 0.5
            np.tanh(H, out=H)
            H += 1
            H *= 0.5
        elif self.activation == "topk":
            dropped = self.width - max(int(self.width * self.level), 1)
            if dropped > 0:
                H *= H >= np.partition(H, dropped, axis=1)[:, [dropped]]


@dataclass(frozen=True)
class KernelMap:
    """``h_j(f) = exp(-||f - c_j||^2 / (2 sigma^2))`` over centres c_j (M, d) (GKEAL, CVPR 2023)."""

    centres: Array
    sigma: float
    dtype: str = "float64"

    def __call__(self, Phi: Array) -> Array:
        """Map Phi (n, d) to (n, M): O(n M d)."""
        Phi = np.asarray(Phi, dtype=np.float64)
        H = cdist(Phi, self.centres, "sqeuclidean")
        H /= -2 * self.sigma**2
        return np.exp(H, out=H).astype(self.dtype, copy=False)


def kernel_map(
    Phi: Array, width: int, seed: int, *, centres: str, sigma: float | str, dtype: str = "float64"
) -> KernelMap:
    """Return the map whose centres come from the base session's features Phi (n, d).

    Parameters
    ----------
    width : M, wanted number of centres
    centres : ``data``, min(M, n) random rows; ``official``, M of them when there are as many, and
        beyond n random combinations of all rows, each coefficient row divided by the *column* sum
        over the new centres as the public code does (near 0 it explodes)
    sigma : bandwidth, or ``median`` of the distances between base samples

    Raises
    ------
    InputError
        For an unknown kind of centre or a bandwidth that is neither a positive number nor median.
    """
    check_choice("centres", centres, ("data", "official"))
    check_int("width", width, least=1)
    rng = generator("kernel-centres", width, seed)
    Phi = np.asarray(Phi, dtype=np.float64)
    rows = Phi[rng.permutation(len(Phi))[:width]]
    extra = width - len(rows)
    if centres == "official" and extra > 0:
        coefficients = rng.standard_normal((extra, len(Phi)))
        rows = np.concatenate([rows, (coefficients / coefficients.sum(axis=0)) @ Phi])
    if isinstance(sigma, str):
        check_choice("sigma", sigma, ("median",))
        distances = pdist(Phi[:: max(len(Phi) // BANDWIDTH_ROWS, 1)])
        sigma = float(np.median(distances)) if len(distances) else 1.0
        if sigma == 0:
            raise InputError(
                "sigma = 'median': most base features are equal, so the median distance is 0; give "
                "sigma as a number."
            )
    return KernelMap(rows, check_positive("sigma", sigma), dtype)
