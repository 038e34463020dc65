"""Heads that are a ridge: weights from sums and one number."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import product
from sparcl.algebra.spectra import descending_eigh
from sparcl.algebra.sums import Gram, Sums
from sparcl.base.checks import check_memory
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.state import Shape, Stateful
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
    """

    whole_session: ClassVar[str] = ""
    keeps_rows: str = ""
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


@dataclass(eq=False)
class BalancedByClass(Ridge):
    """The ridge of :class:`BalancedRidge`, with the sum ``A_c = H_c^T H_c`` of each class, so that classes may return.

    It is AIR as its public code keeps it.  Its state is c D^2 numbers where that of the other is D^2.  Cost: 2 n D^2
    flops per session beside the sums, and 2 c D^2 for a solution beside the ridge's.

    Attributes
    ----------
    apart : (D D, c) A_c of each class, its rows one after the other
    """

    whole_session: ClassVar[str] = "it sums the rows of each class apart"
    keeps_rows = "it sums the rows of each class apart, and these sums are not taken from"
    kept: ClassVar[dict[str, Shape | None]] = {"apart": (None, None)}

    def __post_init__(self) -> None:
        self.apart: Array = np.zeros((0, 0))

    def see(self, batch: Batch, before: Sums) -> None:
        """Add each row to its class's sum; InputError where the machine has too little memory for all of them."""
        on, D, known = before.on, before.D, self.apart
        if known.shape[1] < batch.classes:
            check_memory("R of each class", (batch.classes, D, D), before.dtype)
            self.apart = on.zeros((D * D, batch.classes), before.dtype)
            if known.shape[1]:
                self.apart[:, : known.shape[1]] = known
        for H, columns, _ in batch.blocks():
            for column in np.unique(columns):
                rows = on.take_rows(H, np.flatnonzero(columns == column))
                self.apart[:, column] += on.product(rows.T, rows).reshape(-1)

    def solve(self, sums: Sums, ridge: float) -> Solution:
        """Return ``(sum_c pi_c A_c + ridge I)^-1 C diag(pi)`` (D, c), ``pi_c = c / N_c / sum_j 1 / N_j``."""
        shares = np.divide(1.0, sums.counts, out=np.zeros(len(sums.counts)), where=sums.counts > 0)
        shares *= np.count_nonzero(shares) / shares.sum()
        weights = sums.on.array(shares.astype(sums.dtype))
        R = sums.on.product(self.apart, weights[:, None]).reshape(sums.D, sums.D)
        with Gram.wrap(R).factored(ridge) as factor:
            return factor.solve(sums.C * weights), None
