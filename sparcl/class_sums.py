"""Sufficient statistics of each class apart: any set of classes has its R and C without a sample."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from sparcl.errors import InputError
from sparcl.linalg import Gram
from sparcl.statistics import Statistics

Array = NDArray[np.float64]


class ClassSums:
    """Count, sum and second moments of each of ``classes`` classes, d features, in float64.

    The second moments of a class are kept as whichever is smaller: its rows themselves (n_c, d) up
    to ``most`` = (d + 1) / 2 of them, and above that the triangle of ``Phi_c^T Phi_c``, d (d + 1) / 2
    numbers.  Memory is bounded by 4 d (d + 1) bytes a class, whatever the number of samples: 236 MB
    for 100 classes of d = 768, half of what whole matrices would take.

    Attributes
    ----------
    counts : (classes,) samples; sums : (classes, d) sum of each class's rows
    most : rows of a class that are kept as they are
    """

    def __init__(self, d: int, classes: int) -> None:
        self.counts = np.zeros(classes, dtype=np.int64)
        self.sums = np.zeros((classes, d))
        self.most = (d + 1) // 2
        self._rows: list[list[Array]] = [[] for _ in range(classes)]
        self._triangles: list[Array | None] = [None] * classes

    @property
    def d(self) -> int:
        """Features."""
        return self.sums.shape[1]

    @property
    def classes(self) -> int:
        """Classes, with samples or without."""
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays kept."""
        triangles = (triangle for triangle in self._triangles if triangle is not None)
        parts = chain([self.counts, self.sums], triangles, *self._rows)
        return sum(part.nbytes for part in parts)

    def accumulate(self, Phi: NDArray[np.floating], y: NDArray[np.integer]) -> None:
        """Add samples Phi (n, d) with labels y (n,) in 0..classes-1: n d^2 flops at most.

        Raises
        ------
        InputError
            For wrong shapes, labels out of range, or a feature that is not finite; nothing is added.
        """
        Phi, y = np.asarray(Phi), np.asarray(y)
        if y.ndim != 1 or Phi.shape != (len(y), self.d):
            raise InputError(
                f"Phi must be (n, {self.d}) and its labels y (n,), got shapes {Phi.shape} and {y.shape}: "
                "all samples must come from the same backbone."
            )
        if len(y) and not (
            np.issubdtype(y.dtype, np.integer) and 0 <= y.min() <= y.max() < self.classes
        ):
            raise InputError(
                f"Labels reach from {y.min()} to {y.max()} ({y.dtype}): they must be whole numbers in "
                f"0..{self.classes - 1}, positions in the class list."
            )
        if not np.isfinite(Phi).all():
            row = int(np.argmin(np.isfinite(Phi).all(axis=1)))
            raise InputError(f"Phi, row {row}: the feature is not finite and cannot be summed.")
        for label in np.unique(y):
            rows = np.array(Phi[y == label], dtype=np.float64, order="C")
            self.counts[label] += len(rows)
            self.sums[label] += rows.sum(axis=0)
            self._add(label, [rows])

    def merge(self, other: "ClassSums") -> None:
        """Add other sums of the same features and classes: O(d^2) a class.

        In exact arithmetic the order of merging is nothing; in this one it is a few last bits.

        Raises
        ------
        InputError
            When features or classes differ in number; nothing is added.
        """
        if other.sums.shape != self.sums.shape:
            raise InputError(
                f"Cannot merge sums of {other.classes} classes and {other.d} features into "
                f"{self.classes} classes and {self.d} features: both sides must come from the same "
                "backbone and class list."
            )
        self.counts += other.counts
        self.sums += other.sums
        for label in np.flatnonzero(other.counts):
            self._add(label, other._rows[label], other._triangles[label])

    def of(self, labels: Sequence[int] | NDArray[np.integer]) -> Statistics:
        """Return R, C and counts of all samples of ``labels``, column j those of ``labels[j]``.

        Cost: d^2 / 2 additions a class that is kept as a triangle, n_c d^2 flops one that is rows.

        Raises
        ------
        InputError
            When a class is named twice, does not exist or has no sample.
        """
        labels = np.asarray(labels, dtype=np.int64)
        known = np.isin(labels, np.flatnonzero(self.counts))
        if len(labels) == 0 or not known.all() or len(np.unique(labels)) != len(labels):
            unknown = f" (without samples: {labels[~known].tolist()})" if not known.all() else ""
            raise InputError(
                f"Classes {labels.tolist()}{unknown}: name each once, among the {self.classes} classes "
                "that were summed. Usual cause: a class order of another data set, or a shard that is "
                "missing."
            )
        result = Statistics(self.d)
        triangles = [self._triangles[i] for i in labels if self._triangles[i] is not None]
        if triangles:
            total = triangles[0].copy()
            for triangle in triangles[1:]:
                total += triangle
            result.gram = Gram.wrap(_whole(total, self.d))
        rows = list(chain.from_iterable(self._rows[i] for i in labels))
        if rows:
            result.gram.add(np.concatenate(rows))
        result.C = np.asfortranarray(self.sums[labels].T)
        result.counts = self.counts[labels]
        return result

    def state(self) -> dict[str, Any]:
        """Return all arrays by name: ``triangle/<label>`` or ``rows/<label>`` of each class."""
        state: dict[str, Any] = {"counts": self.counts, "sums": self.sums}
        for label in np.flatnonzero(self.counts):
            triangle = self._triangles[label]
            if triangle is not None:
                state[f"triangle/{label}"] = triangle
            else:
                state[f"rows/{label}"] = np.concatenate(self._rows[label])
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the sums that :meth:`state` gave; KeyError or ValueError where it is no such state."""
        counts, sums = state["counts"], state["sums"]
        result = cls(sums.shape[1], len(sums))
        result.counts, result.sums = np.array(counts, dtype=np.int64), np.array(sums)
        for label in np.flatnonzero(counts):
            if counts[label] > result.most:
                triangle = np.array(state[f"triangle/{label}"], dtype=np.float64)
                if triangle.shape != (result.d * (result.d + 1) // 2,):
                    raise ValueError(f"triangle/{label} has shape {triangle.shape}")
                result._triangles[label] = triangle
            else:
                rows = np.array(state[f"rows/{label}"], dtype=np.float64, order="C")
                if rows.shape != (counts[label], result.d):
                    raise ValueError(f"rows/{label} have shape {rows.shape}")
                result._rows[label] = [rows]
        return result

    def _add(self, label: int, rows: list[Array], triangle: Array | None = None) -> None:
        """Add second moments of samples that are counted already."""
        rows = self._rows[label] + rows
        if self.counts[label] <= self.most:
            self._rows[label] = rows
            return
        total = self._triangles[label]
        if total is None:
            total = np.zeros(self.d * (self.d + 1) // 2)
        if triangle is not None:
            total += triangle
        if rows:
            Phi = np.concatenate(rows)
            (sfrk,) = get_lapack_funcs(("sfrk",), (total,))
            # Phi in C order is Phi^T in Fortran order: no copy is made.
            total = sfrk(self.d, len(Phi), 1.0, Phi.T, 1.0, total, uplo="L", overwrite_c=1)
        self._rows[label], self._triangles[label] = [], total


def _whole(triangle: Array, d: int) -> Array:
    """Return the symmetric matrix (d, d) of a triangle in LAPACK's rectangular full packed form."""
    (tfttr,) = get_lapack_funcs(("tfttr",), (triangle,))
    lower = np.tril(tfttr(d, triangle, uplo="L")[0])
    return np.asfortranarray(lower + np.tril(lower, -1).T)
