"""Discriminants: class means and one covariance for all classes, from sums."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import host, product
from sparcl.algebra.paired import Paired
from sparcl.algebra.scatter import Scatter
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_choice, check_flag, check_fraction
from sparcl.base.errors import InputError
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.batch import Solution
from sparcl.parts.heads.ridge import Head


class Discriminant(Head):
    """Scores ``h W + b`` with W = L mu and b = -diag(mu^T W) / 2: D^3 / 3 + 2 D^2 c flops.

    Attributes
    ----------
    needs_spread : whether L exists only when some class has two samples
    """

    needs_spread: ClassVar[bool] = True
    takes_ridge: ClassVar[bool] = False
    fits_targets: ClassVar[bool] = False
    whole_session: ClassVar[str] = "its covariance is fitted to whole sessions"

    def row_weights(
        self, columns: NDArray[np.integer], old: int, counts: NDArray[np.integer]
    ) -> Array | None:
        """Return None; InputError where no class has two samples and the covariance would be zero."""
        if self.needs_spread and counts.max() < 2:
            raise InputError(
                "no class has two samples so far, so that there is no covariance inside the "
                "classes: join the session with another."
            )
        return None

    def unit(self, mean_square: float) -> float:
        """Return 1: shrinkages have no scale."""
        return 1.0

    def solve(self, sums: Sums, ridge: float) -> Solution:
        """Return W (D, c) and b (c,)."""
        on = sums.on
        means = sums.C / on.array(sums.counts.astype(np.float64))
        W = self._precision_times(sums, ridge, means)
        return W, -0.5 * on.xp.sum(means * W, axis=0)

    def _precision_times(self, sums: Sums, ridge: float, means: Array) -> Array:
        """Return L times the class means (D, c)."""
        raise TypeError(f"{type(self).__name__} has no covariance")


@dataclass(eq=False)
class ShrunkCovariance(Discriminant):
    """``L = ((1 - e) Sigma + e I)^-1`` with e its one number (Deep SLDA, 2020).

    Parameters
    ----------
    covariance : ``streamed``, S / n of all samples; ``frozen``, the OAS estimate of the first session
        for ever
    """

    covariance: str = "streamed"
    needs_spread: ClassVar[bool] = False  # e I alone is a covariance
    posterior: ClassVar[bool] = (
        True  # of Gaussians with this covariance, classes being equally likely
    )
    kept: ClassVar[dict[str, Shape | None]] = {"base": Sums | None}

    def __post_init__(self) -> None:
        check_choice("covariance", self.covariance, ("streamed", "frozen"))
        self.base: Sums | None = None
        if self.covariance == "frozen":
            self.keeps_rows = "its covariance is that of the first session"

    def _precision_times(self, sums: Sums, ridge: float, means: Array) -> Array:
        if self.covariance == "frozen" and self.base is None:
            self.base = sums.copy()
        scatter = Scatter(self.base or sums)
        rho, mean = scatter.oas() if self.base else (0.0, 0.0)
        a = (1 - ridge) * (1 - rho) / scatter.n
        return scatter.solve(a, (1 - ridge) * rho * mean + ridge, means)


@dataclass(eq=False)
class RidgedScatter(Discriminant):
    """``L = 2 (S + ridge v I)^-1`` with v in units of S.

    Parameters
    ----------
    per : what v is

        direction : tr S / D, the scatter along an average direction; a ridge of 0 is the pseudo-inverse,
            9 D^3 flops (KLDA, 2025)
        sample : tr S / n, the mean squared distance of a sample to its class mean: the best ridge then
            depends on neither D, n nor the scale of the rows, and 1 is a rule without a choice
    """

    per: str = "direction"
    kept: ClassVar[dict[str, Shape | None]] = {"rank": int | None, "shrinkage": float | None}

    def __post_init__(self) -> None:
        check_choice("per", self.per, ("direction", "sample"))
        self.rank: int | None = None
        self.shrinkage: float | None = None

    def _precision_times(self, sums: Sums, ridge: float, means: Array) -> Array:
        scatter = Scatter(sums)
        if ridge:
            self.shrinkage = ridge if self.per == "sample" else None
            unit = scatter.trace() / (sums.n if self.shrinkage else sums.D)
            return 2 * scatter.solve(1.0, ridge * unit, means)
        solved, self.rank = scatter.pseudo_solve(means)
        return 2 * solved

    def report(self) -> dict[str, Any]:
        """Return the rank of S where the pseudo-inverse was taken, and the ridge in units of a sample."""
        measured = {"rank": self.rank, "shrinkage": self.shrinkage}
        return {name: ridge for name, ridge in measured.items() if ridge is not None}


@dataclass(eq=False)
class OracleShrinkage(Discriminant):
    """``L = ((1 - rho) S / n + rho m I)^-1``, m the mean variance and rho by oracle approximating shrinkage.

    Source: Chen et al. (2010).  Cost: 2 D^2 c flops more.

    Attributes
    ----------
    prior : whether the logarithm of each class's share of the samples is added to its score
    shrinkage : rho of the last session
    """

    prior: bool = True
    posterior: ClassVar[bool] = True  # of Gaussians with this covariance
    kept: ClassVar[dict[str, Shape | None]] = {"shrinkage": float | None}

    def __post_init__(self) -> None:
        check_flag("prior", self.prior)
        self.shrinkage: float | None = None

    def solve(self, sums: Sums, ridge: float) -> Solution:
        """Return W (D, c) and b (c,); the ridge is not used."""
        W, b = super().solve(sums, ridge)
        if self.prior and b is not None:
            b = b + sums.on.array(np.log(sums.counts / sums.n))
        return W, b

    def _precision_times(self, sums: Sums, ridge: float, means: Array) -> Array:
        scatter = Scatter(sums)
        self.shrinkage, mean = self._estimate(scatter)
        return scatter.solve((1 - self.shrinkage) / scatter.n, self.shrinkage * mean, means)

    def _estimate(self, scatter: Scatter) -> tuple[float, float]:
        """Return rho and m."""
        return scatter.oas()

    def report(self) -> dict[str, Any]:
        """Return the shrinkage of the last session."""
        return {"shrinkage": self.shrinkage}


@dataclass(eq=False)
class RidgeDiscriminant(Head):
    """Scores ``(1 - w) h W_r / s_r + w (h W_l + b) / s_l``, both heads at one ridge: D^3 / 3 + 4 D^2 c flops.

    With A = R + ridge I, the scatter S inside the classes and class means M, ``W_r = A^-1 C`` is the joint
    ridge, ``W_l = (S + ridge I)^-1 M`` and ``b = -diag(M^T W_l) / 2`` the linear discriminant; the two differ by a
    c x c matrix (:mod:`sparcl.algebra.paired`).  Each is in units of its own noise: s^2 is the mean over
    classes of ``v^T (S + ridge I) v / n``, the variance inside the classes, shrunk as S is, of a score less the
    mean of all scores.

    Parameters
    ----------
    weight : w of the discriminant, in (0, 1)
    """

    weight: float = 0.5
    whole_session: ClassVar[str] = "its covariance is fitted to whole sessions"
    fits_targets: ClassVar[bool] = False
    kept: ClassVar[dict[str, Shape | None]] = {"noise": list[float]}

    def __post_init__(self) -> None:
        check_fraction("weight", self.weight)
        self.noise: list[float] = []

    def solve(self, sums: Sums, ridge: float) -> Solution:
        """Return W (D, c) and b (c,) at a ridge."""
        pair = Paired.of(sums, ridge)
        on = sums.on
        inner = host(on.matmul((sums.C / on.array(np.sqrt(sums.counts))).T, pair.V))
        scatter = host(pair.V.T @ sums.times(pair.V) + ridge * (pair.V.T @ pair.V))
        B, b = self.summed(pair, scatter - inner.T @ inner, sums.n)
        return on.laid_out(product(pair.V, on.array(B))), on.array(b)

    def summed(self, pair: Paired, scatter: Array, n: int) -> tuple[Array, Array]:
        """Return B (c, c) and b (c,) of the sum ``V B + b``, given V^T (S + ridge I) V (c, c)."""
        self.noise = [_noise(B, scatter, n) for B in (pair.ridge, pair.discriminant)]
        of_ridge, of_lda = (1 - self.weight) / self.noise[0], self.weight / self.noise[1]
        return of_ridge * pair.ridge + of_lda * pair.discriminant, of_lda * pair.bias

    def report(self) -> dict[str, Any]:
        """Return the noise of both heads' scores in the last session."""
        return {"noise": self.noise}


def _noise(B: Array, scatter: Array, n: int) -> float:
    """Return s for scores ``V B``, given V^T (S + ridge I) V (c, c); 1 for one class, which has no rival."""
    centred: NDArray[np.floating] = B - B.mean(axis=1, keepdims=True)
    variance = float(np.mean(np.sum(centred * (scatter @ centred), axis=0))) / n
    return float(np.sqrt(variance)) if variance > 0 else 1.0
