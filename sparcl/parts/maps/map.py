"""Frozen maps of the feature: what each offers, none at all, and a random layer."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sparcl.algebra.backend import like, of, product
from sparcl.base.checks import check_choice, check_fraction, check_int, check_memory
from sparcl.base.randomness import generator
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array

BANDWIDTH_ROWS = 500  # base samples that the median distance is taken over


class Map(Stateful):
    """A map of features, fixed before or in the first session and frozen from then on.

    Attributes
    ----------
    whole_session : why :meth:`begin` must see the first session whole; empty if it need not
    keeps_samples : whether the map itself holds samples
    keeps_features : whether the first d coordinates are the features themselves; a core lives in those
    """

    whole_session: ClassVar[str] = ""
    keeps_features: ClassVar[bool] = False
    keeps_samples: ClassVar[bool] = False

    def begin(self, Phi: Array) -> None:
        """Take what the map needs from the first session's features Phi (n, d)."""

    @property
    def output(self) -> int:
        """Mapped coordinates D; known after :meth:`begin`."""
        raise AttributeError("a map has no width before its first session")

    def __call__(self, Phi: Array) -> Array:
        """Map Phi (n, d) to (n, D), in the precision of Phi."""
        raise TypeError(f"{type(self).__name__} maps nothing")

    def report(self) -> dict[str, float]:
        """Return what the map took from the first session."""
        return {}


@dataclass(eq=False)
class Features(Map):
    """No map: the features themselves."""

    keeps_features: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {"d": int}

    def __post_init__(self) -> None:
        self.d = 0

    def begin(self, Phi: Array) -> None:
        """Take the number of features."""
        self.d = Phi.shape[1]

    @property
    def output(self) -> int:
        """Features d."""
        return self.d

    def __call__(self, Phi: Array) -> Array:
        """Return Phi (n, d) itself."""
        return Phi


def median_distance(Phi: Array) -> float:
    """Return the median distance between rows of Phi (n, d), of at most 2 BANDWIDTH_ROWS; 0 for one row."""
    from scipy.spatial.distance import pdist  # a fifth of a job's start, which few need

    distances = pdist(Phi[:: max(len(Phi) // BANDWIDTH_ROWS, 1)])
    return float(np.median(distances)) if len(distances) else 0.0


def sparse_weights(rng: np.random.Generator, d: int, width: int, nonzeros: int) -> Array:
    """Return W (d, width) with ``min(nonzeros, d)`` standard normal entries in each column."""
    W = np.zeros((d, width))
    nonzeros = min(nonzeros, d)
    for column in W.T:
        column[rng.choice(d, nonzeros, replace=False)] = rng.standard_normal(nonzeros)
    return W


def activate(H: Array, function: Callable[[Array], Array]) -> None:
    """Replace each row of H (n, M) by the function of it, some rows at a time so that they stay in a cache."""
    step = of(H).cached_rows
    for start in range(0, H.shape[0], step):
        rows = slice(start, min(start + step, H.shape[0]))
        H[rows, :] = function(H[rows, :])


def relu(H: Array) -> Array:
    """Return H (n, M) with 0 in place of what is below."""
    return of(H).xp.maximum(H, 0)


def sigmoid(H: Array) -> Array:
    """Return ``1 / (1 + exp(-z))`` of H (n, M), as ``(1 + tanh(z / 2)) / 2``, which cannot overflow."""
    return (of(H).xp.tanh(H * 0.5) + 1) * 0.5


def gelu(H: Array) -> Array:
    """Return H (n, M) times the normal distribution function of itself: ``z Phi(z)``, with erf."""
    return H * of(H).normal_cdf(H)


def keep_top(H: Array, level: float) -> Array:
    """Return H with the ``floor(level M)`` largest signed outputs of each row, one at least; the rest 0."""
    on, dropped = of(H), H.shape[1] - max(int(H.shape[1] * level), 1)
    if dropped <= 0:
        return H
    return H * on.xp.astype(on.order_statistic(H, dropped) <= H, H.dtype)


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
    kept: ClassVar[dict[str, Shape | None]] = {"d": int}

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
