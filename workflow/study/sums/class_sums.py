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


def most_rows(d: int) -> int:
    """Return how many rows of d features take no more memory than their triangle: (d + 1) / 2."""
    return (d + 1) // 2


def form(n: int, d: int) -> str:
    """Return ``rows`` or ``triangle``: how n rows of d features are kept."""
    return "rows" if n <= most_rows(d) else "triangle"


class Moments(InPlace):
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
        """The kept statistics as one array: rows (n, d), or a triangle (d (d + 1) / 2,)."""
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


def add_moments(sums: Sums, groups: Sequence[Moments]) -> None:
    """Add ``Phi^T Phi`` (d, d) of all groups together, which lie where ``sums`` of nothing do.

    Cost: d^2 / 2 additions for a group that is a triangle, n d^2 flops for one that is rows.
    """
    on = sums.on
    triangles = [group.triangle for group in groups if group.triangle is not None]
    if triangles:
        total = on.xp.asarray(triangles[0], copy=True)
        for triangle in triangles[1:]:
            total += triangle
        sums.R = on.unpacked(total, sums.D)
    rows = [part for group in groups for part in group.rows]
    if rows:
        sums.add(on.xp.concat(rows))


class ClassSums(InPlace):
    """Count and sum of each of ``classes`` classes, second moments of each group, d features, in float64.

    By default each class is a group of its own, and any class order follows; grouped by the sessions
    of one order, sums take the memory of T groups instead of K.  The second moments of a group are kept
    as whichever is smaller, its rows or a triangle (:class:`study.sums.class_sums.Moments`).  Memory
    is bounded by 4 d (d + 1) bytes a group, whatever the number of samples: 236 MB for 100 groups of
    d = 768, half of what whole matrices would take.

    Attributes
    ----------
    counts : (classes,) samples; sums : (classes, d) sum of each class's rows
    groups : (classes,) number of each class's group
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
        self._moments = [Moments(d) for _ in range(number)]

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
        moments = sum(group.nbytes for group in self._moments)
        return self.counts.nbytes + self.sums.nbytes + moments

    @property
    def most(self) -> int:
        """Rows of a group that are kept as they are."""
        return most_rows(self.d)

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
            self._moments[group].add(rows)

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
        for own, others in zip(self._moments, other._moments, strict=True):
            if others.n:
                own.merge(others)

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
        result = Sums(self.d, on=on)
        add_moments(result, [self._moments[group] for group in groups])
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
        placed.sums, placed._moments = on.array(self.sums), [m.placed(on) for m in self._moments]
        return placed

    def state(self) -> dict[str, Any]:
        """Return all arrays by name: ``triangle/<group>`` or ``rows/<group>`` of each group."""
        state: dict[str, Any] = {"counts": self.counts, "sums": self.sums, "groups": self.groups}
        moments = enumerate(self._moments)
        return state | {f"{m.form}/{group}": m.content for group, m in moments if m.n}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return sums on the arrays that :meth:`state` gave; KeyError or ValueError where it is no such state."""
        counts, sums = state["counts"], state["sums"]
        result = cls(sums.shape[1], len(sums), state["groups"])
        result.counts, result.sums = np.array(counts, dtype=np.int64), np.array(sums)
        samples = np.zeros(len(result._moments), dtype=np.int64)
        np.add.at(samples, result.groups, result.counts)
        for group in np.flatnonzero(samples).tolist():
            n = int(samples[group])
            content = state[f"{form(n, result.d)}/{group}"]
            result._moments[group] = Moments.of(result.d, n, content)
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
