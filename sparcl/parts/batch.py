"""The rows of one session, mapped when somebody asks for them."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.sums import Sums, squared_lengths
from sparcl.base.types import Array

ROWS = 4096  # rows mapped at a time, so that memory does not grow with them


@dataclass
class Arrival:
    """What arrives in a session, whether as rows or as sums.

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
    trust : (n,) weight of each row that counts as so many samples, or None where all are trusted
    targets : (n, classes) fractional labels in place of ``columns``, or None
    """

    Phi: Array
    expand: Callable[[Array], Array]
    weights: Array | None = None
    trust: Array | None = None
    targets: Array | None = None

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def H(self) -> Array:
        """All mapped rows (n, D)."""
        return self.expand(self.Phi)

    @property
    def labels(self) -> Array:
        """Labels (n, classes): fractional ones where there are any, one-hot ones otherwise."""
        if self.targets is not None:
            return self.targets
        return (self.columns[:, None] == np.arange(self.classes)).astype(self.H.dtype)

    def blocks(self) -> Iterator[tuple[Array, NDArray[np.integer], Array | None]]:
        """Yield mapped rows, columns and weights, ROWS at a time, or at once where all were mapped already."""
        if "H" in self.__dict__:
            yield self.H, self.columns, self.weights
            return
        for start in range(0, len(self), ROWS):
            rows = slice(start, start + ROWS)
            weights = None if self.weights is None else self.weights[rows]
            yield self.expand(self.Phi[rows]), self.columns[rows], weights

    def mean_square(self) -> float:
        """Return the mean squared norm of a mapped row."""
        return float(sum(squared_lengths(H).sum() for H, _, _ in self.blocks())) / len(self)

    def take(self, rows: slice | NDArray[np.integer]) -> "Batch":
        """Return the batch of some of the rows; mapped rows are kept where there are any."""
        beside = [None if a is None else a[rows] for a in (self.weights, self.trust, self.targets)]
        part = dataclasses.replace(
            self,
            columns=self.columns[rows],
            Phi=self.Phi[rows],
            weights=beside[0],
            trust=beside[1],
            targets=beside[2],
        )
        if "H" in self.__dict__:
            part.H = self.H[rows]
        return part

    def add_to(self, sums: Sums) -> None:
        """Add the rows to sums: n D^2 flops beside those of the map."""
        sums.grow(self.classes)
        if self.trust is not None or self.targets is not None:
            sums.accumulate_trusted(self.H, self.labels, self.trust)
            return
        for H, columns, weights in self.blocks():
            sums.accumulate(H, columns, weights)
