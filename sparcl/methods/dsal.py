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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import ridge
from sparcl.algebra.sums import Sums, check_lengths, squared_lengths
from sparcl.base.checks import DTYPES, check_choice, check_flag, check_positive, check_positives
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.learner import Learner
from sparcl.parts.batch import ROWS, Point
from sparcl.parts.maps import RandomMap
from sparcl.parts.rules import WIDE, HoldOut, best, need_two


@dataclass(eq=False)
class DualStream(Learner):
    """Per session 2 (n M^2 + M^3 / 3 + 2 M^2 c) flops beside the maps, and two M x M sums.

    Parameters
    ----------
    ridge : lambda of the main stream, or ``newest`` (RanPAC's choice on the session)
    ridge_compensation : of the second stream; left out, as ``ridge``
    ridges, validation_share : candidates of ``newest``, and the share of the rows that it holds out
    relative : whether ridges are shares of the mean squared norm of a row of their stream in the first
        session
    ratio : c, weight of the second stream (the paper tunes it in [0, 2]); 0 gives ``acil-rhl``
    width : M, outputs of the map
    seed : of the map's weights and of hold-outs
    dtype : float64 (official) or float32
    """

    ridge: float | str = 0.1
    ridge_compensation: float | str | None = None
    ridges: Sequence[float] = WIDE
    relative: bool = False
    validation_share: float = 0.2
    ratio: float = 0.6
    width: int = 8192
    seed: int = 0
    dtype: str = "float64"
    cannot_forget: ClassVar[str] = (
        "its second stream learned what the first one left in each session"
    )
    kept: ClassVar[dict[str, Shape | None]] = {
        "map": RandomMap,
        "sums": Sums,
        "second": Sums,
        "weights": ("D", "c"),
        "weights_b": ("D", "c"),
        "chosen": list[float | None],
        "units": list[float],
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ridges = tuple(self.ridges)
        if self.ridge_compensation is None:
            self.ridge_compensation = self.ridge
        for name in ("ridge", "ridge_compensation"):
            value = getattr(self, name)
            if isinstance(value, str):
                check_choice(name, value, ("newest",))
            else:
                check_positive(name, value)
        check_flag("relative", self.relative)
        check_positives("ridges", self.ridges)
        if self.ratio != 0:
            check_positive("ratio", self.ratio)
        check_choice("dtype", self.dtype, DTYPES)
        self.map = RandomMap(self.width, self.seed, "uniform", "linear")
        self.holdout = HoldOut(self.validation_share, seed=self.seed)
        self.sums = Sums(self.width, self.dtype)
        self.second = Sums(self.width, self.dtype)
        self.weights: Array = np.zeros((self.width, 0), dtype=self.dtype)
        self.weights_b: Array = np.zeros((self.width, 0), dtype=self.dtype)
        self.chosen: list[float | None] = [None, None]
        self.units = [1.0, 1.0]

    def flops(self, n: int, d: int, c: int) -> float:
        """Return 2 (n M^2 + M^3 / 3 + 2 M^2 c) beside the maps' 4 n d M."""
        M = self.width
        return 2 * (n * M**2 + M**3 / 3 + 2 * M**2 * c) + 4.0 * n * d * M

    def report(self) -> dict[str, Any]:
        """Return the ridges of both streams in the last session, and the unit of the first if they are relative."""
        unit = {"unit": self.units[0]} if self.relative else {}
        return {"ridge": self.chosen[0], "ridge_compensation": self.chosen[1], **unit}

    def _streams(self, Phi: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield rows, a and b, ROWS at a time."""
        for start in range(0, len(Phi), ROWS):
            rows = slice(start, start + ROWS)
            z = self.inner(Phi[rows])
            yield rows, np.maximum(z, 0), np.tanh(z)

    def begin(self, Phi: Array) -> None:
        """Fix the map, and the units of relative ridges, by the first session's features Phi (n, d)."""
        self.map.begin(Phi)
        if self.relative:  # mean squared norms of a row of either stream
            streams = (parts for _, *parts in self._streams(Phi))
            squares = [[float(squared_lengths(part).sum()) for part in parts] for parts in streams]
            self.units = [sum(stream) / len(Phi) for stream in zip(*squares, strict=True)]

    def given(self, stream: int) -> float | None:
        """Return a stream's ridge where it is a number; None where it is chosen."""
        rule = (self.ridge, self.ridge_compensation)[stream]
        return rule * self.units[stream] if isinstance(rule, (int, float)) else None

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        if "newest" in (self.ridge, self.ridge_compensation):
            need_two(len(Phi), "newest")
        if self.session == 0:
            self.begin(Phi)
        Y = (columns[:, None] == np.arange(classes)).astype(self.dtype)
        first = self._chosen(0, lambda rows: np.maximum(self.inner(Phi[rows]), 0), Y)
        self.sums.grow(classes)
        for rows, a, _ in self._streams(Phi):
            check_lengths(squared_lengths(a), self.sums.mean_square)
            self.sums.accumulate(a, columns[rows])
        with self.sums.factored(first) as A:
            self.weights = A.solve(self.sums.C)
        self.second.grow(classes)
        # only the new classes' columns of E are not 0
        E = np.empty((len(Phi), classes - old), dtype=self.dtype)
        for rows, a, b in self._streams(Phi):
            E[rows] = Y[rows, old:] - a @ self.weights[:, old:]
            self.second.add(b)
            self.second.C[:, old:] += b.T @ E[rows]
        second = self._chosen(1, lambda rows: np.tanh(self.inner(Phi[rows])), E)
        with self.second.factored(second) as A:
            self.weights_b = A.solve(self.second.C)
        self.chosen = [first, second]

    def inner(self, Phi: Array) -> Array:
        """Return z (n, M)."""
        return self.map(np.asarray(Phi, dtype=self.dtype))

    def _chosen(
        self, stream: int, mapped: Callable[[NDArray[np.intp]], Array], targets: Array
    ) -> float:
        """Return a stream's ridge: the number given, or RanPAC's choice on the session."""
        given = self.given(stream)
        if given is not None:
            return given
        before = self.chosen[stream]
        if targets.shape[1] == 0:  # no new class, nothing to validate on: the ridge stays
            return 1.0 if before is None else before
        fit, val = self.holdout.split(np.zeros(len(targets), dtype=np.int64), self.session)
        values = self.units[stream] * np.array(self.ridges)
        losses = ridge.holdout(mapped(fit), targets[fit], mapped(val), targets[val], values)
        points = [Point(i, 0, value) for i, value in enumerate(values.tolist())]
        return best(points, losses.tolist(), "error on the session").ridge

    def _logits(self, Phi: Array) -> Array:
        scores = np.empty((len(Phi), self.weights.shape[1]), dtype=self.dtype)
        for rows, a, b in self._streams(Phi):
            scores[rows] = a @ self.weights + self.ratio * (b @ self.weights_b)
        return scores


build = DualStream
