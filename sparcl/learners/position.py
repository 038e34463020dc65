"""Where a learner stands in its stream: the classes it knows, the session, and whether it can go on."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import NumericalError
from sparcl.base.state import Shape, Stateful


class Position(Stateful):
    """Classes by column, in order of appearance.

    Attributes
    ----------
    classes : (c,) labels in order of first appearance, ascending within a session
    session : sessions fitted so far
    d : features of a row, 0 before the first session
    failure : why a session could not be learned to its end, which makes the learner unusable
    open : labels that are new in a session that comes in parts; None between sessions
    """

    kept: ClassVar[dict[str, Shape | None]] = {
        "classes": ("seen",),
        "session": None,
        "d": None,
        "failure": None,
        "open": (None,),
    }

    def __post_init__(self) -> None:
        self.classes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.session = 0
        self.d = 0
        self.failure = ""
        self.open: NDArray[np.int64] | None = None

    @property
    def all_classes(self) -> NDArray[np.int64]:
        """Labels (c,) by column of the sums: those of :attr:`classes`, then the open session's."""
        return self.classes if self.open is None else np.concatenate([self.classes, self.open])

    def columns_of(self, y: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return the known labels with those that are new in y (n,), and the column (n,) of each y."""
        known = np.concatenate([self.all_classes, np.setdiff1d(y, self.all_classes)])
        sorter = np.argsort(known, kind="stable")
        return known, sorter[np.searchsorted(known, y, sorter=sorter)]

    def failed(self, error: NumericalError) -> NumericalError:
        """Make the learner unusable; return the error with the number of the session that failed."""
        self.failure = str(error)
        return NumericalError(f"session {self.session + 1}: {error}")

    def check_usable(self) -> None:
        """Raise NumericalError after a session that could not be learned to its end."""
        if self.failure:
            raise NumericalError(f"An earlier session failed, build a new learner: {self.failure}")
