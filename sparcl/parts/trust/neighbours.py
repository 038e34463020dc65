"""A row counts as far as its neighbours have its label."""

from dataclasses import dataclass

import numpy as np

from sparcl.algebra.linalg import product
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_int
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.heads.head import Head
from sparcl.parts.trust.trust import Doubting

NEAR = 1e-8  # added to a distance, so that a copy of a row has a finite weight


@dataclass(eq=False)
class Neighbours(Doubting):
    """``w_i = sum over the k nearest rows j of the session, without i, of p_ij [y_j = y_i]``, p ~ 1 / distance.

    Source: GeNGuide's weighting, whose code takes the nearest row for the row itself even where there
    are copies; here a row is left out by its number.  Cost: n^2 D flops.

    Parameters
    ----------
    k : neighbours, fewer in a session of fewer rows
    """

    k: int = 5

    def __post_init__(self) -> None:
        check_int("k", self.k, least=1)

    def weights(self, batch: Batch, old: Sums, head: Head, value: float) -> Array:
        """Return the share (n,) of each row's neighbourhood that has its label."""
        n, H = len(batch), batch.H
        if n < 2:
            return np.ones(n)
        squares = np.einsum("nd,nd->n", H, H)
        apart = squares[:, None] + squares[None] - 2 * product(H, np.ascontiguousarray(H.T))
        np.fill_diagonal(apart, np.inf)
        nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(self.k, n - 1)]
        distance = np.sqrt(np.maximum(np.take_along_axis(apart, nearest, axis=1), 0))
        p = 1 / (distance + NEAR)
        alike = batch.columns[nearest] == batch.columns[:, None]
        return np.sum(p * alike, axis=1) / p.sum(axis=1)
