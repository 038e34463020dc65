"""Sufficient statistics of each class, or group of classes, apart: any set of them has its R and C without a sample."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from sparcl.algebra.linalg import Gram
from sparcl.algebra.sums import Sums
from sparcl.base.errors import InputError
from sparcl.base.types import Array


class ClassSums:
    """Count and sum of each of ``classes`` classes, second moments of each group, d features, in float64.

    By default each class is a group of its own, and any class order follows; grouped by the sessions
    of one order, sums take the memory of T groups instead of K.  The second moments of a group are kept
    as whichever is smaller: its rows themselves (n_g, d) up to ``most`` = (d + 1) / 2 of them, and above
    that the triangle of ``Phi_g^T Phi_g``, d (d + 1) / 2 numbers.  Memory is bounded by 4 d (d + 1)
    bytes a group, whatever the number of samples: 236 MB for 100 groups of d = 768, half of what whole
    matrices would take.

    Attributes
    ----------
    counts : (classes,) samples; sums : (classes, d) sum of each class's rows
    groups : (classes,) number of each class's group
    most : rows of a group that are kept as they are
    """

    def __init__(self, d: int, classes: int, groups: NDArray[np.integer] | None = None) -> None:
        self.counts = np.zeros(classes, dtype=np.int64)
        self.sums = np.zeros((classes, d))
        self.groups = np.array(np.arange(classes) if groups is None else groups, dtype=np.int64)
        if (
            self.groups.shape != (classes,)
            or not ((0 <= self.groups) & (self.groups < classes)).all()
        ):
            raise InputError(
                f"Groups {self.groups.tolist()} of {classes} classes: give each class the number of its "
                f"group, 0..{classes - 1}. Usual cause: a class order that leaves classes out."
            )
        self.most = (d + 1) // 2
        number = int(self.groups.max(initial=-1)) + 1
        self._rows: list[list[Array]] = [[] for _ in range(number)]
        self._triangles: list[Array | None] = [None] * number

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
        self.counts += np.bincount(y, minlength=self.classes)
        of_group, samples = self.groups[y], self._samples()
        for group in np.unique(of_group):
            rows = np.array(Phi[of_group == group], dtype=np.float64, order="C")
            labels = y[of_group == group]
            for label in np.unique(labels):
                self.sums[label] += rows[labels == label].sum(axis=0)
            self._add(group, samples[group], [rows])

    def merge(self, other: "ClassSums") -> None:
        """Add other sums of the same features, classes and groups.

        Cost: O(d^2) a group that is kept as a triangle, n_g d^2 flops where rows turn into one.

        In exact arithmetic the order of merging is nothing; in this one it is a few last bits.

        Raises
        ------
        InputError
            When features, classes or groups differ; nothing is added.
        """
        if other.sums.shape != self.sums.shape:
            raise InputError(
                f"Cannot merge sums of {other.classes} classes and {other.d} features into "
                f"{self.classes} classes and {self.d} features: both sides must come from the same "
                "backbone and class list."
            )
        if not np.array_equal(other.groups, self.groups):
            label = int(np.argmax(other.groups != self.groups))
            raise InputError(
                f"Cannot merge sums of other groups: class {label} is in group {other.groups[label]}, but in "
                f"{self.groups[label]} here. Sum all shards by class, or by the sessions of one class order."
            )
        self.counts += other.counts
        self.sums += other.sums
        samples = self._samples()
        for group in np.flatnonzero(other._samples()).tolist():
            self._add(group, int(samples[group]), other._rows[group], other._triangles[group])

    def of(self, labels: Sequence[int] | NDArray[np.integer]) -> Sums:
        """Return R, C and counts of all samples of ``labels``, column j those of ``labels[j]``.

        Cost: d^2 / 2 additions a group that is kept as a triangle, n_g d^2 flops one that is rows.

        Raises
        ------
        InputError
            When a class is named twice, does not exist or has no sample, or comes without the others of
            its group.
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
        groups = self.groups[labels]
        groups = groups[np.sort(np.unique(groups, return_index=True)[1])]  # as they come
        left = np.setdiff1d(
            np.flatnonzero(np.isin(self.groups, groups) & (self.counts > 0)), labels
        )
        if len(left):
            raise InputError(
                f"Classes {labels.tolist()} come without class {left[0]} ({len(left)} such classes), whose second "
                "moments were summed with theirs. Usual cause: sums by session and another class order; sum "
                "by class."
            )
        result = Sums(self.d)
        triangles = [self._triangles[i] for i in groups if self._triangles[i] is not None]
        if triangles:
            total = triangles[0].copy()
            for triangle in triangles[1:]:
                total += triangle
            result.gram = Gram.wrap(_whole(total, self.d))
        rows = list(chain.from_iterable(self._rows[i] for i in groups))
        if rows:
            result.gram.add(np.concatenate(rows))
        result.C = np.asfortranarray(self.sums[labels].T)
        result.counts = self.counts[labels]
        return result

    def state(self) -> dict[str, Any]:
        """Return all arrays by name: ``triangle/<group>`` or ``rows/<group>`` of each group."""
        state: dict[str, Any] = {"counts": self.counts, "sums": self.sums, "groups": self.groups}
        for group in np.flatnonzero(self._samples()):
            triangle = self._triangles[group]
            if triangle is not None:
                state[f"triangle/{group}"] = triangle
            else:
                rows = self._rows[group]
                state[f"rows/{group}"] = rows[0] if len(rows) == 1 else np.concatenate(rows)
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return sums on the arrays that :meth:`state` gave; KeyError or ValueError where it is no such state."""
        counts, sums = state["counts"], state["sums"]
        result = cls(sums.shape[1], len(sums), state["groups"])
        result.counts, result.sums = np.array(counts, dtype=np.int64), np.array(sums)
        samples = result._samples()
        for group in np.flatnonzero(samples):
            if samples[group] > result.most:
                triangle = np.asarray(state[f"triangle/{group}"], dtype=np.float64)
                if triangle.shape != (result.d * (result.d + 1) // 2,):
                    raise ValueError(f"triangle/{group} has shape {triangle.shape}")
                result._triangles[group] = triangle
            else:
                rows = np.ascontiguousarray(state[f"rows/{group}"], dtype=np.float64)
                if rows.shape != (samples[group], result.d):
                    raise ValueError(f"rows/{group} have shape {rows.shape}")
                result._rows[group] = [rows]
        return result

    def _samples(self) -> NDArray[np.int64]:
        """Return how many samples each group has."""
        samples = np.zeros(len(self._rows), dtype=np.int64)
        np.add.at(samples, self.groups, self.counts)
        return samples

    def _add(
        self, group: int, samples: int, rows: list[Array], triangle: Array | None = None
    ) -> None:
        """Add second moments to a group that has so many samples with these."""
        rows = self._rows[group] + rows
        if samples <= self.most:
            self._rows[group] = rows
            return
        total = self._triangles[group]
        if total is None:
            total = np.zeros(self.d * (self.d + 1) // 2)
        if triangle is not None:
            total += triangle
        if rows:
            Phi = np.concatenate(rows)
            (sfrk,) = get_lapack_funcs(("sfrk",), (total,))
            # Phi in C order is Phi^T in Fortran order: no copy is made.
            total = sfrk(self.d, len(Phi), 1.0, Phi.T, 1.0, total, uplo="L", overwrite_c=1)
        self._rows[group], self._triangles[group] = [], total


def _whole(triangle: Array, d: int) -> Array:
    """Return the symmetric matrix (d, d) of a triangle in LAPACK's rectangular full packed form."""
    (tfttr,) = get_lapack_funcs(("tfttr",), (triangle,))
    lower = np.tril(tfttr(d, triangle, uplo="L")[0])
    return np.asfortranarray(lower + np.tril(lower, -1).T)
