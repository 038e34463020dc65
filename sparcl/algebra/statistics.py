"""Sufficient statistics of a stream: R = Phi^T Phi, C = Phi^T Y and the class counts."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import linalg
from sparcl.base.errors import InputError

ROWS = 4096  # rows converted to the working precision at a time


class Statistics:
    """Running sums over all samples seen (paper, eq. 2): all that an analytic learner keeps.

    Attributes
    ----------
    gram : R (d, d); C : (d, c); counts : (c,) samples of each class column.
    """

    def __init__(self, d: int, dtype: np.dtype | type = np.float64) -> None:
        self.gram = linalg.Gram(d, dtype)
        self.C = np.zeros((d, 0), dtype=dtype, order="F")
        self.counts = np.zeros(0, dtype=np.int64)

    @property
    def R(self) -> NDArray:
        """R (d, d), whole."""
        return self.gram.full

    @property
    def n(self) -> int:
        """Samples seen."""
        return int(self.counts.sum())

    def grow(self, classes: int) -> None:
        """Append zero columns until there are ``classes`` of them."""
        extra = classes - self.C.shape[1]
        if extra > 0:
            pad = np.zeros((len(self.C), extra), dtype=self.C.dtype)
            self.C = np.asfortranarray(np.hstack([self.C, pad]))
            self.counts = np.concatenate([self.counts, np.zeros(extra, dtype=np.int64)])

    def accumulate(self, Phi: NDArray, columns: NDArray[np.integer]) -> None:
        """Add the samples Phi (n, d) whose one-hot column is ``columns`` (n,).

        n d^2 flops, and 2 n d p where a block of ``ROWS`` samples has p classes.
        """
        for start in range(0, len(Phi), ROWS):
            block = np.ascontiguousarray(Phi[start : start + ROWS], dtype=self.C.dtype)
            label = columns[start : start + ROWS]
            self.gram.add(block)
            present, position = np.unique(label, return_inverse=True)
            Y = (position[:, None] == np.arange(len(present))).astype(self.C.dtype)
            self.C[:, present] += linalg.product(block.T, Y)
        self.counts += np.bincount(columns, minlength=len(self.counts))

    def reorder(self, order: NDArray[np.integer]) -> None:
        """Put the class columns into ``order`` (c,): column j becomes what ``order[j]`` was."""
        if not np.array_equal(order, np.arange(len(self.counts))):
            self.C, self.counts = np.asfortranarray(self.C[:, order]), self.counts[order]

    def state(self) -> dict[str, NDArray]:
        """Return the sums as a plain mapping."""
        return {"R": self.R, "C": self.C, "counts": self.counts}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray]) -> "Statistics":
        """Return statistics that continue from what :meth:`state` gave."""
        statistics = cls(len(state["R"]), state["R"].dtype)
        statistics.gram = linalg.Gram.wrap(np.array(state["R"], order="F"))
        statistics.C = np.asfortranarray(state["C"]).copy(order="F")
        statistics.counts = np.array(state["counts"])
        return statistics

    def merge(self, other: "Statistics", columns: Sequence[int]) -> None:
        """Add ``other``, whose class column j is this one's column ``columns[j]``: O(d^2).

        Raises
        ------
        InputError
            When the feature dimensions differ, or a column does not exist or is named twice.
        """
        columns = np.asarray(columns, dtype=np.int64)
        if len(other.gram) != len(self.gram):
            raise InputError(
                f"Cannot merge statistics of {len(other.gram)} features into {len(self.gram)}: both "
                "sides must come from the same backbone and expansion."
            )
        known = np.isin(columns, np.arange(len(self.counts))).all()
        if len(columns) != len(other.counts) or not known or len(set(columns)) != len(columns):
            raise InputError(
                f"Cannot merge {len(other.counts)} class columns as {columns.tolist()} into "
                f"{len(self.counts)}: grow() first and name a column of its own for each class."
            )
        self.gram.merge(other.gram)
        self.C[:, columns] += other.C
        self.counts[columns] += other.counts


def merge(a: Statistics, b: Statistics) -> Statistics:
    """Return the sum of two statistics over the same class columns: equal to one pass over both."""
    result = Statistics.from_state(a.state())
    result.grow(len(b.counts))
    result.merge(b, range(len(b.counts)))
    return result
