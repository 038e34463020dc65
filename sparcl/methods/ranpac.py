"""RanPAC without adapter: h = relu(f W), W (d, M) standard normal; ridge chosen in each session.

W_t = (G + ridge_t I)^-1 C with G, C accumulated over all sessions and ridge_t the value of
{1e-8, ..., 1e8} with the smallest squared error on a random fifth of the newest session.
Source: RanPAC (NeurIPS 2023), phase 2, repository commit 012927f; the 17 solves are one
eigendecomposition here (``ridge.holdout``), with the same choice.  The original works in float32
and draws its map with a fixed seed; here both are parameters.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparcl import ridge
from sparcl.checks import precision, whole
from sparcl.errors import InputError
from sparcl.expansion import GaussianRelu
from sparcl.learner import Array, Learner
from sparcl.randomness import generator
from sparcl.statistics import Statistics

GRID = 10.0 ** np.arange(-8, 9)
FIT_SHARE = 0.8


class RanPac(Learner):
    """Per session n M^2 + M^3 / 3 flops and n_fit^2 M + 9 n_fit^3 for the choice of the ridge."""

    def __init__(self, width: int, seed: int, dtype: str) -> None:
        super().__init__()
        self.width = whole("width", width, least=1)
        self.seed = whole("seed", seed, least=0)
        self.dtype = precision(dtype)
        self.map: GaussianRelu | None = None
        self.statistics = Statistics(self.width, self.dtype)
        self.weights: Array = np.zeros((self.width, 0), dtype=self.dtype)
        self.ridge = np.nan
        self._rows: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None

    def expand(self, Phi: Array) -> Array:
        """Return h (n, M) of features Phi (n, d)."""
        return self.map(np.asarray(Phi, dtype=self.dtype)).astype(self.dtype, copy=False)

    def holdout_indices(self, n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows of the session fitted last (n samples) that fitted and that judged."""
        return self._split(n, self.session - 1)

    def report(self) -> dict[str, Any]:
        """Return the ridge chosen in the last session."""
        return {"ridge": self.ridge}

    def _split(self, n: int, session: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        shuffled = generator("holdout", self.seed, session).permutation(n)
        cut = int(FIT_SHARE * n)
        return shuffled[:cut], shuffled[cut:]

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        if len(Phi) < 2:
            raise InputError(
                "RanPAC judges its ridge on a fifth of the session and needs two samples at least, "
                "got one: join the session with another."
            )
        if self.map is None:
            self.map = GaussianRelu(Phi.shape[1], self.width, self.seed)
        H = self.expand(Phi)
        Y = (columns[:, None] == np.arange(classes)).astype(self.dtype)
        fit, val = self._split(len(H), self.session)
        self.ridge, _ = ridge.holdout(H[fit], Y[fit], H[val], Y[val], GRID)
        self.statistics.grow(classes)
        self.statistics.accumulate(H, columns)
        with self.statistics.gram.factored(self.ridge) as A:
            self.weights = ridge.joint(A, self.statistics.C)

    def _state(self) -> dict[str, Any]:
        return {
            "settings": np.array([self.width, self.seed]),
            "dtype": self.dtype.name,
            "statistics": self.statistics.state(),
            "weights": self.weights,
            "ridge": self.ridge,
            "features": 0 if self.map is None else self.map.d,
        }

    @classmethod
    def _from_state(cls, state: Mapping[str, Any]) -> Self:
        width, seed = map(int, state["settings"])
        learner = cls(width, seed, str(state["dtype"]))
        learner.statistics = Statistics.from_state(state["statistics"])
        learner.weights, learner.ridge = np.asfortranarray(state["weights"]), float(state["ridge"])
        if int(state["features"]):
            learner.map = GaussianRelu(int(state["features"]), width, seed)
        return learner

    def _logits(self, Phi: Array) -> Array:
        return self.expand(Phi) @ self.weights


def build(*, width: int = 10000, seed: int = 0, dtype: str = "float64") -> RanPac:
    """Build the learner.

    Parameters
    ----------
    width : M, outputs of the map (official 10,000)
    seed : of the map's weights and of the hold-out split
    dtype : float64 (default) or float32 (official)
    """
    return RanPac(width, seed, dtype)
