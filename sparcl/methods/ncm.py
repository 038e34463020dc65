"""Nearest class mean: score = cosine(f, mean of the class).

Source: SimpleCIL (RevisitingCIL, 2023) and RanPAC's NCM row; the prototype is the arithmetic mean
of a class's features as given.  A class mean does not change after its session, so that the last accuracy
depends on neither T nor the order.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.summed import Summed


@dataclass(eq=False)
class NearestClassMean(Summed):
    """Keeps one sum and one count a class: O(n d) a session."""

    cannot_forget: ClassVar[str] = ""
    classes_apart: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {"sums": ("d", "c"), "counts": ("c",)}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sums: Array = np.zeros((0, 0))
        self.counts = np.zeros(0, dtype=np.int64)

    @property
    def undivided(self) -> str:
        """Nothing: a session may come in parts."""
        return ""

    @property
    def weights(self) -> Array:
        """Unit-norm class means (d, c)."""
        return unit((self.sums / self.counts).T).T

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        self._add_samples(Phi, columns, classes)

    def _add_samples(self, Phi: Array, columns: NDArray[np.integer], classes: int) -> None:
        self._grow(Phi.shape[1], classes)
        self.counts += np.bincount(columns, minlength=classes)
        for column in np.unique(columns):
            self.sums[:, column] += Phi[columns == column].sum(axis=0, dtype=np.float64)

    def _add_sums(self, other: Self, columns: NDArray[np.integer], classes: int) -> None:
        self._grow(len(other.sums), classes)
        self.counts[columns] += other.counts
        self.sums[:, columns] += other.sums

    def _solve_sums(self, order: NDArray[np.integer]) -> None:
        self.sums, self.counts = self.sums[:, order], self.counts[order]

    def _counts(self) -> NDArray[np.integer]:
        return self.counts

    def _take_away(self, Phi: Array, columns: NDArray[np.integer]) -> None:
        taken, most = NearestClassMean(), NearestClassMean()
        taken._add_samples(Phi, columns, len(self.counts))
        most._add_samples(np.abs(Phi), columns, len(self.counts))
        self.sums -= taken.sums
        self.counts -= taken.counts
        empty = self.counts == 0
        if (np.abs(self.sums) > 1e-12 * most.sums)[:, empty].any():
            raise InputError(
                "these are as many samples of a class as were learned, and other ones: their sum differs. Usual cause: "
                "features that were extracted again; give the samples that were learned."
            )

    def _refit(self, order: NDArray[np.intp], refit: bool) -> float | None:
        self._solve_sums(order)
        return None

    def _grow(self, d: int, classes: int) -> None:
        extra = classes - len(self.counts)
        self.sums = np.pad(self.sums.reshape(d, len(self.counts)), ((0, 0), (0, extra)))
        self.counts = np.pad(self.counts, (0, extra))

    def _logits(self, Phi: Array) -> Array:
        return unit(Phi) @ self.weights


build = NearestClassMean
