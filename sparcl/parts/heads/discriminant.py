"""Discriminants: class means and one covariance for all classes, from sums.

The score of class c under the precision L = (a S + b I)^-1 is ``h^T L mu_c - mu_c^T L mu_c / 2``, with
S the scatter inside the classes (:mod:`sparcl.algebra.scatter`).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.scatter import Scatter
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_choice, check_flag
from sparcl.base.errors import InputError
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.heads.head import Head, Solution


class Discriminant(Head):
    """Scores ``h W + b`` with W = L mu and b = -diag(mu^T W) / 2: D^3 / 3 + 2 D^2 c flops.

    Attributes
    ----------
    needs_spread : whether L exists only when some class has two samples
    """

    needs_spread: ClassVar[bool] = True
    whole_session: ClassVar[str] = "its covariance is fitted to whole sessions"

    def check(self, counts: NDArray[np.integer]) -> None:
        """Raise InputError where no class has two samples and the covariance would be zero."""
        if self.needs_spread and counts.max() < 2:
            raise InputError(
                "no class has two samples so far, so that there is no covariance inside the "
                "classes: join the session with another."
            )

    def unit(self, mean_square: float) -> float:
        """Return 1: shrinkages have no scale."""
        return 1.0

    def solve(self, sums: Sums, value: float) -> Solution:
        """Return W (D, c) and b (c,)."""
        means = sums.C / sums.counts
        W = self._precision_times(sums, value, means)
        return W, -0.5 * np.sum(means * W, axis=0)

    def _precision_times(self, sums: Sums, value: float, means: Array) -> Array:
        """Return L times the class means (D, c)."""
        raise TypeError(f"{type(self).__name__} has no covariance")


@dataclass(eq=False)
class ShrunkCovariance(Discriminant):
    """``L = ((1 - e) Sigma + e I)^-1`` with the shrinkage e as its value (Deep SLDA, 2020).

    Parameters
    ----------
    covariance : ``streamed``, S / n of all samples; ``frozen``, the OAS estimate of the first session
        for ever
    """

    covariance: str = "streamed"
    needs_spread: ClassVar[bool] = False  # e I alone is a covariance
    kept: ClassVar[dict[str, Shape | None]] = {"base": None}

    def __post_init__(self) -> None:
        check_choice("covariance", self.covariance, ("streamed", "frozen"))
        self.base: Sums | None = None

    def _precision_times(self, sums: Sums, value: float, means: Array) -> Array:
        if self.covariance == "frozen" and self.base is None:
            self.base = sums.copy()
        scatter = Scatter(self.base or sums)
        rho, mean = scatter.oas() if self.base else (0.0, 0.0)
        a = (1 - value) * (1 - rho) / scatter.n
        return scatter.solve(a, (1 - value) * rho * mean + value, means)


@dataclass(eq=False)
class RidgedScatter(Discriminant):
    """``L = 2 (S + ridge tr(S) / D I)^-1``; a ridge of 0 is the pseudo-inverse, 9 D^3 flops (KLDA, 2025)."""

    kept: ClassVar[dict[str, Shape | None]] = {"rank": None}

    def __post_init__(self) -> None:
        self.rank: int | None = None

    def _precision_times(self, sums: Sums, value: float, means: Array) -> Array:
        scatter = Scatter(sums)
        if value:
            return 2 * scatter.solve(1.0, value * scatter.trace() / sums.D, means)
        solved, self.rank = scatter.pseudo_solve(means)
        return 2 * solved

    def report(self) -> dict[str, Any]:
        """Return the rank of S where the pseudo-inverse was taken."""
        return {} if self.rank is None else {"rank": self.rank}


@dataclass(eq=False)
class OracleShrinkage(Discriminant):
    """``L = ((1 - rho) S / n + rho m I)^-1``, rho by oracle approximating shrinkage (Chen et al., 2010).

    Parameters
    ----------
    prior : add the logarithm of each class's share of the samples to its score
    """

    prior: bool = True
    kept: ClassVar[dict[str, Shape | None]] = {"shrinkage": None}

    def __post_init__(self) -> None:
        check_flag("prior", self.prior)
        self.shrinkage: float | None = None

    def solve(self, sums: Sums, value: float) -> Solution:
        """Return W (D, c) and b (c,); the value is not used."""
        W, b = super().solve(sums, value)
        return W, b + np.log(sums.counts / sums.n) if self.prior and b is not None else b

    def _precision_times(self, sums: Sums, value: float, means: Array) -> Array:
        scatter = Scatter(sums)
        self.shrinkage, mean = scatter.oas()
        return scatter.solve((1 - self.shrinkage) / scatter.n, self.shrinkage * mean, means)

    def report(self) -> dict[str, Any]:
        """Return the shrinkage of the last session."""
        return {"shrinkage": self.shrinkage}
