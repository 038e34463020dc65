"""The protocol that every method obeys."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from sparcl.errors import InputError, NumericalError
from sparcl.files import replacing

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
    keeps_samples : whether samples themselves are kept, by design of the method
    """

    keeps_samples: ClassVar[bool] = False

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

    def state(self) -> dict[str, Any]:
        """Return all that the learner keeps: a flat mapping of arrays, numbers and strings.

        ``type(learner).from_state(state)`` continues to the bit.  Unless :attr:`keeps_samples`
        says otherwise there are sums and bases in it, and no sample of two or more a class.  A
        snapshot: what the learner fits later does not change it.
        """
        # a copy in the memory layout that it has, or sums would take another order of rounding
        return {
            key: np.copy(value, order="K") if isinstance(value, np.ndarray) else value
            for key, value in self._kept().items()
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return a learner that goes on where :meth:`state` was taken.

        Raises
        ------
        InputError
            When the state is another kind of learner's, or lacks something.
        """
        nested = _nested(state)
        if str(nested.get("learner")) != cls.__name__:
            raise InputError(
                f"This state belongs to {nested.get('learner')}, not to {cls.__name__}: load it "
                "with the class that saved it."
            )
        try:
            learner = cls._from_state(nested)
            learner._failure = str(nested["failure"])
        except KeyError as error:
            raise InputError(f"This state of a {cls.__name__} lacks {error}.") from error
        learner.classes = np.array(nested["classes"], dtype=np.int64)
        learner.session, learner._d = int(nested["session"]), int(nested["d"]) or None
        return learner

    def save(self, path: str | Path) -> None:
        """Write the state as an npz file, whole or not at all."""
        with replacing(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **self._kept())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote; no pickle is ever loaded.

        Raises
        ------
        InputError
            When the file is no such state.
        """
        try:
            file = np.load(path, allow_pickle=False)
            if not isinstance(file, NpzFile):
                raise ValueError("a bare array")
            with file:
                state = dict(file)
            return cls.from_state(state)
        except (OSError, ValueError, EOFError, BadZipFile, InputError) as error:
            raise InputError(f"{path}: not a learner that can go on ({error}).") from error

    def report(self) -> dict[str, Any]:
        """Return what the last session measured and chose (ranks, energies, ridge)."""
        return {}

    @abstractmethod
    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        """Fit checked features; ``columns`` (n,) are class columns, the first ``old`` are old."""

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """Return what this kind of learner keeps, nested."""

    @classmethod
    @abstractmethod
    def _from_state(cls, state: Mapping[str, Any]) -> Self:
        """Build the learner from its nested state."""

    @abstractmethod
    def _logits(self, Phi: Array) -> Array:
        """Score checked features."""

    def _kept(self) -> dict[str, Any]:
        """Return the state in the learner's own arrays."""
        own = {"learner": type(self).__name__, "failure": self._failure, "d": self._d or 0}
        return _flat(own | {"classes": self.classes, "session": self.session} | self._state())

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


def _flat(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, Mapping):
            result |= _flat(value, f"{prefix}{key}/")
        else:
            result[prefix + key] = value
    return result


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in flat.items():
        *path, name = key.split("/")
        inner = result
        for part in path:
            inner = inner.setdefault(part, {})
        inner[name] = value
    return result
