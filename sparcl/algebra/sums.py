"""The sums of a stream, R = H^T H, C = H^T Y and the class counts: all that an analytic learner keeps."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sparcl.algebra.backend import Backend, Factor, host, of
from sparcl.algebra.host import HOST
from sparcl.base.checks import check_memory
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import InPlace, Shape, Stateful
from sparcl.base.types import Array

ALLOWED = 0.01  # relative difference of weights that rounding may make where rows are taken away
ROUNDING = 4  # a pivot below so many units in the last place of its diagonal entry is no number


class Gram(InPlace):
    """A symmetric matrix (d, d) of which the lower triangle counts and the upper one is workspace.

    Sums and factorisations touch one triangle each, so neither copies the matrix; the upper one is
    filled in again when the whole is read.

    Attributes
    ----------
    residual : largest relative residual of the solutions that were refined since rows or sums were added
        last; None where none was
    ridge : of the last factor
    """

    def __init__(self, d: int, dtype: DTypeLike = np.float64, on: Backend = HOST) -> None:
        check_memory("R", (d, d), dtype, on.free())
        self.on = on
        self._array = on.zeros((d, d), dtype)
        self._whole = True
        self.residual: float | None = None
        self.ridge = 0.0

    @classmethod
    def wrap(cls, R: Array, whole: bool = True) -> "Gram":
        """Return symmetric R (d, d), or its lower triangle, as a Gram; R itself, where products take its layout."""
        gram = cls(0)
        gram.R, gram._whole = R, whole
        return gram

    @classmethod
    def of_rows(cls, H: Array) -> "Gram":
        """Return ``H H^T`` (n, n) of H (n, M): n^2 M flops (symmetric rank-M update)."""
        on = of(H)
        gram = cls(H.shape[0], on.dtype(H), on)
        on.outer_update(gram._array, H)
        gram._whole = False
        return gram

    def __len__(self) -> int:
        return self._array.shape[0]

    @property
    def precision(self) -> np.dtype[Any]:
        """Working precision, as NumPy calls it."""
        return self.on.dtype(self._array)

    @property
    def diagonal(self) -> Array:
        """The diagonal (d,), on the host; do not write into it."""
        return self.on.diagonal(self._array)

    @property
    def R(self) -> Array:
        """The whole matrix (d, d); do not write into it."""
        if not self._whole:
            if self.unpickled:
                self.make_writeable()
            self.on.mirror(self._array)
            self._whole = True
        return self._array

    @R.setter
    def R(self, value: Array) -> None:
        self.on = of(value)
        self._array, self._whole, self.residual = self.on.in_place(value), True, None

    def add(self, Phi: Array, sign: float = 1.0) -> None:
        """Add ``sign Phi^T Phi`` for Phi (n, d): n d^2 flops (symmetric rank-n update)."""
        self.on.rank_update(self._array, Phi, sign)
        self._whole, self.residual = False, None

    def times(self, B: Array) -> Array:
        """Return the product with B (d,) or (d, n): 2 n d^2 flops."""
        R = self._array if self.on.reads_triangle else self.R
        return self.on.symmetric_times(R, B)

    @contextmanager
    def factored(
        self, ridge: float, *, downdate: tuple[float, Array] | None = None
    ) -> Iterator[Factor]:
        """Factor ``A = R + ridge I - weight Q Q^T`` in the upper triangle for the block's length.

        R must not be used inside the block; on leaving it is what it was, to the bit.  ``downdate``
        is ``(weight, Q)`` with Q (d, m).  Cost: d^3 / 3 flops, no d x d copy.

        Raises
        ------
        NumericalError
            When A is not positive definite to working precision.
        """
        R, self.ridge = self.R, ridge
        diagonal = self.on.diagonal(R).copy()
        self._whole = False
        with self.on.factored(R, ridge, downdate) as (factor, info):
            if not info:
                # a pivot that is only what rounding left of its diagonal entry
                least = ROUNDING * np.finfo(diagonal.dtype).eps * (diagonal + ridge)
                lost = factor.pivots**2 <= least
                info = int(np.argmax(lost)) + 1 if lost.any() else 0
            if info:
                largest = diagonal.max()
                condition = f"about {largest / ridge:.1e} or more" if ridge else "without bound"
                raise NumericalError(
                    f"R + {ridge:g} I is not positive definite (d = {len(self)}, {self.precision}, leading "
                    f"minor {info}; largest diagonal entry {largest:.3g}; the condition number is {condition}). "
                    "Usual cause: a ridge too small for the scale of the features or for float32; raise "
                    "ridge or use dtype float64."
                )
            yield factor
            if factor.residual is not None:
                self.residual = max(self.residual or 0.0, factor.residual)

    def resolvents(self, B: Array, shifts: Array) -> Iterator[tuple[float, float]]:
        """Yield ``s tr (R + s I)^-1`` and ``|s (R + s I)^-1 B|_F^2`` of each shift s; R is used up."""
        return self.on.resolvents(self._array, B, shifts)


ROWS = 4096  # rows converted to the working precision at a time


@dataclass(eq=False)
class Sums(Gram, Stateful):
    """Running sums over all samples seen (paper, eq. 2).

    Parameters
    ----------
    D : coordinates of a row; dtype : working precision
    on : where R and C lie; the state does not know

    Attributes
    ----------
    R : (D, D); C : (D, c)
    counts : (c,) samples of each class column, fractions of them where rows count in part
    peak : rows, and trace of R, before each time that rows were taken away, summed
    """

    D: int
    dtype: str = "float64"
    on: InitVar[Backend] = HOST
    kept: ClassVar[dict[str, Shape | None]] = {
        "R": ("D", "D"),
        "C": ("D", "c"),
        "counts": ("c",),
        "peak": list[float],
    }

    def __post_init__(self, on: Backend) -> None:
        super().__init__(self.D, self.dtype, on)
        self.peak = [0.0, 0.0]
        self.C: Array = on.zeros((self.D, 0), self.dtype)
        self.counts = np.zeros(0, dtype=np.int64)

    @property
    def n(self) -> int:
        """Samples seen; a fraction where rows count in part."""
        n: int = self.counts.sum().item()
        return n

    @property
    def mean_square(self) -> float:
        """Mean squared length of the rows seen; 0 before the first."""
        return float(self.on.diagonal(self._array).sum()) / max(self.counts.sum().item(), 1)

    def grow(self, classes: int) -> None:
        """Append zero columns until there are ``classes`` of them."""
        extra = classes - self.C.shape[1]
        if extra > 0:
            C = self.on.zeros((self.D, classes), self.dtype)
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
        on = self.on
        for start in range(0, H.shape[0], ROWS):
            block = on.array(H[start : min(start + ROWS, H.shape[0]), :], self.C.dtype)
            label = columns[start : start + ROWS]
            present, first = np.unique(label, return_index=True)
            if weights is not None:
                root = np.sqrt(weights[start : start + ROWS]).astype(self.dtype)
                block = block * on.array(root)[:, None]
            on.rank_update(self._array, block, 1.0)
            self._whole, self.residual = False, None
            added = on.product(block.T, on.one_hot(label, present, block))
            on.add_columns(
                self.C, present, added if weights is None else added * on.array(root[first])
            )
        self.counts += np.bincount(columns, minlength=len(self.counts))

    def reorder(self, order: NDArray[np.integer]) -> None:
        """Put the class columns into ``order`` (c,): column j becomes what ``order[j]`` was."""
        if not np.array_equal(order, np.arange(len(self.counts))):
            on = self.on
            self.C, self.counts = on.laid_out(on.take_columns(self.C, order)), self.counts[order]

    def copy(self) -> "Sums":
        """Return a copy of these sums."""
        other = self.empty()
        other.grow(len(self.counts))
        other.merge(self, range(len(self.counts)))
        return other

    def empty(self) -> "Sums":
        """Return sums of nothing of the same size, where these lie."""
        return Sums(self.D, self.dtype, self.on)

    def means(self) -> Array:
        """Return the mean row (D, c) of each class that has rows, on the host."""
        present = self.counts > 0
        return host(self.C)[:, present] / self.counts[present]

    def merge(
        self, other: "Sums", columns: Sequence[int] | NDArray[np.integer], sign: int = 1
    ) -> None:
        """Add ``other``, whose class column j is this one's column ``columns[j]``, or take it away: O(D^2).

        Raises
        ------
        InputError
            When the dimensions differ, or a column does not exist or is named twice.
        NumericalError
            When one side vanishes beside the other (:func:`check_lengths`).
        """
        columns = np.asarray(columns, dtype=np.int64)
        if len(other) != len(self):
            raise InputError(
                f"Cannot merge sums of {len(other)} coordinates into {len(self)}: both "
                "sides must come from the same backbone and map."
            )
        known = np.isin(columns, np.arange(len(self.counts))).all()
        if len(columns) != len(other.counts) or not known or len(set(columns)) != len(columns):
            raise InputError(
                f"Cannot merge {len(other.counts)} class columns as {columns.tolist()} into "
                f"{len(self.counts)}: grow() first and name a column of its own for each class."
            )
        check_lengths(np.array([other.mean_square], dtype=self.dtype), self.mean_square)
        R = self.R
        added, C = self.on.array(other.R, R.dtype), self.on.array(other.C, self.C.dtype)
        if sign > 0:
            R += added
        else:
            R -= added
        self.residual = None
        self.on.add_columns(self.C, columns, C if sign > 0 else -C)
        self.counts[columns] += sign * other.counts
        self.peak = [a + b for a, b in zip(self.peak, other.peak, strict=True)]

    def take_away(self, other: "Sums", balanced: bool = False) -> None:
        """Take away the sums of rows that are in these: D^3 / 3 + 2 D^2 c flops, most of them for the check.

        The difference must be sums of rows.  With S the scatter inside the classes, S is positive semidefinite, and
        a class without rows has none in C.  That is necessary and not sufficient: where rows are many more than
        coordinates, others of a similar kind pass.

        Parameters
        ----------
        balanced : whether the rows of a class weigh 1 together, and not 1 each

        Raises
        ------
        InputError
            When what is left cannot be sums of rows; these sums are then changed.
        """
        self.peak[0] += self.n
        self.peak[1] += self.n * self.mean_square
        self.merge(other, range(len(self.counts)), sign=-1)
        rounding = max(self.rounding)
        live = self.counts > 0
        weights = live[live].astype(np.float64) if balanced else self.counts[live]
        Q = self.on.take_columns(self.C, np.flatnonzero(live)) / self.on.array(np.sqrt(weights))
        lost = float(np.abs(host(self.C)[:, ~live]).max(initial=0))
        if not live.any():
            lost = max(lost, float(np.abs(host(self.diagonal)).max(initial=0)))
        eps = float(np.finfo(self.precision).eps)
        slack = 8 * (rounding + self.D * eps * float(host(self.diagonal).max(initial=0)))
        try:
            if lost > rounding:
                raise NumericalError("a class without rows has a sum")
            with self.factored(slack, downdate=(1.0, Q)):
                pass
        except NumericalError as error:
            raise InputError(
                "these rows were not learned as they are given: without them the sums would be those of no rows. "
                "Usual cause: features that were extracted again, or other labels; give the rows that were learned."
            ) from error

    @property
    def rounding(self) -> tuple[float, float]:
        """Bounds on the norms of what rounding left in R and in C where rows were taken away."""
        n, square = self.peak
        unit = 2 * float(np.finfo(self.precision).eps)
        return unit * square, unit * float(np.sqrt(n * square))

    def error(self, W: Array, least: float, scatter: bool = False) -> float:
        """Return what this rounding can make of weights W (D, c), relative to them in Frobenius norm.

        With A the matrix that is solved and ``least`` below its eigenvalues, ``A dW = dC - dR W``: a bound for a
        ridge.  A head on the ``scatter`` S = R - C diag(n)^-1 C^T has dS for dR; what scales its scores moves
        besides, and the number is an estimate.

        Raises
        ------
        NumericalError
            When it is more than 1%.
        """
        of_R, of_C = self.rounding
        if scatter:
            of_R += 2 * of_C * float(np.sqrt(self.n * self.mean_square / self.counts.min()))
        length = float(np.linalg.norm(host(W)))
        error = (of_R + of_C / length) / least if length and least else np.inf
        if not error <= ALLOWED:
            raise NumericalError(
                f"rounding of the sums, whose trace was {self.peak[1]:.3g}, could move the weights by more than "
                f"{ALLOWED:.0%} at a ridge of {least:.3g}: learn the samples that stay with a new learner, or take a "
                "larger ridge."
            )
        return error


def check_lengths(squares: Array, before: float) -> None:
    """Raise NumericalError where some rows are so long that others vanish beside them in a sum of squares.

    Parameters
    ----------
    squares : (n,) squared lengths of rows, in the precision of the sum
    before : mean of those of earlier rows, 0 without any
    """
    live = squares[squares > 0]
    typical = [before] * (before > 0) + ([float(np.median(live))] if len(live) else [])
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
