"""Sufficient statistics of a stream: R = Phi^T Phi, C = Phi^T Y and the class counts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparcl import linalg
from sparcl.errors import InputError

ROWS = 4096  # rows converted to the working precision at a time


class Statistics:
    """Running sums over all samples seen (paper, eq. 2): all that an analytic learner keeps.

    Attributes
    ----------
    R : (d, d) symmetric, Fortran order; C : (d, c); counts : (c,) samples of each class column.
    """

    def __init__(self, d: int, dtype: np.dtype | type = np.float64) -> None:
        self.R = linalg.zeros(d, dtype)
        self.C = np.zeros((d, 0), dtype=dtype, order="F")
        self.counts = np.zeros(0, dtype=np.int64)

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
        """Add the samples Phi (n, d) whose one-hot column is ``columns`` (n,): n d^2 flops."""
        for start in range(0, len(Phi), ROWS):
            block = np.ascontiguousarray(Phi[start : start + ROWS], dtype=self.R.dtype)
            label = columns[start : start + ROWS]
            linalg.add_gram(self.R, block)
            present, position = np.unique(label, return_inverse=True)
            Y = (position[:, None] == np.arange(len(present))).astype(self.R.dtype)
            self.C[:, present] += block.T @ Y
        self.counts += np.bincount(columns, minlength=len(self.counts))

    def merge(self, other: "Statistics", columns: Sequence[int]) -> None:
        """Add ``other``, whose class column j is this one's column ``columns[j]``: O(d^2).

        Raises
        ------
        InputError
            When the feature dimensions differ or a column does not exist.
        """
        columns = np.asarray(columns, dtype=np.int64)
        if other.R.shape != self.R.shape:
            raise InputError(
                f"Cannot merge statistics of {len(other.R)} features into {len(self.R)}: both "
                "sides must come from the same backbone and expansion."
            )
        if len(columns) != len(other.counts) or not np.all(columns < len(self.counts)):
            raise InputError(
                f"Cannot merge {len(other.counts)} class columns as {columns.tolist()} into "
                f"{len(self.counts)}: grow() first and name one column for each class."
            )
        self.R += other.R
        self.C[:, columns] += other.C
        self.counts[columns] += other.counts
