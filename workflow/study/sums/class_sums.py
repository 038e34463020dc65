"""Sufficient statistics of each class, or group of classes, apart: any set of them has its R and C without a sample."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from sparcl.algebra.backend import Backend
from sparcl.algebra.host import HOST
from sparcl.algebra.sums import Sums
from sparcl.base.errors import InputError
from sparcl.base.state import InPlace
from sparcl.base.types import Array


class ClassSums(InPlace):
    """Count and sum of each of ``classes`` classes, second moments of each group, d features, in float64.

    By default each class is a group of its own, and any class order follows; grouped by the sessions
    of one order, sums take the memory of T groups instead of K.  The second moments of a group are kept
    as whichever is smaller, its rows or a triangle in LAPACK's rectangular full packed form.  Memory
    is bounded by 4 d (d + 1) bytes a group, whatever the number of samples: 236 MB for 100 groups of
    d = 768, half of what whole matrices would take.

    Attributes
    ----------
    counts : (classes,) samples; sums : (classes, d) sum of each class's rows
    groups : (classes,) number of each class's group
    moments : of each group its rows (n, d), or a triangle (d (d + 1) / 2,); None before the first row
    on : where sums and second moments lie
    """

    def __init__(self, d: int, classes: int, groups: NDArray[np.integer] | None = None) -> None:
        self.on: Backend = HOST
        self.counts = np.zeros(classes, dtype=np.int64)
        self.sums: Array = np.zeros((classes, d))
        self.groups = np.array(np.arange(classes) if groups is None else groups, dtype=np.int64)
        if (
            self.groups.shape != (classes,)
            or not ((0 <= self.groups) & (self.groups < classes)).all()
        ):
            raise InputError(
                f"Groups {self.groups.tolist()} of {classes} classes: give each class the number of its "
                f"group, 0..{classes - 1}. Usual cause: a class order that leaves classes out."
            )
        number = int(self.groups.max(initial=-1)) + 1
        self.moments: list[Array | None] = [None] * number

    @property
    def d(self) -> int:
        """Features."""
        return int(self.sums.shape[1])

    @property
    def classes(self) -> int:
        """Classes, with samples or without."""
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays kept."""
        moments = sum(array.nbytes for array in self.moments if array is not None)
        return self.counts.nbytes + self.sums.nbytes + moments

    @property
    def most(self) -> int:
        """Rows of a group that take no more memory than a triangle: (d + 1) / 2."""
        return (self.d + 1) // 2

    def accumulate(self, Phi: NDArray[np.floating], y: NDArray[np.integer]) -> None:
        """Add samples Phi (n, d) with labels y (n,) in 0..classes-1: n d^2 flops at most.

        Raises
        ------
        InputError
            For wrong shapes, labels out of range, or a feature that is not finite; nothing is added.
        """
        Phi, y = np.asarray(Phi), np.asarray(y)
        _check_samples(Phi, y, self)
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
        parts = [content] if own is None else [own, content]
        rows = [part for part in parts if part.ndim == 2]
        if len(rows) == len(parts) and sum(map(len, rows)) <= self.most:
            self.moments[group] = np.concatenate(rows)
            return
        size = self.d * (self.d + 1) // 2
        total = own if own is not None and own.ndim == 1 else np.zeros(size)
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
            When features, classes or groups differ; nothing is added.
        """
        _check_alike(self, other)
        self.make_writeable()
        self.counts += other.counts
        self.sums += other.sums
        for group, content in enumerate(other.moments):
            if content is not None:
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
        moments = [array for group in groups if (array := self.moments[group]) is not None]
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
        placed = ClassSums(0, 0)
        placed.on, placed.counts, placed.groups = on, self.counts, self.groups
        placed.sums = on.array(self.sums)
        placed.moments = [None if array is None else on.array(array) for array in self.moments]
        return placed

    def state(self) -> dict[str, Any]:
        """Return all arrays by name, ``moments/<group>`` those of each group."""
        state: dict[str, Any] = {"counts": self.counts, "sums": self.sums, "groups": self.groups}
        kept = {f"moments/{group}": array for group, array in enumerate(self.moments)}
        return state | {name: array for name, array in kept.items() if array is not None}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return sums on the arrays that :meth:`state` gave; KeyError or ValueError where it is no such state."""
        counts, sums = state["counts"], state["sums"]
        result = cls(sums.shape[1], len(sums), state["groups"])
        result.counts, result.sums = np.array(counts, dtype=np.int64), np.array(sums)
        samples = np.zeros(len(result.moments), dtype=np.int64)
        np.add.at(samples, result.groups, result.counts)
        for group in np.flatnonzero(samples).tolist():
            n, d = int(samples[group]), result.d
            content = np.ascontiguousarray(state[f"moments/{group}"], dtype=np.float64)
            if content.shape != ((n, d) if n <= result.most else (d * (d + 1) // 2,)):
                raise ValueError(f"moments of {n} samples with shape {content.shape}")
            result.moments[group] = content
        return result


def _check_samples(Phi: NDArray[Any], y: NDArray[Any], sums: ClassSums) -> None:
    """Raise InputError unless samples Phi (n, d) with labels y (n,) can be added."""
    if y.ndim != 1 or Phi.shape != (len(y), sums.d):
        raise InputError(
            f"Phi must be (n, {sums.d}) and its labels y (n,), got shapes {Phi.shape} and {y.shape}: "
            "all samples must come from the same backbone."
        )
    whole = np.issubdtype(y.dtype, np.integer)
    if len(y) and not (whole and 0 <= y.min() <= y.max() < sums.classes):
        raise InputError(
            f"Labels reach from {y.min()} to {y.max()} ({y.dtype}): they must be whole numbers in "
            f"0..{sums.classes - 1}, positions in the class list."
        )
    if not np.isfinite(Phi).all():
        row = int(np.argmin(np.isfinite(Phi).all(axis=1)))
        raise InputError(f"Phi, row {row}: the feature is not finite and cannot be summed.")


def _check_alike(one: ClassSums, other: ClassSums) -> None:
    """Raise InputError unless features, classes and groups are the same."""
    if other.sums.shape != one.sums.shape:
        raise InputError(
            f"Cannot merge sums of {other.classes} classes and {other.d} features into "
            f"{one.classes} classes and {one.d} features: both sides must come from the same "
            "backbone and class list."
        )
    if not np.array_equal(other.groups, one.groups):
        label = int(np.argmax(other.groups != one.groups))
        raise InputError(
            f"Cannot merge sums of other groups: class {label} is in group {other.groups[label]}, but in "
            f"{one.groups[label]} here. Sum all shards by class, or by the sessions of one class order."
        )


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
