"""Weights at the points that were solved, and the scores that they give."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import linalg
from sparcl.algebra.backend import host, of
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array

Solution = tuple[Array, Array | None]  # weights W (D, c), and a bias b (c,) where the head has one


class Point(NamedTuple):
    """One solution: a ridge (its number in the grid and its value) and a core rule (its number)."""

    i: int
    j: int
    value: float


@dataclass(eq=False)
class Solutions(Stateful):
    """W (D, c) and b (c,) of every point that is kept, one where the rule chooses.

    Attributes
    ----------
    weights : W of each; biases : b of each where the head has one, else none
    points : what was solved, as [number of the value, number of the core, value]
    """

    kept: ClassVar[dict[str, Shape | None]] = {
        "weights": ("D", None),
        "biases": (None,),
        "points": None,
    }

    def __post_init__(self) -> None:
        self.weights: list[Array] = []
        self.biases: list[Array] = []
        self.points: list[list[float]] = []

    def __iter__(self) -> Iterator[Solution]:
        """Yield W and b of each point; None for b where the head has none."""
        return zip(self.weights, self.biases or repeat(None, len(self.weights)), strict=True)

    def take(self, points: list[Point], solved: list[Solution]) -> None:
        """Keep what was solved at some points, in place of what was kept before."""
        self.points = [[point.i, point.j, point.value] for point in points]
        self.weights = [W for W, _ in solved]
        # a point without a solution has no column, and so an empty bias beside those of the others
        biased = any(b is not None for _, b in solved)
        self.biases = [_bias(*solution) for solution in solved] if biased else []

    def scores(self, H: Array, p: int = 0) -> Array:
        """Return the scores (n, c) of mapped rows H (n, D) at one point, where they lie."""
        scores = linalg.product(H, self.weights[p])
        return scores + self.biases[p] if self.biases else scores

    def all_scores(self, H: Array) -> dict[tuple[int, int], Array]:
        """Return :meth:`scores`, on the host, at every point (number of the value, number of the core)."""
        return {
            (int(i), int(j)): host(self.scores(H, p)) for p, (i, j, _) in enumerate(self.points)
        }


def _bias(W: Array, b: Array | None) -> Array:
    return of(W).array(np.zeros(W.shape[1])) if b is None else b


def reordered(solution: Solution, order: NDArray[np.integer]) -> Solution:
    """Return a solution with its class columns in another order."""
    W, b = solution
    on = of(W)
    W = on.laid_out(on.take_columns(W, order))
    return W, None if b is None else on.take_columns(b[None, :], order)[0, :]
