"""A random layer on the whole feature: what is drawn, activation, width."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sparcl.algebra.backend import like
from sparcl.algebra.linalg import product
from sparcl.base.checks import check_choice, check_fraction, check_int, check_memory
from sparcl.base.randomness import generator
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.maps.map import Map, activate, gelu, keep_top, relu, sigmoid, sparse_weights

DRAWS = ("gaussian", "uniform", "sparse")
ACTIVATIONS = ("linear", "relu", "gelu", "sigmoid", "topk")


@dataclass(eq=False)
class RandomMap(Map):
    """``h(f) = g(f W)`` with W (d, M) drawn once from ``seed``: 2 n d M flops.

    Parameters
    ----------
    width : M
    seed : of W
    draw : entries of W

        gaussian : N(0, 1) (RanPAC, NeurIPS 2023; LoRanPAC)
        uniform : U(-1/sqrt d, 1/sqrt d), a linear layer's default start (ACIL, GACL, DS-AL, F-OAL)
        sparse : ``nonzeros`` entries N(0, 1) in each column, the rest 0 (Fly-CL, 2025)

    activation : g

        linear, relu, gelu, sigmoid : of each output
        topk : the floor(``level`` M) largest signed outputs of a sample kept, the rest 0 (Fly-CL)
    """

    width: int
    seed: int = 0
    draw: str = "gaussian"
    activation: str = "relu"
    nonzeros: int = 300
    level: float = 0.3
    kept: ClassVar[dict[str, Shape | None]] = {"d": None}

    def __post_init__(self) -> None:
        check_int("width", self.width, least=1)
        check_int("seed", self.seed, least=0)
        check_int("nonzeros", self.nonzeros, least=1)
        check_choice("draw", self.draw, DRAWS)
        check_choice("activation", self.activation, ACTIVATIONS)
        if self.level != 1:
            check_fraction("level", self.level, "Level 1 keeps all outputs.")
        self.d = 0

    def begin(self, Phi: Array) -> None:
        """Take the number of features."""
        self.d = Phi.shape[1]
        check_memory("The map", (self.d, self.width), np.float64)

    @property
    def output(self) -> int:
        """M."""
        return self.width

    @cached_property
    def weights(self) -> Array:
        """W (d, M)."""
        # the Gaussian stream's name is older than the other draws, and drawn numbers hang on it
        name = "gaussian-relu" if self.draw == "gaussian" else self.draw
        rng = generator(name, self.d, self.width, self.seed)
        if self.draw == "gaussian":
            return rng.standard_normal((self.d, self.width))
        if self.draw == "uniform":
            bound = 1 / np.sqrt(self.d)
            return rng.uniform(-bound, bound, (self.d, self.width))
        return sparse_weights(rng, self.d, self.width, self.nonzeros)

    def __call__(self, Phi: Array) -> Array:
        """Map Phi (n, d) to (n, M): 2 n d M flops."""
        self.weights = like(self.weights, Phi)
        H = product(Phi, self.weights)
        if self.activation == "relu":
            activate(H, relu)
        elif self.activation == "gelu":
            activate(H, gelu)
        elif self.activation == "sigmoid":
            activate(H, sigmoid)
        elif self.activation == "topk":
            activate(H, lambda rows: keep_top(rows, self.level))
        return H
