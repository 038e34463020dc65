"""Rows far from the centre of their class are left out."""

from dataclasses import dataclass

import numpy as np

from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_int, check_positive
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.heads.head import Head
from sparcl.parts.trust.trust import Doubting

NORMAL = 1.4826  # median absolute deviation to standard deviation of a Gaussian


@dataclass(eq=False)
class Trim(Doubting):
    """Drop rows farther from the centre than ``median + k 1.4826 MAD`` of the distances, and iterate.

    Centre and limit are those of the rows still in.  Cost: 3 n D flops a round.

    Parameters
    ----------
    k : standard deviations of the distances; rounds : of centre and limit
    """

    k: float = 1.5
    rounds: int = 3

    def __post_init__(self) -> None:
        check_positive("k", self.k)
        check_int("rounds", self.rounds, least=1)

    def weights(self, batch: Batch, old: Sums, head: Head, value: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        weights = np.ones(len(batch))
        for column in np.unique(batch.columns):
            rows = np.flatnonzero(batch.columns == column)
            H, stays = batch.H[rows], np.ones(len(rows), dtype=bool)
            for _ in range(self.rounds):
                apart = np.linalg.norm(H - H[stays].mean(axis=0), axis=1)
                middle = np.median(apart[stays])
                spread = NORMAL * np.median(np.abs(apart[stays] - middle))
                stays = apart <= middle + self.k * spread
            weights[rows] = stays
        return weights
