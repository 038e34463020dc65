"""FeNeC: the nearest centroids vote, at FeCAM's distance, several to a class.

Each class has ``centroids`` means of k-means on its rows of unit norm, and the inverse P_c of the correlation matrix
of its covariance Sigma_c + alpha mean(diag) I + alpha2 mean(off-diagonal) (1 1^T - I).  The ``neighbours`` centroids mu
with the smallest d = ((u - mu)^T P_c (u - mu))^(1/2) vote for their classes.  Source: FeNeC (2025),
btrojan-official/FeNeC, commit 286babf.  Official, chosen there on test rows: alpha 6.12, alpha2 7.80, 26 centroids, one
neighbour (ViT, CIFAR-100).  One centroid and one neighbour are FeCAM.

Differences.  The code takes covariances from rows as they are and distances from rows of unit norm; here both are of
unit norm.  It has scikit-learn's k-means, greedy k-means++ and seed 42, and refuses more centroids than samples; here
every class starts the same random stream, so that neither the order of classes nor sessions matter, and a class has no
more centroids than samples.  Of a class that returns the centroids are those of its old ones, each counting as its
samples do, and the new rows: an approximation; means and covariances are exact.  Left out: the power of the
features and the repeated shrinkage of its ResNets, and FeNeC-Log, which trains two numbers.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import product
from sparcl.base.checks import check_choice, check_int, check_positive
from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.base.rows import unit
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.methods.fecam import Correlation, FeCam, distances, mean_variance
from sparcl.parts.batch import ROWS

ROUNDS = 100  # of k-means at most


@dataclass(eq=False)
class FeNec(FeCam):
    """Keeps k centroids and a thin factor a class: k n_c d flops a round of k-means, 2 n d (n_c + k) a class to score.

    Parameters
    ----------
    alpha : share of the mean variance that is added (official 6.12)
    alpha2 : share of the mean covariance that is added off the diagonal (official 7.80)
    centroids : k of each class at most (official 26)
    neighbours : centroids that vote
    votes : ``uniform``, where a tie goes to the nearest, or by the inverse of the ``distance``
    seed : of k-means
    """

    alpha: float = 1.0
    alpha2: float = 0.0
    centroids: int = 26
    neighbours: int = 1
    votes: str = "uniform"
    seed: int = 0
    keeps_samples: ClassVar[bool] = True  # a centroid may be one of a single sample
    kept: ClassVar[dict[str, Shape | None]] = {"points": (None, "d"), "sizes": (None,)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha2 != 0:
            check_positive("alpha2", self.alpha2)
        check_int("centroids", self.centroids, least=1)
        check_int("neighbours", self.neighbours, least=1)
        check_choice("votes", self.votes, ("uniform", "distance"))
        check_int("seed", self.seed, least=0)
        self.points: list[Array] = []
        self.sizes: list[Array] = []

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        super()._fit(Phi, columns, old, classes)
        U, d = unit(Phi), Phi.shape[1]
        self.points += [np.zeros((0, d)) for _ in range(classes - len(self.points))]
        self.sizes += [np.zeros(0) for _ in range(classes - len(self.sizes))]
        for j in np.unique(columns):
            rows = U[columns == j]
            X = np.vstack([self.points[j], rows])
            sizes = np.append(self.sizes[j], np.ones(len(rows)))
            rng = generator("centroids", self.seed)
            self.points[j], self.sizes[j] = k_means(X, sizes, self.centroids, rng)

    def _take_away(self, Phi: Array, columns: NDArray[np.integer]) -> None:
        gone, counts = np.bincount(columns, minlength=len(self.points)), self._counts()
        if ((gone > 0) & (gone < counts)).any():
            raise InputError("a centroid says nothing about single samples: forget whole classes.")
        super()._take_away(Phi, columns)

    def _refit(self, order: NDArray[np.intp], refit: bool) -> float | None:
        self.points, self.sizes = [self.points[j] for j in order], [self.sizes[j] for j in order]
        return super()._refit(order, refit)

    def _logits(self, Phi: Array) -> Array:
        kept = self.gaussians
        P = [
            Correlation.of(F, int(n), self.alpha * mean_variance(F, int(n)), self.alpha2)
            for n, F in zip(kept.counts, kept.factors, strict=True)
        ]
        U = unit(Phi)
        parts = [self._scores(U[start : start + ROWS], P) for start in range(0, len(U), ROWS)]
        return np.concatenate([np.zeros((0, len(P))), *parts])

    def _scores(self, U: Array, P: list[Correlation]) -> Array:
        """Return the scores (n, c) of rows U (n, d) of unit norm."""
        means = self.gaussians.means
        gaps = [points - mean for mean, points in zip(means, self.points, strict=True)]
        turned = [metric.times(gap) for metric, gap in zip(P, gaps, strict=True)]
        cross = product(U, np.vstack(turned).T)
        ends = np.cumsum([len(gap) for gap in gaps])
        squares = [
            np.maximum(to_mean[:, None] - 2 * (part - T @ mean) + np.sum(T * gap, axis=1), 0)
            for to_mean, part, T, mean, gap in zip(
                distances(U, means, P).T,
                np.split(cross, ends[:-1], axis=1),
                turned,
                means,
                gaps,
                strict=True,
            )
        ]
        nearest = np.stack([part.min(axis=1) for part in squares], axis=1)
        if self.neighbours == 1:
            return -nearest
        D = np.sqrt(np.hstack(squares))
        owners = np.repeat(np.arange(len(P)), [part.shape[1] for part in squares])
        k = min(self.neighbours, len(owners))
        voting = np.argpartition(D, k - 1, axis=1)[:, :k]
        near = np.take_along_axis(D, voting, axis=1)
        weights = np.ones_like(near) if self.votes == "uniform" else 1 / np.maximum(near, 1e-12)
        votes = np.zeros_like(nearest)
        np.add.at(votes, (np.arange(len(U))[:, None], owners[voting]), weights)
        # less than a vote: the nearest of those that tie
        return votes + 0.5 / (1 + np.sqrt(nearest)) if self.votes == "uniform" else votes


def k_means(X: Array, sizes: Array, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return at most k centroids (k, d) of rows X (n, d), and how much of ``sizes`` (n,) each has.

    k-means++ and Lloyd's algorithm, rows counting as ``sizes`` says; fewer centroids where rows are copies.
    """
    centres = X[[rng.choice(len(X), p=sizes / sizes.sum())]]
    squares = np.full(len(X), np.inf)
    while True:
        squares = np.minimum(squares, np.sum((X - centres[-1]) ** 2, axis=1))
        if len(centres) == min(k, len(X)) or not squares.any():
            break
        weights = sizes * squares
        centres = np.vstack([centres, X[rng.choice(len(X), p=weights / weights.sum())]])
    owners = np.zeros(0)
    for _ in range(ROUNDS):
        before, owners = owners, np.argmin(np.sum(centres**2, axis=1) - 2 * X @ centres.T, axis=1)
        if np.array_equal(before, owners):
            break
        held = (owners[:, None] == np.unique(owners)) * sizes[:, None]
        counts = held.sum(axis=0)
        centres = (held.T @ X) / counts[:, None]
    return centres, counts


build = FeNec
