"""A symmetric matrix that is summed and factored in place, on whichever device it lies."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from sparcl.algebra.backend import Backend, Factor, of
from sparcl.algebra.lapack import HOST
from sparcl.base.errors import NumericalError
from sparcl.base.types import Array

ROUNDING = 4  # a pivot below so many units in the last place of its diagonal entry is no number


class Gram:
    """A symmetric matrix (d, d) of which the lower triangle counts and the upper one is workspace.

    Sums and factorisations touch one triangle each, so neither copies the matrix; the upper one is
    filled in again when somebody asks for the whole.

    Attributes
    ----------
    residual : largest relative residual of the solutions that were refined since rows or sums were added
        last; None where none was
    """

    def __init__(self, d: int, dtype: DTypeLike = np.float64, on: Backend = HOST) -> None:
        on.check_room("R", (d, d), dtype)
        self.on = on
        self._array = on.zeros((d, d), dtype)
        self._whole = True
        self.residual: float | None = None

    @classmethod
    def wrap(cls, R: Array, whole: bool = True) -> "Gram":
        """Return symmetric R (d, d), or its lower triangle, as a Gram; R itself, where products take its layout."""
        gram = cls(0, on=of(R))
        gram._array, gram._whole = gram.on.in_place(R), whole
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
    def dtype(self) -> np.dtype[Any]:
        """Working precision."""
        return self.on.dtype(self._array)

    @property
    def refines(self) -> bool:
        """Whether solutions by a factor are refined in this precision."""
        return self.on.refines(self.dtype)

    @property
    def diagonal(self) -> Array:
        """The diagonal (d,), on the host; do not write into it."""
        return self.on.diagonal(self._array)

    @property
    def full(self) -> Array:
        """The whole matrix; do not write into it."""
        if not self._whole:
            self.on.mirror(self._array)
            self._whole = True
        return self._array

    def add(self, Phi: Array, sign: float = 1.0) -> None:
        """Add ``sign Phi^T Phi`` for Phi (n, d): n d^2 flops (symmetric rank-n update)."""
        self.on.rank_update(self._array, Phi, sign)
        self._whole, self.residual = False, None

    def merge(self, other: "Gram") -> None:
        """Add another symmetric matrix of the same size, of any device, in place: d^2 flops."""
        R = self.full
        R += self.on.array(other.full, R.dtype)
        self.residual = None

    def times(self, B: Array) -> Array:
        """Return the product with B (d,) or (d, n): 2 n d^2 flops."""
        R = self._array if self.on.reads_triangle else self.full
        return self.on.symmetric_times(R, B)

    @contextmanager
    def factored(
        self, shift: float, *, downdate: tuple[float, Array] | None = None
    ) -> Iterator[Factor]:
        """Factor ``A = R + shift I - weight Q Q^T`` in the upper triangle for the block's length.

        R must not be used inside the block; on leaving it is what it was, to the bit.  ``downdate``
        is ``(weight, Q)`` with Q (d, m).  Cost: d^3 / 3 flops, no d x d copy.

        Raises
        ------
        NumericalError
            When A is not positive definite to working precision.
        """
        R, diagonal = self.full, self.diagonal.copy()
        self._whole = False
        with self.on.factored(R, shift, downdate) as (factor, info):
            if not info:
                # a pivot that is only what rounding left of its diagonal entry
                least = ROUNDING * np.finfo(self.dtype).eps * (diagonal + shift)
                lost = factor.pivots**2 <= least
                info = int(np.argmax(lost)) + 1 if lost.any() else 0
            if info:
                largest = diagonal.max()
                condition = f"about {largest / shift:.1e} or more" if shift else "without bound"
                raise NumericalError(
                    f"R + {shift:g} I is not positive definite (d = {len(self)}, {self.dtype}, leading "
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
