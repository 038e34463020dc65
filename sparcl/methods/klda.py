"""Kernel LDA: linear discriminant analysis on random Fourier features.

h(f) = sqrt(2 / M) cos(f Omega + b), Omega ~ N(0, 2 sigma), b ~ U(0, 2 pi)
score_c(f) = -(mu_c - h)^T S^+ (mu_c - h) + h^T S^+ h,    S = sum of (h - mu_y)(h - mu_y)^T
Source: KLDA (AAAI 2025), its class ``KLDA`` as read in public copies; the term that all classes
share is left out here, which moves no prediction and makes the score linear in h.  M and sigma
are arguments there, without a default; the paper's values were not verified, so M = 5,000 and the
median rule are this project's.

What differs.  The official code centres a batch on the class's *running* mean, which is exact
only if a class arrives in one batch; here S is exact whatever the batches.  It inverts with a
pseudo-inverse.  With n - c < M samples S is singular, and the two ways part: a pseudo-inverse
ignores the directions in which no class has any spread, while a ridge, S + ridge tr(S) / M I,
looks at them first (distances there count 1 / ridge times as much as average ones), as null-space
LDA does.  ``ridge = 0`` is the pseudo-inverse, an eigendecomposition of 9 M^3 flops; the default
is a ridge of 1e-4 and a Cholesky factor of M^3 / 3.  Where S is regular both tend to one solution.
The paper's ensemble over seeds is not built.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from sparcl.base.checks import check_int, check_positive
from sparcl.base.errors import InputError
from sparcl.learners.discriminant import Discriminant, Scatter
from sparcl.learners.learner import Array
from sparcl.parts.fourier import FourierMap, median_gamma

MEDIAN = "median"


class Klda(Discriminant):
    """Per session n M^2 + M^3 / 3 flops, or 9 M^3 with the pseudo-inverse."""

    def __init__(self, width: int, sigma: float | str, ridge: float, seed: int) -> None:
        super().__init__()
        self.width = check_int("width", width, least=1)
        self.seed = check_int("seed", seed, least=0)
        self.ridge = 0.0 if ridge == 0 else check_positive("ridge", ridge)
        if isinstance(sigma, str) and sigma != MEDIAN:
            raise InputError(f"sigma = {sigma!r}: it must be a number above 0, or {MEDIAN!r}.")
        self.sigma = sigma if sigma == MEDIAN else check_positive("sigma", sigma)
        self.map: FourierMap | None = None
        self.rank = 0

    def expand(self, Phi: Array) -> Array:
        """Return h (n, M) of features Phi (n, d)."""
        return self.map(super().expand(Phi))

    def report(self) -> dict[str, Any]:
        """Return the sigma in use and, with the pseudo-inverse, the rank of S."""
        used = np.nan if self.map is None else self.map.gamma
        return {"sigma": used} | ({} if self.ridge else {"rank": self.rank})

    def _begin(self, Phi: Array) -> None:
        gamma = median_gamma(Phi) if self.sigma == MEDIAN else self.sigma
        self.map = FourierMap(Phi.shape[1], self.width, gamma, self.seed)

    def _precision_times(self, means: Array) -> Array:
        scatter = Scatter(self.statistics)
        if self.ridge:
            solved = scatter.solve(1.0, self.ridge * scatter.trace() / self.width, means)
        else:
            solved, self.rank = scatter.pseudo_solve(means)
        return 2 * solved

    def _state(self) -> dict[str, Any]:
        return {
            "sizes": np.array([self.width, self.seed, self.rank]),
            "sigma": self.sigma,
            "ridge": self.ridge,
            "features": 0 if self.map is None else self.map.d,
            "gamma": 0.0 if self.map is None else self.map.gamma,
        } | self._sums()

    @classmethod
    def _from_state(cls, state: Mapping[str, Any]) -> Self:
        width, seed, rank = map(int, state["sizes"])
        sigma = MEDIAN if str(state["sigma"]) == MEDIAN else float(state["sigma"])
        learner = cls(width, sigma, float(state["ridge"]), seed)
        learner._take_sums(state)
        learner.rank = rank
        if int(state["features"]):
            learner.map = FourierMap(int(state["features"]), width, float(state["gamma"]), seed)
        return learner


def build(
    *, width: int = 5000, sigma: float | str = MEDIAN, ridge: float = 1e-4, seed: int = 0
) -> Klda:
    """Build the learner.

    Parameters
    ----------
    width : M, outputs of the map
    sigma : of the kernel exp(-sigma |f - g|^2); "median": 1 / (2 m^2), m the median distance of
        samples of the first session
    ridge : share of the mean variance added to S; 0: the official pseudo-inverse
    seed : of the map
    """
    return Klda(width, sigma, ridge, seed)
