"""Frozen random maps, held as data: weights, activation, width."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from sparcl.errors import InputError
from sparcl.randomness import generator

Array = NDArray[np.floating]


@dataclass(frozen=True)
class GaussianRelu:
    """``h(f) = relu(f W)`` with W (d, M) standard normal (RanPAC, NeurIPS 2023)."""

    d: int
    width: int
    seed: int

    @cached_property
    def weights(self) -> Array:
        """W (d, M)."""
        return generator("gaussian-relu", self.d, self.width, self.seed).standard_normal(
            (self.d, self.width)
        )

    def __call__(self, Phi: Array) -> Array:
        """Map Phi (n, d) to (n, M): 2 n d M flops."""
        H = Phi @ self.weights
        return np.maximum(H, 0, out=H)


@dataclass(frozen=True)
class ResidualRelu:
    """``x(f) = [f ; relu(u W) / sqrt(M)]`` with u the unit-normed residual ``f - U U^T f``.

    The basis U (d, k) comes from the base session and stays: statistics in expanded coordinates
    cannot be rebuilt without the samples.  W (d, M) is standard normal; the division keeps the
    energy of the map at half of that of a unit-norm feature, whatever M.
    """

    basis: Array
    width: int
    seed: int

    @cached_property
    def weights(self) -> Array:
        """W (d, M)."""
        d = len(self.basis)
        return generator("residual-relu", d, self.width, self.seed).standard_normal((d, self.width))

    def __call__(self, Phi: Array) -> Array:
        """Map Phi (n, d) to (n, d + M): 2 n d (M + 2 k) flops; a zero residual maps to zeros."""
        n, d = Phi.shape
        out = np.empty((n, d + self.width), dtype=Phi.dtype)
        out[:, :d] = Phi
        residual = Phi - (Phi @ self.basis) @ self.basis.T
        norm = np.linalg.norm(residual, axis=1, keepdims=True)
        # What rounding leaves of a feature that lies in the core has no direction of its own.
        scale = np.linalg.norm(Phi, axis=1, keepdims=True)
        vanished = norm <= 16 * np.finfo(Phi.dtype).eps * scale
        residual /= np.where(vanished, np.inf, norm)
        np.matmul(residual, self.weights.astype(Phi.dtype, copy=False), out=out[:, d:])
        np.maximum(out[:, d:], 0, out=out[:, d:])
        out[:, d:] /= np.sqrt(self.width)
        return out


def residual_directions(U_core: Array, m: int, rng: np.random.Generator) -> Array:
    """Draw Q (d, m), orthonormal with ``U_core^T Q = 0`` (paper, "Orthonormal residual RP").

    Cost: 4 d m k + 4 d m^2 flops.

    Raises
    ------
    InputError
        When m exceeds the rank r = d - k of the residual.
    """
    d, k = U_core.shape
    if m > d - k:
        raise InputError(
            f"m = {m} orthonormal directions do not fit into a residual of rank {d - k} "
            f"(d = {d}, k = {k}): lower m, or lower tau so that the core is smaller."
        )
    G = rng.standard_normal((d, m))
    for _ in range(2):  # twice is enough for orthogonality to working precision
        G -= U_core @ (U_core.T @ G)
        G = qr(G, mode="economic", check_finite=False)[0]
    return G
