"""Streaming linear discriminant analysis: class means and one shared covariance.

score_c(f) = f^T L mu_c - mu_c^T L mu_c / 2,    L = ((1 - e) Sigma + e I)^-1
Source: Deep SLDA (Hayes and Kanan, CVPR workshops 2020); code read: ``methods/SLDA.py`` of
CHEN-YIZHU/GACL, commit fc21369.  Official: e = 1e-4 for every data set, features as they are.

What differs.  The official Sigma starts from the OAS estimate of the first data and then either
stays or is updated sample by sample; those updates weigh by the total count in place of the
class's, and take a class's first sample about zero, so that Sigma depends on the order.  Here
``streamed`` is the exact scatter inside the classes over n, from sums, whatever the batches;
``frozen`` is the OAS estimate of the first session for ever, as in the code.  L is a Cholesky
solve in place of a pseudo-inverse: the two are one, since e > 0.  e means another share of Sigma
on unit-norm features than on raw ones.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.statistics import Statistics
from sparcl.base.checks import check_choice, check_fraction
from sparcl.learners.discriminant import Discriminant, Scatter
from sparcl.learners.learner import Array

COVARIANCES = ("streamed", "frozen")


class Slda(Discriminant):
    """Per session n d^2 + d^3 / 3 flops; keeps R, C, and with ``frozen`` the first session's."""

    needs_spread: ClassVar[bool] = False  # e I alone is a covariance

    def __init__(self, shrinkage: float, covariance: str) -> None:
        super().__init__()
        self.shrinkage = check_fraction("shrinkage", shrinkage)
        self.covariance = check_choice("covariance", covariance, COVARIANCES)
        self.base: Statistics | None = None

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        if self.covariance == "frozen" and self.base is None:
            self.base = Statistics(Phi.shape[1])
            self.base.grow(classes)
            self.base.accumulate(self.expand(Phi), columns)
        super()._fit(Phi, columns, old, classes)

    def _precision_times(self, means: Array) -> Array:
        scatter, e = Scatter(self.base or self.statistics), self.shrinkage
        rho, mean = scatter.oas() if self.base else (0.0, 0.0)
        a = (1 - e) * (1 - rho) / scatter.n
        return scatter.solve(a, (1 - e) * rho * mean + e, means)

    def _state(self) -> dict[str, Any]:
        settings = {"shrinkage": self.shrinkage, "covariance": self.covariance}
        base = {} if self.base is None else {"base": self.base.state()}
        return settings | base | self._sums()

    @classmethod
    def _from_state(cls, state: Mapping[str, Any]) -> Self:
        learner = cls(float(state["shrinkage"]), str(state["covariance"]))
        learner._take_sums(state)
        if "base" in state:
            learner.base = Statistics.from_state(state["base"])
        return learner


def build(*, shrinkage: float = 1e-4, covariance: str = "streamed") -> Slda:
    """Build the learner.

    Parameters
    ----------
    shrinkage : e in (0, 1); official 1e-4
    covariance : ``streamed`` over all sessions, or ``frozen`` after the first
    """
    return Slda(shrinkage, covariance)
