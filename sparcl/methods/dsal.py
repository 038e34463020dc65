"""DS-AL: a main ridge on relu(z), and a second one on tanh(z) for what the main one leaves.

z = f W with W (d, M) uniform on (-1/sqrt d, 1/sqrt d), shared by both streams.  Per session, with
a = relu(z), b = tanh(z):

    G_a += a^T a, C_a += a^T Y,  W_a = (G_a + ridge I)^-1 C_a,
    E = Y - a W_a with the columns of earlier classes set to 0,
    G_b += b^T b, C_b += b^T E,  W_b = (G_b + ridge_b I)^-1 C_b,

and the score is a W_a + c b W_b.  Source: DS-AL (AAAI 2024), Analytic-continual-learning, commit
0afd6bf, whose recursion gives the same when its batch is the whole session, as the paper has it; with
smaller batches its E comes from weights in between and the result depends on them.

Official: ridges 0.1 and 0.1, c = 0.6 on CIFAR-100 and 1.5 on ImageNet-1k, M = 8,192 and 16,384,
float64, features as they are.  On unit-norm features z has a spread of 1 / sqrt(3 d) and tanh is
almost linear.  A session without a new class leaves the second stream's targets at 0 here; in the
public code it would mask nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import linalg, ridge
from sparcl.algebra.statistics import Statistics
from sparcl.base.checks import check_choice, check_dtype, check_positive
from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.learners.learner import Array, Learner
from sparcl.learners.mapped import FIT_SHARE, GRID, ROWS
from sparcl.parts.maps import RandomMap


class DualStream(Learner):
    """Per session 2 (n M^2 + M^3 / 3 + 2 M^2 c) flops beside the maps, and two M x M sums."""

    def __init__(
        self,
        ridge: float | str,
        ridge_compensation: float | str,
        ratio: float,
        width: int,
        seed: int,
        dtype: str,
    ) -> None:
        super().__init__()
        for name, value in (("ridge", ridge), ("ridge_compensation", ridge_compensation)):
            if isinstance(value, str):
                check_choice(name, value, ("newest",))
            else:
                check_positive(name, value)
        if ratio != 0:
            check_positive("ratio", ratio)
        self.dtype = check_dtype(dtype)
        self.rules = ridge, ridge_compensation
        self.ratio, self.width, self.seed = float(ratio), width, seed
        RandomMap(1, width, seed)  # refuses a bad width or seed now
        self.map: RandomMap | None = None
        self.statistics = Statistics(width, self.dtype)
        self.gram_b = linalg.Gram(width, self.dtype)
        self.C_b: Array = np.zeros((width, 0), dtype=self.dtype, order="F")
        self.weights: Array = np.zeros((width, 0), dtype=self.dtype)
        self.weights_b: Array = np.zeros((width, 0), dtype=self.dtype)
        self.ridges = (np.nan, np.nan)

    def report(self) -> dict[str, Any]:
        """Return the ridges of both streams in the last session."""
        return {"ridge": self.ridges[0], "ridge_compensation": self.ridges[1]}

    def _streams(self, Phi: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield rows, a and b, ROWS at a time."""
        for start in range(0, len(Phi), ROWS):
            rows = slice(start, start + ROWS)
            z = self.map(Phi[rows])
            yield rows, np.maximum(z, 0), np.tanh(z)

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        if "newest" in self.rules and len(Phi) < 2:
            raise InputError(
                "ridge = 'newest' judges on a fifth of the session and needs two samples at least, "
                "got one: join the session with another, or give the ridges as numbers."
            )
        if self.map is None:
            self.map = self._drawn(Phi.shape[1])
        Y = (columns[:, None] == np.arange(classes)).astype(self.dtype)
        first = self._chosen(0, lambda rows: np.maximum(self.map(Phi[rows]), 0), Y)
        self.statistics.grow(classes)
        for rows, a, _ in self._streams(Phi):
            self.statistics.accumulate(a, columns[rows])
        with self.statistics.gram.factored(first) as A:
            self.weights = ridge.joint(A, self.statistics.C)
        grown = np.zeros((self.width, classes), dtype=self.dtype, order="F")
        grown[:, : self.C_b.shape[1]] = self.C_b
        self.C_b = grown
        # only the new classes' columns of E are not 0
        E = np.empty((len(Phi), classes - old), dtype=self.dtype)
        for rows, a, b in self._streams(Phi):
            E[rows] = Y[rows, old:] - a @ self.weights[:, old:]
            self.gram_b.add(b)
            self.C_b[:, old:] += b.T @ E[rows]
        second = self._chosen(1, lambda rows: np.tanh(self.map(Phi[rows])), E)
        with self.gram_b.factored(second) as A:
            self.weights_b = ridge.joint(A, self.C_b)
        self.ridges = first, second

    def _drawn(self, d: int) -> RandomMap:
        return RandomMap(d, self.width, self.seed, "uniform", "linear", dtype=self.dtype.name)

    def _chosen(self, stream: int, mapped: Any, targets: Array) -> float:
        """Return a stream's ridge: the number given, or RanPAC's choice on the session."""
        rule = self.rules[stream]
        if not isinstance(rule, str):
            return float(rule)
        if targets.shape[1] == 0:  # no new class, nothing to judge by: the ridge stays
            return self.ridges[stream] if np.isfinite(self.ridges[stream]) else 1.0
        shuffled = generator("holdout", self.seed, self.session).permutation(len(targets))
        fit, val = np.split(shuffled, [int(FIT_SHARE * len(targets))])
        return ridge.holdout(mapped(fit), targets[fit], mapped(val), targets[val], np.array(GRID))[
            0
        ]

    def _logits(self, Phi: Array) -> Array:
        scores = np.empty((len(Phi), self.weights.shape[1]), dtype=self.dtype)
        for rows, a, b in self._streams(Phi):
            scores[rows] = a @ self.weights + self.ratio * (b @ self.weights_b)
        return scores

    def _state(self) -> dict[str, Any]:
        return {
            "rules": {str(i): rule for i, rule in enumerate(self.rules)},
            "settings": np.array([self.width, self.seed]),
            "ratio": self.ratio,
            "dtype": self.dtype.name,
            "features": 0 if self.map is None else self.map.d,
            "statistics": self.statistics.state(),
            "gram_b": self.gram_b.full,
            "C_b": self.C_b,
            "weights": self.weights,
            "weights_b": self.weights_b,
            "ridges": np.array(self.ridges),
        }

    @classmethod
    def _from_state(cls, state: Mapping[str, Any]) -> Self:
        rules = [state["rules"][str(i)] for i in range(2)]
        rules = ["newest" if str(rule) == "newest" else float(rule) for rule in rules]
        width, seed = map(int, state["settings"])
        learner = cls(*rules, float(state["ratio"]), width, seed, str(state["dtype"]))
        learner.statistics = Statistics.from_state(state["statistics"])
        learner.gram_b = linalg.Gram.wrap(np.array(state["gram_b"], order="F"))
        learner.C_b = np.array(state["C_b"], order="F")
        learner.weights = np.asfortranarray(state["weights"])
        learner.weights_b = np.asfortranarray(state["weights_b"])
        learner.ridges = tuple(map(float, state["ridges"]))
        if int(state["features"]):
            learner.map = learner._drawn(int(state["features"]))
        return learner


def build(
    *,
    ridge: float | str = 0.1,
    ridge_compensation: float | str | None = None,
    ratio: float = 0.6,
    width: int = 8192,
    seed: int = 0,
    dtype: str = "float64",
) -> DualStream:
    """Build the learner.

    Parameters
    ----------
    ridge : lambda of the main stream, or ``newest`` (RanPAC's choice on the session)
    ridge_compensation : of the second stream; left out, as ``ridge``
    ratio : c, weight of the second stream (the paper tunes it in [0, 2]); 0 gives ``acil-rhl``
    width : M, outputs of the map
    seed : of the map's weights and of hold-outs
    dtype : float64 (official) or float32
    """
    second = ridge if ridge_compensation is None else ridge_compensation
    return DualStream(ridge, second, ratio, width, seed, dtype)
