"""FeCAM: Mahalanobis distance to the class mean under the class's own correlation matrix.

u = f / |f|;  Sigma_c = cov of the class's u + alpha mean(diag) I;  D_c = diag(Sigma_c)
score_c(f) = -(u - mu_c)^T [D_c^(-1/2) Sigma_c D_c^(-1/2)]^-1 (u - mu_c)
Source: FeCAM (NeurIPS 2023), the script for a ViT on CIFAR-100, dipamgoswami/FeCAM, commit
d2479b7.  Official: alpha1 = 1 on the diagonal and alpha2 = 0 off it, for each of the ViT scripts
(CIFAR-100, ImageNet-R, CORe50); features of unit norm.

Differences.  The code keeps K matrices of d x d and a pseudo-inverse of each at every test.  Here
the covariance is kept as a thin factor of rank below n_c (``sparcl/algebra/gaussians.py``): the same
numbers, n_c d in place of d^2, and Woodbury's identity gives the distance.  Sigma_c is positive
definite, so inverse and pseudo-inverse are one.  alpha2 is left out (``fenec`` has it).  PILOT's port (raw covariance
+ 100 I, both vectors normalised) is another method.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import product
from sparcl.algebra.gaussians import Gaussians
from sparcl.base.checks import check_positive
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.rows import unit
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.learner import Learner

TOGETHER = 32  # classes of one product


@dataclass(frozen=True)
class Correlation:
    """The inverse ``P = diag(s) - G^T diag(w) G`` of the correlation matrix of one class's shrunk covariance.

    Attributes
    ----------
    s : (d,); G : (r, d); w : (r,)
    """

    s: Array
    G: Array
    w: Array

    @classmethod
    def of(cls, F: Array, n: int, added: float, alpha2: float = 0.0) -> Self:
        """Return P from the thin factor F (r, d) of the scatter of n samples.

        ``added`` is added to the diagonal of the covariance, and ``alpha2`` times the mean covariance e to all that is
        off it: with D the diagonal of the sum, ``D^(-1/2) P^-1 D^(-1/2) = F^T F / (n - 1) + a I + e 1 1^T``.

        Raises
        ------
        NumericalError
            When the sum is not positive definite.
        """
        below, d = max(n - 1, 1), F.shape[1]
        squares = F**2 / below
        variances = squares.sum(axis=0)
        e = 0.0
        if alpha2:
            total = float(np.sum(F.sum(axis=1) ** 2)) / below
            e = alpha2 * (total - float(variances.sum())) / max(d * (d - 1), 1)
        a = max(added - e, 0.0)
        # (F^T F / (n - 1) + a I)^-1 by its eigenvectors, the rows of F
        weights = 1 / (below * (a + squares.sum(axis=1)))
        if e:
            ones = (1 - (F.sum(axis=1) * weights) @ F) / (a or 1.0)
            rest = 1 + e * float(ones.sum()) if a else 0.0
            if not rest > 0:
                raise NumericalError(
                    f"alpha2 = {alpha2:g}: the covariance of a class is not positive definite. Lower alpha2, or raise "
                    "alpha."
                )
            F, weights = np.vstack([F, ones]), np.append(weights, a * e / rest)
        D = variances + added
        return cls(D / a, F * np.sqrt(D), weights / a)

    def times(self, X: Array) -> Array:
        """Return ``X P`` (n, d) of rows X (n, d): 4 n d r flops."""
        result: Array = X * self.s - ((X @ self.G.T) * self.w) @ self.G
        return result


def distances(X: Array, points: Array, P: Sequence[Correlation]) -> Array:
    """Return ``(x - p_c)^T P_c (x - p_c)`` (n, c) of rows X (n, d) and points (c, d): 2 n d r flops per class."""
    centre = points.mean(axis=0)  # of rows about it less cancels
    X, points = X - centre, points - centre
    S = np.stack([metric.s for metric in P])
    found = product(X**2, S.T) - 2 * product(X, (S * points).T) + np.sum(S * points**2, axis=1)
    for start in range(0, len(P), TOGETHER):
        some = P[start : start + TOGETHER]
        inside = product(X, np.vstack([metric.G for metric in some]).T)
        ends = np.cumsum([len(metric.w) for metric in some])
        for j, part in enumerate(np.split(inside, ends[:-1], axis=1), start):
            found[:, j] -= (part - P[j].G @ points[j]) ** 2 @ P[j].w
    return found


@dataclass(eq=False)
class FeCam(Learner):
    """Keeps a mean and a thin factor a class: 2 n_c^2 d flops to fit, 2 n d n_c a class to score.

    A class needs two samples in its first session, else it has no covariance (InputError).

    Parameters
    ----------
    alpha : share of the mean variance that is added (official 1)
    """

    alpha: float = 1.0
    cannot_forget: ClassVar[str] = ""
    classes_apart: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {"gaussians": Gaussians}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("alpha", self.alpha)
        self.gaussians = Gaussians(0)

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        U = unit(Phi)
        for j in range(old, classes):
            rows = U[columns == j]
            if not np.ptp(rows, axis=0).any():
                raise InputError(
                    f"FeCAM needs two different samples of a class for its covariance, got "
                    f"{len(rows)} sample(s) without spread for new class number {j - old + 1} of "
                    "the session: add samples or leave the class out."
                )
        if self.session == 0:
            self.gaussians = Gaussians(Phi.shape[1])
        self.gaussians.add(U, columns, classes)

    def _counts(self) -> NDArray[np.integer]:
        return self.gaussians.counts

    def _take_away(self, Phi: Array, columns: NDArray[np.integer]) -> None:
        self.gaussians.take_away(unit(Phi), columns)

    def _refit(self, order: NDArray[np.intp], refit: bool) -> float | None:
        self.gaussians.reorder(order)
        if not all(map(len, self.gaussians.factors)):
            raise InputError(
                "FeCAM needs two different samples of a class for its covariance: forget the rest of the class too."
            )
        return None

    def _logits(self, Phi: Array) -> Array:
        kept = self.gaussians
        P = [
            Correlation.of(F, int(n), self.alpha * mean_variance(F, int(n)))
            for n, F in zip(kept.counts, kept.factors, strict=True)
        ]
        return -distances(unit(Phi), kept.means, P)


def mean_variance(F: Array, n: int) -> float:
    """Return the mean variance of n samples from the thin factor F (r, d) of their scatter."""
    return float((F**2 / (n - 1)).sum(axis=0).mean())


build = FeCam
