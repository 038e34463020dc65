"""Second moments of one group of samples, in whichever form is smaller: its rows, or a packed triangle."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import get_lapack_funcs

from sparcl.algebra.backend import Backend
from sparcl.algebra.gram import Gram
from sparcl.algebra.lapack import HOST
from sparcl.base.types import Array


def most_rows(d: int) -> int:
    """Return how many rows of d features take no more memory than their triangle: (d + 1) / 2."""
    return (d + 1) // 2


def form(n: int, d: int) -> str:
    """Return ``rows`` or ``triangle``: how n rows of d features are kept."""
    return "rows" if n <= most_rows(d) else "triangle"


class Moments:
    """``Phi^T Phi`` (d, d) of the n rows of one group, in float64.

    Attributes
    ----------
    n : rows so far
    rows : the rows themselves, in parts (n_i, d), while there are at most (d + 1) / 2
    triangle : above that, d (d + 1) / 2 numbers in LAPACK's rectangular full packed form; None before
    """

    def __init__(self, d: int) -> None:
        self.d, self.n = d, 0
        self.rows: list[Array] = []
        self.triangle: Array | None = None

    @classmethod
    def of(cls, d: int, n: int, content: Array) -> "Moments":
        """Return moments of n rows on the array that :attr:`content` gave; ValueError where it cannot be that."""
        result = cls(d)
        result.n = n
        content = np.ascontiguousarray(content, dtype=np.float64)
        if content.shape != ((n, d) if result.form == "rows" else (d * (d + 1) // 2,)):
            raise ValueError(f"{result.form} of {n} samples with shape {content.shape}")
        if result.form == "rows":
            result.rows = [content]
        else:
            result.triangle = content
        return result

    @property
    def form(self) -> str:
        """``rows`` or ``triangle``: what is kept."""
        return form(self.n, self.d)

    @property
    def content(self) -> Array:
        """What is kept, as one array: rows (n, d), or a triangle (d (d + 1) / 2,)."""
        if self.triangle is not None:
            return self.triangle
        return self.rows[0] if len(self.rows) == 1 else np.concatenate(self.rows)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays kept."""
        triangle = 0 if self.triangle is None else self.triangle.nbytes
        return triangle + sum(part.nbytes for part in self.rows)

    def add(self, rows: Array) -> None:
        """Add rows (n, d) in C order, which are kept and not copied: n d^2 flops where they are summed."""
        self._add(len(rows), [rows], None)

    def merge(self, other: "Moments") -> None:
        """Add other moments of d features: O(d^2) for a triangle, n d^2 flops where rows turn into one."""
        self._add(other.n, other.rows, other.triangle)

    def _add(self, n: int, rows: list[Array], triangle: Array | None) -> None:
        self.n += n
        rows = self.rows + rows
        if self.form == "rows":
            self.rows = rows
            return
        total = self.triangle
        if total is None:
            total = np.zeros(self.d * (self.d + 1) // 2)
        if triangle is not None:
            total += triangle
        if rows:
            Phi = np.concatenate(rows)
            (sfrk,) = get_lapack_funcs(("sfrk",), (total,))
            # Phi in C order is Phi^T in Fortran order: no copy is made.
            total = sfrk(self.d, len(Phi), 1.0, Phi.T, 1.0, total, uplo="L", overwrite_c=1)
        self.rows, self.triangle = [], total

    def placed(self, on: Backend) -> "Moments":
        """Return the same moments for reading where a learner computes; on the host nothing is copied."""
        result = Moments(self.d)
        result.n = self.n
        result.rows = [on.array(part) for part in self.rows]
        result.triangle = None if self.triangle is None else on.array(self.triangle)
        return result


def summed(d: int, groups: Sequence[Moments], on: Backend = HOST) -> Gram:
    """Return ``Phi^T Phi`` (d, d) of all groups together, which lie on ``on``.

    Cost: d^2 / 2 additions for a group that is a triangle, n d^2 flops for one that is rows.
    """
    gram = Gram(d, on=on)
    triangles = [group.triangle for group in groups if group.triangle is not None]
    if triangles:
        total = on.xp.asarray(triangles[0], copy=True)
        for triangle in triangles[1:]:
            total += triangle
        gram = Gram.wrap(on.unpacked(total, d))
    rows = [part for group in groups for part in group.rows]
    if rows:
        gram.add(on.xp.concat(rows))
    return gram
