"""Rows that the head, with the session in it, takes for an old class are left out."""

from dataclasses import dataclass

import numpy as np

from sparcl.algebra.linalg import product
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_int
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.heads.head import Head
from sparcl.parts.trust.trust import Doubting


@dataclass(eq=False)
class Rechecked(Doubting):
    """Fit the head to the sums with the session, drop the rows that it calls an old class, and fit again.

    A row under an old label is dropped where it is called another old class.  Cost of a round: what the
    head costs, n D^2, and a copy of R.

    Parameters
    ----------
    rounds : of fitting and dropping
    """

    rounds: int = 2

    def __post_init__(self) -> None:
        check_int("rounds", self.rounds, least=1)

    def weights(self, batch: Batch, old: Sums, head: Head, value: float) -> Array:
        """Return 1 for rows that stay and 0 for others (n,)."""
        stays = np.ones(len(batch), dtype=bool)
        if old.n == 0:
            return stays.astype(float)
        for _ in range(self.rounds):
            total = old.copy()
            batch.take(np.flatnonzero(stays)).add_to(total)
            # a class of which nothing is left has no weights, and is called by nobody
            live = np.flatnonzero(total.counts > 0)
            total.C, total.counts = np.asfortranarray(total.C[:, live]), total.counts[live]
            W, b = head.solve(total, value)
            scores = product(batch.H, W) + (0 if b is None else b)
            called = live[np.argmax(scores, axis=1)]
            stays &= (called >= batch.old) | (called == batch.columns)
        return stays.astype(float)
