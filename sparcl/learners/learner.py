"""The protocol that every method obeys."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import Backend
from sparcl.algebra.lapack import HOST
from sparcl.base.checks import check_flag
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.rows import unit
from sparcl.base.state import nodes, send
from sparcl.base.types import Array
from sparcl.learners.checks import (
    check_learned,
    check_scores,
    checked_rows,
    checked_session,
    probes,
)
from sparcl.learners.duration import announce
from sparcl.learners.position import Position
from sparcl.learners.saved import Saved


@dataclass(eq=False)
class Learner(Position, Saved, ABC):
    """A class-incremental learner on frozen features: a dataclass of its settings.

    Feed one session after the other to :meth:`fit_session`; no sample is needed twice.  Where the
    state is a sum over samples (:attr:`undivided` is empty), the learner is a
    :class:`sparcl.learners.summed.Summed`, and a session may come in parts.  A refused call
    (InputError) leaves the learner as it was.

    Parameters
    ----------
    normalize : divide each row that comes in by its Euclidean norm; else rows are taken as they are given

    Attributes
    ----------
    classes, session, d, failure, open : as of :class:`sparcl.learners.position.Position`
    dtype : working precision
    posterior : whether scores are log-probabilities of the classes, up to a constant a row
    on : where it computes; its state does not know
    host_only : why it computes on this machine's CPUs alone; empty where it can elsewhere
    keeps_samples : whether samples themselves are kept, by design of the method
    """

    normalize: bool = field(default=False, kw_only=True)
    posterior: ClassVar[bool] = False
    host_only: ClassVar[str] = "its steps are written for NumPy"
    keeps_samples: ClassVar[bool] = False
    dtype = "float64"  # a setting of some learners

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("normalize", self.normalize)
        self.on: Backend = HOST
        self.announced = False

    def flops(self, n: int, d: int, c: int) -> float:
        """Return about how many operations a session of n rows of d features takes with c classes; 0: few."""
        return 0.0

    def announce(self, n: int, d: int, c: int) -> None:
        """Log a warning, once, before a session that takes long."""
        if not self.announced:
            self.announced = announce(type(self).__name__, n, self.flops(n, d, c))

    @property
    def undivided(self) -> str:
        """Why the method must see a session whole; empty where its state is a sum over samples."""
        return "this method is not a sum over samples"

    def fit_session(self, Phi: Array, y: NDArray[np.integer]) -> None:
        """Learn the next session from Phi (n, d) and integer labels y (n,).

        Raises
        ------
        InputError
            For wrong shapes, no samples, non-finite features, non-integer labels, or a feature
            dimension that differs from earlier sessions; the message names the session.
        NumericalError
            When the ridge system is not positive definite, features are too large or too small for the
            working precision, or the session's scores are not finite or all the same.
        """
        self.check_usable()
        if self.open is not None:
            raise InputError(
                f"session {self.session + 1} was begun in parts: end it with solve() before the next."
            )
        Phi, y = self._checked(Phi, y)
        classes, columns = self.columns_of(y)
        old = len(self.classes)
        self.announce(len(Phi), Phi.shape[1], len(classes))
        try:
            self._fit(Phi, columns, old, len(classes))
            few = Phi[probes(len(Phi))]
            check_learned(self._logits(few), few)
        except InputError as error:
            raise InputError(f"session {self.session + 1}: {error}") from error
        except NumericalError as error:
            # The sums hold the session already: predictions stay, but a second try would add twice.
            raise self.failed(error) from error
        self.classes, self.d = classes, Phi.shape[1]
        self.session += 1

    def logits(self, Phi: Array) -> Array:
        """Return scores (n, c) of Phi (n, d); columns in the order of :attr:`classes`.

        Raises
        ------
        InputError
            Before the first session, inside one, and for features of another shape or not finite.
        NumericalError
            When features are too large or too small for the working precision, or a score is not finite.
        """
        if not self.d:
            raise InputError("No session was fitted yet: call fit_session before logits.")
        if self.open is not None:
            raise InputError(
                f"session {self.session + 1} is in progress: end it with solve() before logits."
            )
        return check_scores(self._logits(checked_rows(Phi, self.d, self.dtype, self.normalize)))

    def predict(self, Phi: Array) -> NDArray[np.int64]:
        """Return the label (n,) with the highest score among the classes seen."""
        return self.classes[np.argmax(self.logits(Phi), axis=1)]

    def report(self) -> dict[str, Any]:
        """Return what the last session measured and chose (ranks, energies, ridge)."""
        return {}

    def move(self, on: Backend) -> None:
        """Compute elsewhere from now on, with all that was learned.

        Raises
        ------
        InputError
            When this learner computes on the host alone; the message says why.
        """
        if on is not HOST and self.host_only:
            raise InputError(
                f"{type(self).__name__} cannot run on {on.name}: {self.host_only}. Take device cpu."
            )
        for node in nodes(self):
            if isinstance(node, Learner):
                node.on = on
        send(self, on.array)

    @abstractmethod
    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        """Fit checked features; ``columns`` (n,) are class columns, the first ``old`` are old."""

    @abstractmethod
    def _logits(self, Phi: Array) -> Array:
        """Score checked features."""

    def prepared(self, Phi: Array) -> Array:
        """Return the rows (n, d) that the method sees of features Phi (n, d)."""
        return unit(Phi) if self.normalize else Phi

    def _checked(self, Phi: Array, y: NDArray[np.integer]) -> tuple[Array, NDArray[np.int64]]:
        """Return the rows that the method sees, and the labels, of a session or a part of it."""
        return checked_session(Phi, y, self.d, self.session, self.dtype, self.normalize)

    def try_scores(self) -> None:
        """Raise NumericalError, and make the learner unusable, where scores after a session are no numbers."""
        few = np.stack(
            [np.ones(self.d), np.zeros(self.d)]
        )  # in place of rows: ones meet every weight
        try:
            check_learned(self._logits(few), few)
        except NumericalError as error:
            raise self.failed(error) from error
