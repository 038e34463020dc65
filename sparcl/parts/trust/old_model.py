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

    Squared distances are those of the scatter S of the sessions before, under ``S + ridge tr(S) / D I``;
    the own mean is that of the session, without the row: ``(n_c / (n_c - 1))^2`` times the distance to the
    mean with it.  Cost: D^3 / 3 + 2 D^2 (n + c) flops.

    Parameters
    ----------
    ridge : relative to the mean eigenvalue of S
    """

    ridge: float = 1.0

    def __post_init__(self) -> None:
        check_positive("ridge", self.ridge)

    def weights(self, batch: Batch, old: Sums, head: Head, value: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        known = np.flatnonzero(old.counts > 0)
        if len(known) == 0:
            return np.ones(len(batch))
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
        stays = apart[:, : len(known)].min(axis=1) >= without * to_own
        return np.where(stays | (counts[place] == 1), 1.0, 0.0)
