"""Learners of transformed and mapped rows, whose sums are kept."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sparcl.algebra.backend import host
from sparcl.algebra.sums import Sums, check_lengths, squared_lengths
from sparcl.base.errors import InputError
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.learner import Learner
from sparcl.parts.batch import ROWS
from sparcl.parts.maps import Features, Map
from sparcl.parts.transforms import Identity, Transform


@dataclass(eq=False, kw_only=True)
class Mapped(Learner):
    """Sees rows H (n, D): features transformed, and mapped as the first session decides for good.

    Parameters
    ----------
    transform : of each row; map : a frozen one

    Attributes
    ----------
    sums : R, C and n of all sessions; None before the first
    """

    transform: Transform = field(default_factory=Identity)
    map: Map = field(default_factory=Features)
    host_only: ClassVar[str] = ""
    kept: ClassVar[dict[str, Shape | None]] = {"sums": None}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sums: Sums | None = None

    @property
    def total(self) -> Sums:
        """The sums; InputError before the first session."""
        if self.sums is None:
            raise InputError("Nothing was summed yet: fit a session first.")
        return self.sums

    @property
    def keeps_samples(self) -> bool:  # type: ignore[override]
        """Whether the map keeps samples, by design."""
        return self.map.keeps_samples

    # --- the first session -------------------------------------------------------------------

    def prepare(self, Phi: Array, classes: int = 0) -> Array:
        """Return transformed rows of Phi (n, d), which fix transform, map and sums in the first session.

        ``classes`` of that session count for the memory that is asked for.
        """
        Phi = np.asarray(Phi, dtype=self.dtype)
        if self.sums is None:
            self.transform.begin(Phi)
        Phi = self._transformed(Phi)
        self.begin(Phi, classes)
        return Phi

    def begin(self, Phi: Array, classes: int = 0) -> None:
        """Fix for good what transformed rows of the first session decide: the map, and the size of all sums."""
        if self.sums is None:
            self.map.begin(Phi)
            self._begin_sums(Phi.shape[1], len(Phi), classes)

    @abstractmethod
    def _begin_sums(self, d: int, rows: int = ROWS, classes: int = 0) -> None:
        """Begin sums for features d, of which so many rows are mapped at once."""

    # --- rows --------------------------------------------------------------------------------

    def expand(self, Phi: Array) -> Array:
        """Return transformed and mapped rows (n, D) of features Phi (n, d), on the host."""
        return host(self.place(Phi))

    def place(self, Phi: Array) -> Array:
        """Return rows (n, D) of features Phi (n, d), transformed and mapped, where this learner computes."""
        return self._expanded(self.prepared(Phi))

    def _expanded(self, Phi: Array) -> Array:
        """Return mapped rows (n, D) of prepared features Phi (n, d), where this learner computes."""
        return self.map(self.on.array(self._transformed(Phi)))

    def _transformed(self, Phi: Array) -> Array:
        return self.transform(np.asarray(Phi, dtype=self.dtype))

    def _mapped(self, X: Array) -> Array:
        """Map transformed rows X that are to be summed; NumericalError where some would vanish in R."""
        H = self.map(self.on.array(X))
        check_lengths(squared_lengths(H), self.total.mean_square)
        return H
