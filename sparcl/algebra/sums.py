"""The sums of a stream, R = H^T H, C = H^T Y and the class counts: all that an analytic learner keeps."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import linalg
from sparcl.algebra.backend import Backend, host, of
from sparcl.algebra.gram import Gram
from sparcl.algebra.lapack import HOST
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array

ROWS = 4096  # rows converted to the working precision at a time


@dataclass(eq=False)
class Sums(Stateful):
    """Running sums over all samples seen (paper, eq. 2).

    Parameters
    ----------
    D : coordinates of a row; dtype : working precision
    on : where R and C lie; the state does not know

    Attributes
    ----------
    gram : R (D, D); C : (D, c)
    counts : (c,) samples of each class column, fractions of them where rows are trusted in part
    """

    D: int
    dtype: str = "float64"
    on: InitVar[Backend] = HOST
    kept: ClassVar[dict[str, Shape | None]] = {"R": ("D", "D"), "C": ("D", "c"), "counts": ("c",)}

    def __post_init__(self, on: Backend) -> None:
        self.gram = Gram(self.D, self.dtype, on)
        self.C: Array = on.zeros((self.D, 0), self.dtype)
        self.counts = np.zeros(0, dtype=np.int64)

    @property
    def R(self) -> NDArray[np.floating]:
        """R (D, D), whole; do not write into it."""
        return self.gram.full

    @R.setter
    def R(self, value: NDArray[np.floating]) -> None:
        self.gram = Gram.wrap(value)

    @property
    def n(self) -> int:
        """Samples seen; a fraction where rows are trusted in part."""
        n: int = self.counts.sum().item()
        return n

    @property
    def mean_square(self) -> float:
        """Mean squared length of the rows seen; 0 before the first."""
        return float(self.gram.diagonal.sum()) / max(self.n, 1)

    def grow(self, classes: int) -> None:
        """Append zero columns until there are ``classes`` of them."""
        extra = classes - self.C.shape[1]
        if extra > 0:
            C = self.gram.on.zeros((self.D, classes), self.dtype)
            C[:, :-extra] = self.C
            self.C = C
            self.counts = np.concatenate([self.counts, np.zeros(extra, dtype=np.int64)])

    def accumulate(
        self,
        H: NDArray[np.floating],
        columns: NDArray[np.integer],
        weights: NDArray[np.floating] | None = None,
    ) -> None:
        """Add the samples H (n, D) whose one-hot column is ``columns`` (n,).

        n D^2 flops, and 2 n D p where a block of ``ROWS`` samples has p classes.

        Parameters
        ----------
        weights : (n,) of the samples, equal within a class; by default 1 each
        """
        on = self.gram.on
        for start in range(0, H.shape[0], ROWS):
            block = on.array(H[start : min(start + ROWS, H.shape[0]), :], self.C.dtype)
            label = columns[start : start + ROWS]
            present, first = np.unique(label, return_index=True)
            if weights is not None:
                root = np.sqrt(weights[start : start + ROWS]).astype(self.dtype)
                block = block * on.array(root)[:, None]
            self.gram.add(block)
            added = linalg.product(block.T, linalg.one_hot(label, present, block))
            on.add_columns(
                self.C, present, added if weights is None else added * on.array(root[first])
            )
        self.counts += np.bincount(columns, minlength=len(self.counts))

    def accumulate_trusted(self, H: Array, Y: Array, weights: Array | None) -> None:
        """Add rows that count in part: ``R += H^T Omega H``, ``C += H^T Omega Y``, ``n += Omega Y``.

        n D^2 + 2 n D c flops, and a copy of H.

        Parameters
        ----------
        H : (n, D) rows; Y : (n, c) labels, whose rows sum to 1; weights : (n,) the diagonal of Omega, or
            None for ones
        """
        weights = np.ones(len(H)) if weights is None else weights
        self.gram.add(np.ascontiguousarray(H * np.sqrt(weights)[:, None], dtype=self.C.dtype))
        Y = np.asarray(Y * weights[:, None], dtype=self.C.dtype)
        self.C += linalg.product(np.asarray(H, dtype=self.C.dtype).T, Y)
        self.counts = self.counts + Y.sum(axis=0, dtype=np.float64)

    def reorder(self, order: NDArray[np.integer]) -> None:
        """Put the class columns into ``order`` (c,): column j becomes what ``order[j]`` was."""
        if not np.array_equal(order, np.arange(len(self.counts))):
            on = self.gram.on
            self.C, self.counts = on.laid_out(on.take_columns(self.C, order)), self.counts[order]

    def copy(self) -> "Sums":
        """Return sums that go on apart from these."""
        other = self.empty()
        other.grow(len(self.counts))
        other.merge(self, range(len(self.counts)))
        return other

    def empty(self) -> "Sums":
        """Return sums of nothing of the same size, where these lie."""
        return Sums(self.D, self.dtype, self.gram.on)

    def means(self) -> Array:
        """Return the mean row (D, c) of each class that has rows, on the host."""
        present = self.counts > 0
        return host(self.C)[:, present] / self.counts[present]

    def merge(self, other: "Sums", columns: Sequence[int] | NDArray[np.integer]) -> None:
        """Add ``other``, whose class column j is this one's column ``columns[j]``: O(D^2).

        Raises
        ------
        InputError
            When the dimensions differ, or a column does not exist or is named twice.
        NumericalError
            When one side vanishes beside the other (:func:`check_lengths`).
        """
        columns = np.asarray(columns, dtype=np.int64)
        if len(other.gram) != len(self.gram):
            raise InputError(
                f"Cannot merge sums of {len(other.gram)} coordinates into {len(self.gram)}: both "
                "sides must come from the same backbone and map."
            )
        known = np.isin(columns, np.arange(len(self.counts))).all()
        if len(columns) != len(other.counts) or not known or len(set(columns)) != len(columns):
            raise InputError(
                f"Cannot merge {len(other.counts)} class columns as {columns.tolist()} into "
                f"{len(self.counts)}: grow() first and name a column of its own for each class."
            )
        check_lengths(np.array([other.mean_square], dtype=self.dtype), self.mean_square)
        self.gram.merge(other.gram)
        self.gram.on.add_columns(self.C, columns, self.gram.on.array(other.C, self.C.dtype))
        self.counts[columns] += other.counts


def check_lengths(squares: Array, before: float) -> None:
    """Raise NumericalError where some rows are so long that others vanish beside them in a sum of squares.

    Parameters
    ----------
    squares : (n,) squared lengths of rows, in the precision of the sum
    before : mean of those of earlier rows, 0 without any
    """
    typical = [float(np.median(part)) for part in (squares[squares > 0],) if len(part)]
    typical += [before] * (before > 0)
    longest, least = max(squares.max(initial=0), before), min(typical, default=np.inf)
    if longest * float(np.finfo(squares.dtype).eps) >= least:
        raise NumericalError(
            f"rows differ too much in length: the longest has {longest**0.5:.3g}, and others, typically of "
            f"{least**0.5:.3g}, vanish beside it in {squares.dtype}. Usual cause: a damaged row, or sessions of "
            "different scales; divide each row by its norm."
        )


def squared_lengths(H: Array) -> Array:
    """Return the squared length (n,) of each row of H (n, D), on the host: 2 n D flops."""
    return of(H).squared_lengths(H)
