"""Sufficient statistics of each class, or group of classes, apart: any set of them has its R and C without a sample."""

import copy
from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from sparcl.algebra.backend import Backend
from sparcl.algebra.host import HOST
from sparcl.algebra.sums import Sums
from sparcl.base.errors import InputError
from sparcl.base.state import Shape, Stateful, send
from sparcl.base.types import Array


@dataclass(eq=False)
class ClassSums(Stateful):
    """Count and sum of each class, second moments of each group of classes, d features, in float64.

    By default each class is a group of its own, and any class order follows; grouped by the sessions
    of one order, sums take the memory of T groups instead of K.  The second moments of a group are kept
    as whichever is smaller, its rows or a triangle in LAPACK's rectangular full packed form.  Memory
    is bounded by 4 d (d + 1) bytes a group, whatever the number of samples: 236 MB for 100 groups of
    d = 768, half of what whole matrices would take.

    Parameters
    ----------
    number : of classes
    numbers : (classes,) number of each class's group, below ``classes``; by default each class is one

    Attributes
    ----------
    counts : (classes,) samples; sums : (classes, d) sum of each class's rows
    groups : (classes,) number of each class's group
    moments : by number of a group, its rows (n, d), or a triangle (d (d + 1) / 2,)
    on : where sums and second moments lie
    """

    d: int
    number: InitVar[int] = 0
    numbers: InitVar[NDArray[np.integer] | None] = None
    kept: ClassVar[dict[str, Shape | None]] = {
        "counts": ("K",),
        "sums": ("K", "d"),
        "groups": ("K",),
        "moments": list[np.ndarray],
    }

    def __post_init__(self, number: int, numbers: NDArray[np.integer] | None) -> None:
        self.on: Backend = HOST
        self.counts = np.zeros(number, dtype=np.int64)
        self.sums: Array = np.zeros((number, self.d))
        self.groups = np.array(np.arange(number) if numbers is None else numbers, dtype=np.int64)
        self.moments: list[Array] = [np.zeros((0, self.d))] * number

    def check_state(self) -> None:
        """Raise ValueError where counts, groups and moments that were read contradict each other."""
        kinds = {np.int64: (self.counts, self.groups), np.float64: (self.sums, *self.moments)}
        if any(array.dtype != kind for kind, arrays in kinds.items() for array in arrays):
            raise ValueError("arrays of other types")
        if self.counts.min(initial=0) < 0:
            raise ValueError("counts below zero")
        samples = np.bincount(self.groups, self.counts, minlength=self.classes).astype(np.int64)
        triangle = (self.d * (self.d + 1) // 2,)
        wanted = [(n, self.d) if n <= self.most else triangle for n in samples.tolist()]
        if [array.shape for array in self.moments] != wanted:
            raise ValueError("second moments of another form than their samples have")

    @property
    def classes(self) -> int:
        """Classes, with samples or without."""
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays kept."""
        moments = sum(array.nbytes for array in self.moments)
        return self.counts.nbytes + self.sums.nbytes + moments

    @property
    def most(self) -> int:
        """Rows of a group that take no more memory than a triangle: (d + 1) / 2."""
        return (self.d + 1) // 2

    def accumulate(self, Phi: NDArray[np.floating], y: NDArray[np.integer]) -> None:
        """Add samples Phi (n, d) with labels y (n,) in 0..classes-1: n d^2 flops at most."""
        self.make_writeable()
        self.counts += np.bincount(y, minlength=self.classes)
        of_group = self.groups[y]
        for group in np.unique(of_group):
            rows = np.array(Phi[of_group == group], dtype=np.float64, order="C")
            labels = y[of_group == group]
            for label in np.unique(labels):
                self.sums[label] += rows[labels == label].sum(axis=0)
            self._add(group, rows)

    def _add(self, group: int, content: Array) -> None:
        """Add rows (n, d) in C order, or a triangle, to the second moments of a group."""
        own = self.moments[group]
        rows = [part for part in (own, content) if part.ndim == 2]
        if len(rows) == 2 and len(own) + len(content) <= self.most:
            self.moments[group] = np.concatenate(rows)
            return
        total = own if own.ndim == 1 else np.zeros(self.d * (self.d + 1) // 2)
        if content.ndim == 1:
            total += content
        if rows:
            Phi = np.concatenate(rows)
            (sfrk,) = get_lapack_funcs(("sfrk",), (total,))
            # Phi in C order is Phi^T in Fortran order: no copy is made.
            total = sfrk(self.d, len(Phi), 1.0, Phi.T, 1.0, total, uplo="L", overwrite_c=1)
        self.moments[group] = total

    def merge(self, other: "ClassSums") -> None:
        """Add other sums of the same features, classes and groups.

        Cost: O(d^2) a group that is kept as a triangle, n_g d^2 flops where rows turn into one.

        In exact arithmetic the order of merging is nothing; in this one it is a few last bits.

        Raises
        ------
        InputError
            When groups differ; nothing is added.
        """
        if not np.array_equal(other.groups, self.groups):
            label = int(np.argmax(other.groups != self.groups))
            raise InputError(
                f"Cannot merge sums of other groups: class {label} is in group {other.groups[label]}, but in "
                f"{self.groups[label]} here. Sum all shards by class, or by the sessions of one class order."
            )
        self.make_writeable()
        self.counts += other.counts
        self.sums += other.sums
        for group, content in enumerate(other.moments):
            if len(content):
                self._add(group, content)

    def of(self, labels: Sequence[int] | NDArray[np.integer]) -> Sums:
        """Return R, C and counts of all samples of ``labels``, column j those of ``labels[j]``, where these lie.

        Cost: d^2 / 2 additions a group that is kept as a triangle, n_g d^2 flops one that is rows.

        Raises
        ------
        InputError
            When a class is named twice, does not exist or has no sample, or comes without the others of
            its group.
        """
        labels, on = np.asarray(labels, dtype=np.int64), self.on
        _check_summed(labels, self)
        groups = self.groups[labels]
        groups = groups[np.sort(np.unique(groups, return_index=True)[1])]  # as they come
        moments = [self.moments[group] for group in groups]
        triangles = [array for array in moments if array.ndim == 1]
        rows = [array for array in moments if array.ndim == 2]
        result = Sums(self.d, on=on)
        if triangles:
            total = on.xp.asarray(triangles[0], copy=True)
            for triangle in triangles[1:]:
                total += triangle
            result.R = on.unpacked(total, self.d)
        if rows:
            result.add(on.xp.concat(rows))
        result.C = on.laid_out(on.take_rows(self.sums, labels).T)
        result.counts = self.counts[labels]
        return result

    def placed(self, on: Backend) -> "ClassSums":
        """Return the same sums for reading where learners compute, sent there once; on the host nothing is copied.

        Raises
        ------
        InputError
            When they do not fit into the memory that is free there; nothing is sent.
        """
        check_free(on, f"Sums of {self.classes} classes", self.nbytes)
        placed = copy.copy(self)
        placed.on = on
        send(placed, on.array)
        return placed


def _check_summed(labels: NDArray[np.integer], sums: ClassSums) -> None:
    """Raise InputError unless each label is named once, has samples, and its whole group is named."""
    known = np.isin(labels, np.flatnonzero(sums.counts))
    if len(labels) == 0 or not known.all() or len(np.unique(labels)) != len(labels):
        unknown = f" (without samples: {labels[~known].tolist()})" if not known.all() else ""
        raise InputError(
            f"Classes {labels.tolist()}{unknown}: name each once, among the {sums.classes} classes "
            "that were summed. Usual cause: a class order of another data set, or a shard that is "
            "missing."
        )
    named = np.isin(sums.groups, sums.groups[labels]) & (sums.counts > 0)
    left = np.setdiff1d(np.flatnonzero(named), labels)
    if len(left):
        raise InputError(
            f"Classes {labels.tolist()} come without class {left[0]} ({len(left)} such classes), whose second "
            "moments were summed with theirs. Usual cause: sums by session and another class order; sum "
            "by class."
        )


def check_free(on: Backend, what: str, need: int) -> None:
    """Raise InputError where ``need`` bytes of something that has no width are not free; it names both."""
    free = on.free()
    if free is not None and need > free:
        raise InputError(
            f"{what} need {need / 2**30:,.1f} GiB on {on.name}, and {free / 2**30:,.1f} GiB are free: take device cpu, "
            "or a card with more memory."
        )
