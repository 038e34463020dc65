"""The joint ridge and linear discriminant analysis side by side, from one factor."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import host
from sparcl.algebra.gram import Gram
from sparcl.algebra.linalg import product
from sparcl.algebra.paired import Paired
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_fraction
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.heads.head import Head
from sparcl.parts.solutions import Solution


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
    solves_from_rows: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {"noise": None}

    def __post_init__(self) -> None:
        check_fraction("weight", self.weight)
        self.noise: list[float] = []

    def solve(self, sums: Sums, value: float) -> Solution:
        """Return W (D, c) and b (c,) at a ridge."""
        pair = Paired.of(sums, value)
        on = sums.gram.on
        inner = host(on.matmul((sums.C / on.array(np.sqrt(sums.counts))).T, pair.V))
        scatter = host(pair.V.T @ sums.gram.times(pair.V) + value * (pair.V.T @ pair.V))
        B, b = self._summed(pair, scatter - inner.T @ inner, sums.n)
        return on.laid_out(product(pair.V, on.array(B))), on.array(b)

    def scores_from_rows(
        self,
        H: Array,
        columns: NDArray[np.integer],
        weights: Array | None,
        H_scored: Array,
        values: Array,
    ) -> list[Array]:
        """Return the scores (m, c) at every ridge: n^2 D + g n^3 / 3 flops for n rows and g ridges."""
        Y = (columns[:, None] == np.arange(columns.max() + 1)).astype(H.dtype)
        K, left = Gram.of_rows(H), product(H_scored, H.T)
        scores = []
        for value in values:
            pair = Paired.from_rows(K, Y, float(value))
            KP = K.times(pair.V)
            inner = (Y / np.sqrt(Y.sum(axis=0))).T @ KP
            scatter = KP.T @ KP + value * (pair.V.T @ KP) - inner.T @ inner
            B, b = self._summed(pair, scatter, len(H))
            scores.append(product(left, product(pair.V, B)) + b)
        return scores

    def _summed(self, pair: Paired, scatter: Array, n: int) -> tuple[Array, Array]:
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
