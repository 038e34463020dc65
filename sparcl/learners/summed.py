"""Learners whose state is a sum over samples: a session may come in parts."""

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import same
from sparcl.base.types import Array
from sparcl.learners.learner import Learner, checked_session


class Summed(Learner):
    """A learner that may be fed a session in parts: :meth:`accumulate` and :meth:`merge`, then :meth:`solve`.

    Only where :attr:`undivided` is empty: a rule or a map may still need a session whole.
    """

    def accumulate(self, Phi: Array, y: NDArray[np.integer]) -> None:
        """Add samples Phi (n, d), y (n,) to the session in progress, without solving.

        Any parts of a session followed by :meth:`solve` equal one call of :meth:`fit_session`.

        Raises
        ------
        InputError
            As :meth:`fit_session`, and where the method must see a session whole.
        """
        self._begin_part()
        Phi, y = checked_session(Phi, y, self)
        known, columns = self.columns_of(y)
        self._add_samples(Phi, columns, len(known))
        self.open, self.d = known[len(self.classes) :], Phi.shape[1]

    def merge(self, other: Learner) -> None:
        """Add all samples that ``other`` has seen to the session in progress, from its sums.

        Classes are matched by label; :meth:`solve` gives the weights.  ``other`` stays as it is.

        Raises
        ------
        InputError
            Where the method must see a session whole, and when the two learners differ in method,
            settings or features, or ``other`` has seen nothing; neither is changed.
        """
        self._begin_part()
        if type(other) is not type(self):
            raise InputError(
                f"Cannot merge a {type(other).__name__} into a {type(self).__name__}: both must be "
                "the same method."
            )
        differing = same(self, other)
        if differing:
            raise InputError(f"Cannot merge learners that differ in {', '.join(differing)}.")
        if other.failure or not other.d:
            raise InputError(
                f"Cannot merge a learner that {'failed' if other.failure else 'has seen no sample'}."
            )
        if self.d not in (0, other.d):
            raise InputError(
                f"Cannot merge a learner of {other.d} features into one of {self.d}: both must "
                "come from the same backbone."
            )
        known, columns = self.columns_of(other.all_classes)
        self._add_sums(other, columns, len(known))
        self.open, self.d = known[len(self.classes) :], other.d

    def solve(self) -> None:
        """Fit the weights to the sums, which ends the session in progress.

        Raises
        ------
        InputError
            When nothing was accumulated or merged since the last session.
        NumericalError
            When the ridge system is not positive definite; the session stays in progress.  When scores
            are not finite or all the same; the learner is then unusable.
        """
        self._begin_part()
        where = f"session {self.session + 1}"
        if self.open is None:
            raise InputError(f"{where}: no samples were accumulated or merged, nothing to solve.")
        # new classes ascend within a session, in whatever order its parts brought them
        known = self.all_classes
        old = np.arange(len(self.classes))
        order = np.concatenate([old, len(old) + np.argsort(self.open, kind="stable")])
        self.announce(0, self.d, len(known))
        try:
            self._solve_sums(order)
        except NumericalError as error:
            raise NumericalError(f"{where}: {error}") from error
        self.classes, self.open = known[order], None
        self.try_scores()
        self.session += 1

    @abstractmethod
    def _add_samples(self, Phi: Array, columns: NDArray[np.integer], classes: int) -> None:
        """Add checked samples to the sums, which get ``classes`` columns."""

    @abstractmethod
    def _add_sums(self, other: Self, columns: NDArray[np.integer], classes: int) -> None:
        """Add the sums of ``other``, whose class column j is this one's ``columns[j]``."""

    @abstractmethod
    def _solve_sums(self, order: NDArray[np.integer]) -> None:
        """Fit the weights and bring class columns into ``order`` (c,); all or, if it fails, nothing."""

    def _begin_part(self) -> None:
        self.begin_update()
        if self.undivided:
            raise InputError(
                f"{type(self).__name__} must see a session whole, in fit_session: {self.undivided}."
            )
