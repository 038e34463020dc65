"""Which rows of a session validate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparcl.base.checks import check_flag, check_fraction, check_int
from sparcl.base.randomness import generator
from sparcl.base.state import Stateful


@dataclass(eq=False)
class HoldOut(Stateful):
    """A random share of a session's rows, or of each class's.

    Parameters
    ----------
    share : of the rows that validate, in (0, 1)
    by_class : hold out ``share`` of each class, one row at least; a class of one row fits, and where
        no class has two, the last row validates.  Otherwise a share of all rows, as RanPAC does
    seed : of the split, together with the session's number
    """

    share: float = 0.2
    by_class: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_fraction("validation_share", self.share)
        check_flag("by_class", self.by_class)
        check_int("seed", self.seed, least=0)

    def split(
        self, columns: NDArray[np.integer], session: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows that fit and those that validate, of class columns (n,), n >= 2."""
        rng = generator("holdout", self.seed, session)
        n = len(columns)
        if not self.by_class:
            shuffled = rng.permutation(n)
            cut = int((1 - self.share) * n)
            return shuffled[:cut], shuffled[cut:]
        held: list[int] = []
        for column in np.unique(columns):
            rows = rng.permutation(np.flatnonzero(columns == column))
            if len(rows) > 1:
                held += rows[: max(round(self.share * len(rows)), 1)].tolist()
        validate = np.array(sorted(held) or [n - 1])
        return np.setdiff1d(np.arange(n), validate), validate
