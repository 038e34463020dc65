"""What every frozen map offers, and what several of them share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparcl.algebra.backend import of
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
    kept: ClassVar[dict[str, Shape | None]] = {"d": None}

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
    from scipy.spatial.distance import pdist  # loads half of scipy.spatial, for kernels alone

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
