"""Expansions of the residual: frozen nonlinear maps held as data, and random directions."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.spatial.distance import pdist

from sparcl.base.errors import InputError
from sparcl.base.randomness import generator

Array = NDArray[np.floating]

NONLINEAR = ("relu", "topk", "rbf")
NONZEROS = 300  # of a row of the sparse projection (Fly-CL, 2025, scripts)
LEVEL = 0.3  # share of outputs that top-k keeps (Fly-CL, 2025, scripts)
BANDWIDTH_ROWS = 500  # base samples that the median distance is taken over


@dataclass(frozen=True)
class ResidualMap:
    """``x(f) = [f ; g(u) / sqrt(M)]`` with u the unit-normed residual ``f - U U^T f``.

    The basis U (d, k) comes from the base session and stays: statistics in expanded coordinates
    cannot be rebuilt without the samples.  The division keeps the energy of the map about half of
    that of a unit-norm feature, whatever M.  ``kind`` chooses g, with W (d, M) drawn once:

    relu : ``max(u W, 0)``, W standard normal
    topk : the LEVEL largest of ``u W`` kept, the rest 0; columns of W with NONZEROS normal entries
        (Fly-CL inside the residual, which the paper leaves open)
    rbf : ``cos(u W / bandwidth + b)``, random Fourier features of a Gaussian kernel; ``bandwidth``
        is the median distance of base residuals, b uniform on [0, 2 pi)
    """

    kind: str
    basis: Array
    width: int
    seed: int
    bandwidth: float = 1.0

    @cached_property
    def weights(self) -> Array:
        """W (d, M)."""
        d = len(self.basis)
        rng = generator(f"residual-{self.kind}", d, self.width, self.seed)
        if self.kind != "topk":
            return rng.standard_normal((d, self.width))
        W = np.zeros((d, self.width))
        nonzeros = min(NONZEROS, d)
        for column in W.T:
            column[rng.choice(d, nonzeros, replace=False)] = rng.standard_normal(nonzeros)
        return W

    @cached_property
    def phases(self) -> Array:
        """Phases b (M,) of the random Fourier features."""
        return generator("residual-phases", self.width, self.seed).uniform(0, 2 * np.pi, self.width)

    def residual(self, Phi: Array) -> Array:
        """Return the unit-normed residuals (n, d) of Phi; a vanishing residual gives zeros."""
        residual = Phi - (Phi @ self.basis) @ self.basis.T
        norm = np.linalg.norm(residual, axis=1, keepdims=True)
        # What rounding leaves of a feature that lies in the core has no direction of its own.
        scale = np.linalg.norm(Phi, axis=1, keepdims=True)
        vanished = norm <= 16 * np.finfo(Phi.dtype).eps * scale
        residual /= np.where(vanished, np.inf, norm)
        return residual

    def __call__(self, Phi: Array) -> Array:
        """Map Phi (n, d) to (n, d + M): 2 n d (M + 2 k) flops."""
        n, d = Phi.shape
        out = np.empty((n, d + self.width), dtype=Phi.dtype)
        out[:, :d] = Phi
        H = out[:, d:]
        np.matmul(self.residual(Phi), self.weights.astype(Phi.dtype, copy=False), out=H)
        if self.kind == "relu":
            np.maximum(H, 0, out=H)
        elif self.kind == "topk":
            kept = max(int(LEVEL * self.width), 1)
            threshold = np.partition(H, self.width - kept, axis=1)[:, [self.width - kept]]
            H[threshold > H] = 0
        else:
            H /= self.bandwidth
            H += self.phases.astype(Phi.dtype, copy=False)
            np.cos(H, out=H)
        H /= np.sqrt(self.width)
        return out


def residual_map(kind: str, basis: Array, Phi: Array, width: int, seed: int) -> ResidualMap:
    """Return the map of ``kind`` over ``basis`` (d, k), with what it needs of base features Phi.

    Raises
    ------
    InputError
        For an unknown kind.
    """
    if kind not in NONLINEAR:
        raise InputError(f"expansion = {kind!r}: it is none, linear, {', '.join(NONLINEAR)}.")
    frozen = ResidualMap(kind, basis, width, seed)
    if kind != "rbf":
        return frozen
    distances = pdist(frozen.residual(Phi[:: max(len(Phi) // BANDWIDTH_ROWS, 1)]))
    median = float(np.median(distances)) if len(distances) else 1.0
    return ResidualMap(kind, basis, width, seed, median if median > 0 else 1.0)


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
