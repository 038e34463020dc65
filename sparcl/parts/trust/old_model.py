"""Rows that lie closer to an old class than to their own are left out."""

from dataclasses import dataclass

import numpy as np

from sparcl.algebra.linalg import product
from sparcl.algebra.scatter import Scatter
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_positive
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.heads.head import Head
from sparcl.parts.trust.trust import Doubting


@dataclass(eq=False)
class OldModel(Doubting):
    """Drop a row whose least distance to an old class's mean is below that to its own class's mean.

    Parameters
    ----------
    ridge : of the scatter, relative to its mean eigenvalue
    """

    ridge: float = 1.0

    def __post_init__(self) -> None:
        check_positive("ridge", self.ridge)

    def weights(self, batch: Batch, old: Sums, head: Head, value: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        return np.where(self.strangeness(batch, old) > 0, 0.0, 1.0)

    def strangeness(self, batch: Batch, old: Sums) -> Array:
        """Return how much farther (n,) each row is from its own class's mean than from the nearest old one.

        Squared distances are those of the scatter S of the sessions before, under ``S + ridge tr(S) / D I``;
        the own mean is that of the session, without the row: ``(n_c / (n_c - 1))^2`` times the distance to the
        mean with it.  A row that is alone in its class, or comes before there are old classes, is none: -inf.
        Cost: D^3 / 3 + 2 D^2 (n + c) flops.
        """
        known = np.flatnonzero(old.counts > 0)
        if len(known) == 0:
            return np.full(len(batch), -np.inf)
        labels, place, counts = np.unique(batch.columns, return_inverse=True, return_counts=True)
        H = batch.H
        own = np.stack([H[place == j].mean(axis=0) for j in range(len(labels))])
        means = np.vstack([(old.C[:, known] / old.counts[known]).T, own])
        scatter = Scatter(old)
        solved = scatter.solve(
            1.0, self.ridge * scatter.trace() / old.D, np.asfortranarray(np.vstack([means, H]).T)
        )
        V, K = solved[:, : len(means)], solved[:, len(means) :]
        apart = np.einsum("nd,dn->n", H, K)[:, None] - 2 * product(H, V)
        apart += np.einsum("cd,dc->c", means, V)
        to_own = apart[np.arange(len(H)), len(known) + place]
        without = (counts / np.maximum(counts - 1, 1))[place] ** 2
        apart[:, : len(known)][batch.columns[:, None] == known[None]] = np.inf
        farther = without * to_own - apart[:, : len(known)].min(axis=1)
        return np.where(counts[place] == 1, -np.inf, farther)
