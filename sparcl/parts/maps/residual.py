"""The feature beside a frozen nonlinear map of its residual."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sparcl.algebra.backend import like, of
from sparcl.algebra.partition import Spectrum
from sparcl.algebra.sums import Gram
from sparcl.base.checks import check_choice, check_fraction, check_int
from sparcl.base.randomness import generator
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.maps.map import Map, activate, keep_top, median_distance, relu, sparse_weights

KINDS = ("relu", "topk", "rbf")
NONZEROS = 300  # of a column of the sparse projection (Fly-CL, 2025, scripts)
LEVEL = 0.3  # share of outputs that top-k keeps (Fly-CL, 2025, scripts)


@dataclass(eq=False)
class ResidualMap(Map):
    """``x(f) = [f ; g(u) / sqrt(M)]`` with u the unit-normed residual ``f - U U^T f``.

    The basis U (d, k) holds ``tau_map`` of the base session's energy and stays: statistics in mapped
    coordinates cannot be rebuilt without the samples.  The division keeps the energy of the map
    about half of that of a unit-norm feature, whatever M.

    Parameters
    ----------
    width : M
    expansion : g, with W (d, M) drawn once

        relu : ``max(u W, 0)``, W standard normal
        topk : the LEVEL largest of ``u W`` kept, the rest 0; columns of W with NONZEROS normal
            entries (Fly-CL inside the residual, which the paper leaves open)
        rbf : ``cos(u W / bandwidth + b)``, random Fourier features of a Gaussian kernel;
            ``bandwidth`` is the median distance of base residuals, b uniform on [0, 2 pi)

    tau_map : share of the energy in [0, 1) that the map leaves out; 0 maps all of the feature
    seed : of W and b
    """

    width: int
    expansion: str = "relu"
    tau_map: float = 0.5
    seed: int = 0
    keeps_features: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {"basis": ("d", None), "bandwidth": float}

    def __post_init__(self) -> None:
        check_int("width", self.width, least=1)
        check_int("seed", self.seed, least=0)
        check_choice("expansion", self.expansion, KINDS)
        if self.tau_map != 0:
            check_fraction("tau_map", self.tau_map)
        self.basis: Array = np.zeros((0, 0))
        self.bandwidth = 1.0

    @property
    def whole_session(self) -> str:  # type: ignore[override]
        """Why the first session must come whole; a random layer on all of the feature measures nothing."""
        if self.expansion == "rbf" or self.tau_map:
            return "its map needs the first session whole (relu or topk with tau_map = 0 does not)"
        return ""

    def begin(self, Phi: Array) -> None:
        """Choose the basis, and the bandwidth of ``rbf``, from Phi (n, d): n d^2 + O(d^3) flops."""
        base = Gram(Phi.shape[1], Phi.dtype)
        base.add(Phi)
        left_out = {"tau": self.tau_map} if self.tau_map else {"k": 0}
        self.basis = Spectrum(base).split(**left_out).U_core
        if self.expansion == "rbf":
            self.bandwidth = median_distance(self.residual(Phi)) or 1.0

    @property
    def output(self) -> int:
        """Features and outputs of the map, d + M."""
        return int(self.basis.shape[0]) + self.width

    @cached_property
    def weights(self) -> Array:
        """W (d, M)."""
        d = int(self.basis.shape[0])
        rng = generator(f"residual-{self.expansion}", d, self.width, self.seed)
        if self.expansion == "topk":
            return sparse_weights(rng, d, self.width, NONZEROS)
        return rng.standard_normal((d, self.width))

    @cached_property
    def phases(self) -> Array:
        """Phases b (M,) of the random Fourier features."""
        return generator("residual-phases", self.width, self.seed).uniform(0, 2 * np.pi, self.width)

    def residual(self, Phi: Array) -> Array:
        """Return the unit-normed residuals (n, d) of Phi; a vanishing residual gives zeros."""
        xp, self.basis = of(Phi).xp, like(self.basis, Phi)
        residual = Phi - (Phi @ self.basis) @ self.basis.T
        norm = xp.linalg.vector_norm(residual, axis=1, keepdims=True)
        # What rounding leaves of a feature that lies in the core has no direction of its own.
        scale = xp.linalg.vector_norm(Phi, axis=1, keepdims=True)
        vanished = norm <= 16 * float(xp.finfo(Phi.dtype).eps) * scale
        residual /= xp.where(vanished, xp.inf, norm)
        return residual

    def __call__(self, Phi: Array) -> Array:
        """Map Phi (n, d) to (n, d + M): 2 n d (M + 2 k) flops."""
        (n, d), xp = Phi.shape, of(Phi).xp
        self.weights = like(self.weights, Phi)
        out = xp.empty((n, d + self.width), dtype=Phi.dtype, device=Phi.device)
        out[:, :d] = Phi
        H = out[:, d:]
        xp.matmul(self.residual(Phi), self.weights, out=H)
        if self.expansion == "relu":
            activate(H, relu)
        elif self.expansion == "topk":
            activate(H, lambda rows: keep_top(rows, LEVEL))
        else:
            self.phases = like(self.phases, Phi)
            H /= self.bandwidth
            H += self.phases
            activate(H, xp.cos)
        H /= float(np.sqrt(self.width))
        return out
