"""The protocol that every method obeys."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.errors import InputError, NumericalError

Array = NDArray[np.floating]


class Learner(ABC):
    """A class-incremental learner on frozen features.

    Feed one session after the other to :meth:`fit_session`; no sample is needed twice.  A refused
    call (InputError) leaves the learner as it was.  Features are taken as they are given: unit
    norm is the caller's choice.

    Attributes
    ----------
    classes : (c,) labels in order of first appearance, ascending within a session
    session : sessions fitted so far
    """

    def __init__(self) -> None:
        self.classes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.session = 0
        self._d: int | None = None
        self._failure = ""

    def fit_session(self, Phi: Array, y: NDArray[np.integer]) -> None:
        """Learn the next session from Phi (n, d) and integer labels y (n,).

        Raises
        ------
        InputError
            For wrong shapes, no samples, non-finite features, non-integer labels, or a feature
            dimension that differs from earlier sessions; the message names the session.
        NumericalError
            When the ridge system is not positive definite.
        """
        if self._failure:
            raise NumericalError(f"An earlier session failed, build a new learner: {self._failure}")
        Phi, y = self._checked(Phi, y)
        new = np.setdiff1d(y, self.classes)
        old = len(self.classes)
        classes = np.concatenate([self.classes, new])
        sorter = np.argsort(classes, kind="stable")
        columns = sorter[np.searchsorted(classes, y, sorter=sorter)]
        try:
            self._fit(Phi, columns, old, len(classes))
        except InputError as error:
            raise InputError(f"session {self.session + 1}: {error}") from error
        except NumericalError as error:
            # The sums hold the session already: predictions stay, but a second try would add twice.
            self._failure = str(error)
            raise NumericalError(f"session {self.session + 1}: {error}") from error
        self.classes, self._d = classes, Phi.shape[1]
        self.session += 1

    def logits(self, Phi: Array) -> Array:
        """Return scores (n, c) of Phi (n, d); columns in the order of :attr:`classes`."""
        if self._d is None:
            raise InputError("No session was fitted yet: call fit_session before logits.")
        Phi = np.asarray(Phi)
        if Phi.ndim != 2 or Phi.shape[1] != self._d:
            raise InputError(
                f"Phi has shape {Phi.shape}, but this learner was fitted on (n, {self._d}) features"
                ": give features of the same backbone."
            )
        if not np.isfinite(Phi).all():
            row = int(np.argmin(np.isfinite(Phi).all(axis=1)))
            raise InputError(f"Phi, row {row}: the feature is not finite and cannot be scored.")
        return self._logits(Phi)

    def predict(self, Phi: Array) -> NDArray[np.int64]:
        """Return the label (n,) with the highest score among the classes seen."""
        return self.classes[np.argmax(self.logits(Phi), axis=1)]

    def report(self) -> dict[str, Any]:
        """Return what the last session measured and chose (ranks, energies, ridge)."""
        return {}

    @abstractmethod
    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        """Fit checked features; ``columns`` (n,) are class columns, the first ``old`` are old."""

    @abstractmethod
    def _logits(self, Phi: Array) -> Array:
        """Score checked features."""

    def _checked(self, Phi: Array, y: NDArray[np.integer]) -> tuple[Array, NDArray[np.int64]]:
        where = f"session {self.session + 1}"
        Phi, y = np.asarray(Phi), np.asarray(y)
        if Phi.ndim != 2 or y.ndim != 1 or len(Phi) != len(y):
            raise InputError(
                f"{where}: Phi must be (n, d) and its labels y (n,), got shapes {Phi.shape} and "
                f"{y.shape}."
            )
        if len(y) == 0:
            raise InputError(
                f"{where}: no samples. Usual cause: a class order whose classes have no training "
                "sample; leave the session out or check the labels."
            )
        if not np.issubdtype(y.dtype, np.integer):
            raise InputError(f"{where}: labels must be integers, got dtype {y.dtype}.")
        if not np.issubdtype(Phi.dtype, np.floating):
            raise InputError(f"{where}: features must be floating point, got dtype {Phi.dtype}.")
        if self._d is not None and Phi.shape[1] != self._d:
            raise InputError(
                f"{where}: features have {Phi.shape[1]} dimensions, earlier sessions had {self._d}"
                ": all sessions must come from the same backbone."
            )
        finite = np.isfinite(Phi).all(axis=1)
        if not finite.all():
            raise InputError(
                f"{where}: {np.count_nonzero(~finite)} of {len(Phi)} feature rows are not finite "
                f"(first: row {int(np.argmin(finite))}). Usual cause: half-precision overflow in "
                "extraction; extract again in float32."
            )
        return Phi, y.astype(np.int64)
