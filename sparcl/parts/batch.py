"""The rows of one session, mapped when they are read; weights at the points that were solved."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import Backend, host, of
from sparcl.algebra.sums import Sums, squared_lengths
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array

ROWS = 4096  # rows mapped at a time, so that memory does not grow with them


@dataclass
class Arrival:
    """The data of a session, as rows or as sums.

    Attributes
    ----------
    columns : class columns that arrive, (n,) one for each row, or (c_new,) one for each class
    old, classes : columns before the session, and with it
    session : number of the session, from 0
    """

    columns: NDArray[np.integer]
    old: int
    classes: int
    session: int


@dataclass
class Batch(Arrival):
    """A session's rows as sums, rules and cores see them.

    Attributes
    ----------
    Phi : (n, d) transformed features, on the host
    expand : takes rows to where the sums lie, and maps them
    weights : (n,) weight of each row, or None where all weigh the same
    """

    Phi: Array
    expand: Callable[[Array], Array]
    weights: Array | None = None

    @cached_property
    def H(self) -> Array:
        """All mapped rows (n, D)."""
        return self.expand(self.Phi)

    def blocks(self) -> Iterator[tuple[Array, NDArray[np.integer], Array | None]]:
        """Yield mapped rows, columns and weights, ROWS at a time, or at once where all were mapped already."""
        if "H" in self.__dict__:
            yield self.H, self.columns, self.weights
            return
        for start in range(0, len(self.columns), ROWS):
            rows = slice(start, start + ROWS)
            weights = None if self.weights is None else self.weights[rows]
            yield self.expand(self.Phi[rows]), self.columns[rows], weights

    def mean_square(self) -> float:
        """Return the mean squared norm of a mapped row."""
        return float(sum(squared_lengths(H).sum() for H, _, _ in self.blocks())) / len(self.columns)

    def take(self, rows: slice | NDArray[np.integer]) -> Self:
        """Return the batch of some of the rows; mapped rows are kept where there are any."""
        part = dataclasses.replace(
            self,
            columns=self.columns[rows],
            Phi=self.Phi[rows],
            weights=None if self.weights is None else self.weights[rows],
        )
        if "H" in self.__dict__:
            part.H = self.H[rows]
        return part

    def add_to(self, sums: Sums) -> None:
        """Add the rows to sums: n D^2 flops beside those of the map."""
        sums.grow(self.classes)
        if len(self.columns) <= ROWS:
            sums.accumulate(self.H, self.columns, self.weights)
        else:
            for H, columns, weights in self.blocks():
                sums.accumulate(H, columns, weights)


Solution = tuple[Array, Array | None]  # weights W (D, c), and a bias b (c,) where the head has one


class Point(NamedTuple):
    """One solution: a ridge (its number in the grid and its value) and a core rule (its number)."""

    i: int
    j: int
    ridge: float


@dataclass(eq=False)
class Solutions(Stateful):
    """W (D, c) and b (c,) of every point that is kept, one where the rule chooses.

    Parameters
    ----------
    unit : rows are scored by each class's weights over their Euclidean norm

    Attributes
    ----------
    weights : W of each; biases : b of each where the head has one, else none
    points : what was solved, as [number of the value, number of the core, value]
    """

    unit: bool = False
    kept: ClassVar[dict[str, Shape | None]] = {
        "weights": ("D", None),
        "biases": (None,),
        "points": list[tuple[int, int, float]],
    }

    def __post_init__(self) -> None:
        self.weights: list[Array] = []
        self.biases: list[Array] = []
        self.points: list[list[float]] = []

    def check_state(self) -> None:
        """Raise ValueError unless each point has its weights, and each or none a bias."""
        several = len(self.weights)
        if len(self.points) != several or len(self.biases) not in (0, several):
            raise ValueError("points, weights and biases differ in number")

    def __iter__(self) -> Iterator[Solution]:
        """Yield W and b of each point; None for b where the head has none."""
        return zip(self.weights, self.biases or repeat(None, len(self.weights)), strict=True)

    def scored(self) -> Iterator[Solution]:
        """Yield the W and b of each point by which rows are scored."""
        for W, b in self:
            yield (W * column_scales(W) if self.unit else W), b

    def take(self, points: list[Point], solved: list[Solution]) -> None:
        """Keep what was solved at some points, in place of what was kept before."""
        weights, biases = map(list, zip(*solved, strict=True))
        self.points, self.weights = list(map(list, points)), weights
        # a point without a solution has no column, and so an empty bias beside those of the others
        biased = set(map(type, biases)) != {type(None)}
        self.biases = [_bias(*solution) for solution in solved] if biased else []

    def scores(self, on: Backend, H: Array, p: int = 0) -> Array:
        """Return the scores (n, c) of mapped rows H (n, D) at one point, where they lie."""
        W = self.weights[p]
        scores = on.product(H, W)
        scores = scores * column_scales(W) if self.unit else scores
        return scores + self.biases[p] if self.biases else scores

    def all_scores(self, on: Backend, H: Array) -> dict[tuple[int, int], Array]:
        """Return :meth:`scores`, on the host, at every point (number of the value, number of the core)."""
        return {
            (int(i), int(j)): host(self.scores(on, H, p)) for p, (i, j, _) in enumerate(self.points)
        }


def column_scales(W: Array) -> Array:
    """Return ``1 / |w_c|`` (c,) of each column of W (D, c), where W lies; 1 for a column of zeros."""
    xp = of(W).xp
    largest = xp.max(xp.abs(W), axis=0)  # squares of small weights would vanish
    largest = xp.where(largest > 0, largest, 1 + 0 * largest)
    norms = xp.sqrt(xp.sum((W / largest) ** 2, axis=0))
    return 1 / (largest * xp.where(norms > 0, norms, 1 + 0 * norms))


def _bias(W: Array, b: Array | None) -> Array:
    return of(W).array(np.zeros(W.shape[1])) if b is None else b


def reordered(solution: Solution, order: NDArray[np.integer]) -> Solution:
    """Return a solution with its class columns in another order."""
    W, b = solution
    on = of(W)
    W = on.laid_out(on.take_columns(W, order))
    return W, None if b is None else on.take_columns(b[None, :], order)[0, :]
