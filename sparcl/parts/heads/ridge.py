"""Heads that are a ridge: weights from sums and one number."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import product
from sparcl.algebra.spectra import descending_eigh
from sparcl.algebra.sums import Sums
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import Stateful
from sparcl.base.types import Array
from sparcl.parts.batch import Batch, Solution


class Head(Stateful):
    """Weights W (D, c) and bias b (c,) from sums and one number, the ridge or its like.

    Attributes
    ----------
    whole_session : why a session must come whole; empty where weights follow from sums alone
    takes_ridge : whether its one number is a ridge on the sums, and no shrinkage
    fits_targets : whether scores estimate one-hot targets, so that a squared error judges them
    posterior : whether scores are log-probabilities of the classes, up to a constant a row
    keeps_rows : what it keeps of rows besides sums, so that none can be forgotten; empty where nothing
    balanced : whether it weights each row by its class's count
    needs_number : why its ridge must be given, and not chosen; empty where it need not
    """

    whole_session: ClassVar[str] = ""
    keeps_rows: str = ""
    balanced: ClassVar[bool] = False
    needs_number: ClassVar[str] = ""
    takes_ridge: ClassVar[bool] = True
    fits_targets: ClassVar[bool] = True
    posterior: ClassVar[bool] = False

    def row_weights(
        self, columns: NDArray[np.integer], old: int, counts: NDArray[np.integer]
    ) -> Array | None:
        """Return the weight (n,) of each row of a session in the sums, or None where all weigh the same.

        InputError where samples (c,) of each class, the session's among them, are too few for this head.
        """
        return None

    def see(self, batch: Batch, before: Sums) -> None:
        """Take what is not in R, C and n from a session's rows; ``before`` are the sums without them."""

    def effective(self, ridge: float, counts: NDArray[np.integer]) -> float:
        """Return the ridge on the sums that a ridge stands for, given the samples (c,) of each class."""
        return ridge

    def unit(self, mean_square: float) -> float:
        """Return what a relative ridge of 1 stands for, given the mean squared norm of a mapped row."""
        return mean_square

    def solve(self, sums: Sums, ridge: float) -> Solution:
        """Return W (D, c) and b (c,), or None where scores have no bias.

        Raises
        ------
        NumericalError
            When the system is singular to working precision.
        """
        raise TypeError(f"{type(self).__name__} solves nothing")

    def solve_all(self, sums: Sums, ridges: list[float]) -> list[Solution]:
        """Return the solution at every ridge."""
        return [self.solve(sums, ridge) for ridge in ridges]

    def report(self) -> dict[str, Any]:
        """Return what the last solution measured."""
        return {}


# From so many ridges on, one decomposition of R is quicker than a Cholesky factor for each: measured
# with 100 classes and one thread, it pays from 21 to 24 ridges at d = 768 and 1,280.
MANY = 24


@dataclass(eq=False)
class Ridge(Head):
    """The joint ridge on all that was summed (paper, eq. 2): D^3 / 3 + 2 D^2 c flops."""

    def solve(self, sums: Sums, ridge: float) -> Solution:
        """Return ``A^-1 C`` (D, c), A = R + ridge I."""
        with sums.factored(self.effective(ridge, sums.counts)) as A:
            return A.solve(sums.C), None

    def solve_all(self, sums: Sums, ridges: list[float]) -> list[Solution]:
        """Return the solution at every ridge; many of them from ``R = U diag(s) U^T``, O(D^3) once.

        Where solutions by a factor are refined, every ridge has its own: one from eigenvectors in float32
        has no residual that anybody looked at.
        """
        if len(ridges) < MANY or sums.on.refines(sums.precision):
            return super().solve_all(sums, ridges)
        ridges = [self.effective(ridge, sums.counts) for ridge in ridges]
        s, U = descending_eigh(sums.R)
        if float(s[-1]) + min(ridges) <= 0:
            raise NumericalError(
                f"R + {min(ridges):g} I is not positive definite (d = {sums.D}, smallest eigenvalue "
                f"{float(s[-1]):.3g}, largest {float(s[0]):.3g}). Usual cause: a ridge too small for the scale of "
                "the features; raise ridge."
            )
        turned = product(U.T, sums.C)
        return [(product(U, turned / (s + ridge)[:, None]), None) for ridge in ridges]


@dataclass(eq=False)
class BalancedRidge(Ridge):
    """The ridge on sums in which each row has the weight 1 / N of its class (AIR, 2024).

    Weights pi_c = kappa / N_c with kappa = K / sum_c 1 / N_c average to 1 over K classes; weights
    kappa / N_c at a ridge are weights 1 / N_c at ridge / kappa.
    """

    balanced: ClassVar[bool] = True
    whole_session: ClassVar[str] = "it weights each class by its final count"

    def row_weights(
        self, columns: NDArray[np.integer], old: int, counts: NDArray[np.integer]
    ) -> Array:
        """Return 1 / N_c of each row (n,); InputError where a class returns."""
        if (columns < old).any():
            raise InputError(
                "a class of an earlier session returned. AIR weights a class by its final count, "
                "and its sum is in already: give all samples of a class in one session."
            )
        return 1.0 / np.bincount(columns)[columns]

    def effective(self, ridge: float, counts: NDArray[np.integer]) -> float:
        """Return ``ridge / kappa``; classes without a sample count for nothing."""
        live = counts[counts > 0]
        return ridge / (len(live) / float(np.sum(1.0 / live)))
