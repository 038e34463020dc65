"""What every head offers: weights from sums."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.sums import Sums
from sparcl.base.state import Stateful
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.solutions import Solution


class Head(Stateful):
    """Weights W (D, c) and bias b (c,) from sums and one number, the ridge or its like.

    Attributes
    ----------
    whole_session : why a session must come whole; empty where weights follow from sums alone
    solves_from_rows : whether :meth:`scores_from_rows` is there
    takes_ridge : whether its one number is a ridge on the sums, and no shrinkage
    fits_targets : whether scores estimate one-hot targets, so that a squared error judges them
    posterior : whether scores are log-probabilities of the classes, up to a constant a row
    """

    whole_session: ClassVar[str] = ""
    solves_from_rows: ClassVar[bool] = False
    takes_ridge: ClassVar[bool] = True
    fits_targets: ClassVar[bool] = True
    posterior: ClassVar[bool] = False

    def check(self, counts: NDArray[np.integer]) -> None:
        """Raise InputError where samples (c,) of each class are too few for this head."""

    def row_weights(self, columns: NDArray[np.integer], old: int) -> Array | None:
        """Return the weight (n,) of each row of a session in the sums, or None where all weigh the same."""
        return None

    def see(self, batch: Batch, before: Sums) -> None:
        """Take what is not in R, C and n from a session's rows; ``before`` are the sums without them."""

    def effective(self, value: float, counts: NDArray[np.integer]) -> float:
        """Return the ridge on the sums that a value stands for, given the samples (c,) of each class."""
        return value

    def unit(self, mean_square: float) -> float:
        """Return what a relative value of 1 stands for, given the mean squared norm of a mapped row."""
        return mean_square

    def solve(self, sums: Sums, value: float) -> Solution:
        """Return W (D, c) and b (c,), or None where scores have no bias.

        Raises
        ------
        NumericalError
            When the system is singular to working precision.
        """
        raise TypeError(f"{type(self).__name__} solves nothing")

    def solve_all(self, sums: Sums, values: list[float]) -> list[Solution]:
        """Return the solution at every value."""
        return [self.solve(sums, value) for value in values]

    def scores_from_rows(
        self,
        H: Array,
        columns: NDArray[np.integer],
        weights: Array | None,
        H_scored: Array,
        values: Array,
    ) -> list[Array]:
        """Return the scores of H_scored (m, D) at every value, from all rows H (n, D) themselves.

        The same as :meth:`solve` on their sums; cheaper where n is far below D.
        """
        raise TypeError(f"{type(self).__name__} solves from sums alone")

    def report(self) -> dict[str, Any]:
        """Return what the last solution measured."""
        return {}
