"""Doubts a session only where its rows, taken together, say that old classes are among them."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from sparcl.algebra.linalg import product
from sparcl.algebra.scatter import Scatter
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_fraction, check_int, check_positive
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.heads.head import Head
from sparcl.parts.trust.old_model import OldModel
from sparcl.parts.trust.trust import Doubting

LEAST, MOST = 1e-3, 0.9  # a share of strangers inside which the odds stay finite


@dataclass(eq=False)
class Watchful(Doubting):
    """Estimate the share of strangers in a session, and drop rows by :class:`OldModel` where it reaches ``limit``.

    A row under a new label is its class's or a stranger, of some old class.  With squared distances d under the
    scatter S / n of the sessions before, ridged as there, to the class's mean of the session without the
    row and to the c means of old classes, its odds of being a stranger are ``phi / (1 - phi)`` times the mean
    over old classes of ``exp((d_own - d_old) / (2 T))``, and phi is the mean of the posteriors, by iteration.
    T is ``temperature`` times the median distance of the rows to the nearer of the two: rows of d
    coordinates under an estimated S are far less sure than a Gaussian of d dimensions would have them.  On
    a clean session phi goes to 0, so that nothing is doubted and nothing is lost.  This project's own.
    Cost: D^3 / 3 + 2 D^2 (n + c) + 2 n^2 D flops, and that of OldModel where rows are dropped.

    Parameters
    ----------
    limit : share of strangers from which on rows are dropped
    temperature, ridge : see above; rounds : of the iteration

    Attributes
    ----------
    noticed : share of strangers in the last session
    """

    limit: float = 0.15
    temperature: float = 0.04
    ridge: float = 1.0
    rounds: int = 10
    kept: ClassVar[dict[str, Shape | None]] = {"noticed": None}

    def __post_init__(self) -> None:
        check_fraction("limit", self.limit)
        check_positive("temperature", self.temperature)
        check_positive("ridge", self.ridge)
        check_int("rounds", self.rounds, least=1)
        self.noticed = 0.0

    def weights(self, batch: Batch, old: Sums, head: Head, value: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        new = np.flatnonzero(batch.columns >= batch.old)
        known = np.flatnonzero(old.counts > 0)
        if len(known) == 0 or len(new) == 0:
            self.noticed = 0.0
            return np.ones(len(batch))
        self.noticed = self._share(batch.H[new], batch.columns[new], old, known)
        if self.noticed < self.limit:
            return np.ones(len(batch))
        return OldModel(self.ridge).weights(batch, old, head, value)

    def _share(
        self, H: Array, columns: NDArray[np.integer], old: Sums, known: NDArray[np.intp]
    ) -> float:
        """Return the share of strangers among rows H (n, D) under new labels."""
        means = (old.C[:, known] / old.counts[known]).T
        scatter = Scatter(old)
        both = np.asfortranarray(np.vstack([means, H]).T)
        solved = scatter.solve(1.0, self.ridge * scatter.trace() / old.D, both)
        V, K = solved[:, : len(known)], product(H, solved[:, len(known) :])
        own = np.diag(K)
        to_old = own[:, None] - 2 * product(H, V) + np.einsum("cd,dc->c", means, V)
        n_old = old.counts[known]
        to_old = to_old * (n_old / (n_old + 1))
        nearest = to_old.min(axis=1)
        members = [np.flatnonzero(columns == column) for column in np.unique(columns)]
        stranger, phi = np.zeros(len(H)), 0.1
        for _ in range(self.rounds):
            to_own = _to_own(K, members, 1 - stranger)
            scale = 2 * self.temperature * float(np.median(np.minimum(to_own, nearest)))
            scale = max(scale, np.finfo(np.float64).tiny)
            odds = to_own / scale + logsumexp(-to_old / scale, axis=1) - np.log(len(known))
            stranger = expit(odds + np.log(phi / (1 - phi)))
            phi = float(np.clip(stranger.mean(), LEAST, MOST))
        return phi if phi > LEAST else 0.0

    def report(self) -> dict[str, Any]:
        """Return the share of strangers in the last session."""
        return {"noticed": self.noticed}


def _to_own(K: Array, members: list[NDArray[np.intp]], weights: Array) -> Array:
    """Return the squared distance (n,) of each row to its class's weighted mean without it.

    Distances to a mean of m effective rows are divided by 1 + 1 / m, which the mean itself is off by.

    Parameters
    ----------
    K : (n, n) inner products; members : rows of each class; weights : (n,)
    """
    result = np.zeros(len(K))
    for rows in members:
        share = np.tile(weights[rows], (len(rows), 1))
        np.fill_diagonal(share, 0)
        total = share.sum(axis=1, keepdims=True)
        share = np.divide(share, total, out=np.zeros_like(share), where=total > 0)
        inner = K[np.ix_(rows, rows)]
        square = np.diag(inner) - 2 * np.sum(share * inner, axis=1)
        square += np.sum(product(share, inner) * share, axis=1)
        effective = np.square(share).sum(axis=1)  # 1 / m, 0 where nobody else is there
        result[rows] = np.where(effective > 0, square / (1 + effective), 0)
    return result
