"""Heads for comparison: AIR's balanced ridge for classes that return, and the shrinkage of Ledoit and Wolf."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparcl.algebra.backend import host
from sparcl.algebra.scatter import Scatter
from sparcl.algebra.sums import Gram, Sums, squared_lengths
from sparcl.base.checks import check_memory
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.parts.batch import Batch, Solution
from sparcl.parts.heads import OracleShrinkage, Ridge


@dataclass(eq=False)
class BalancedByClass(Ridge):
    """The ridge of :class:`BalancedRidge`, with the sum ``A_c = H_c^T H_c`` of each class, so that classes may return.

    It is AIR as its public code keeps it.  Its state is c D^2 numbers where that of the other is D^2.  Cost: 2 n D^2
    flops per session beside the sums, and 2 c D^2 for a solution beside the ridge's.

    Attributes
    ----------
    apart : (D D, c) A_c of each class, its rows one after the other
    """

    balanced: ClassVar[bool] = True
    needs_number: ClassVar[str] = "has one sum for each class, with all rows"
    whole_session: ClassVar[str] = "it sums the rows of each class apart"
    keeps_rows = "it sums the rows of each class apart, and these sums are not taken from"
    kept: ClassVar[dict[str, Shape | None]] = {"apart": (None, None)}

    def __post_init__(self) -> None:
        self.apart: Array = np.zeros((0, 0))

    def see(self, batch: Batch, before: Sums) -> None:
        """Add each row to its class's sum; InputError where the machine has too little memory for all of them."""
        on, D, known = before.on, before.D, self.apart
        if known.shape[1] < batch.classes:
            check_memory("R of each class", (batch.classes, D, D), before.dtype)
            self.apart = on.zeros((D * D, batch.classes), before.dtype)
            if known.shape[1]:
                self.apart[:, : known.shape[1]] = known
        for H, columns, _ in batch.blocks():
            for column in np.unique(columns):
                rows = on.take_rows(H, np.flatnonzero(columns == column))
                self.apart[:, column] += on.product(rows.T, rows).reshape(-1)

    def solve(self, sums: Sums, ridge: float) -> Solution:
        """Return ``(sum_c pi_c A_c + ridge I)^-1 C diag(pi)`` (D, c), ``pi_c = c / N_c / sum_j 1 / N_j``."""
        shares = np.divide(1.0, sums.counts, out=np.zeros(len(sums.counts)), where=sums.counts > 0)
        shares *= np.count_nonzero(shares) / shares.sum()
        weights = sums.on.array(shares.astype(sums.dtype))
        R = sums.on.product(self.apart, weights[:, None]).reshape(sums.D, sums.D)
        with Gram.wrap(R).factored(ridge) as factor:
            return factor.solve(sums.C * weights), None


@dataclass(eq=False)
class LedoitWolf(OracleShrinkage):
    """rho by Ledoit and Wolf (2004), for which one scalar is kept beside the sums.

    It is ``q = sum |h - m_y|^4`` about the class means: exact where the rows of a class arrive in one
    session.  Where a class returns, its mean moves by g and its old part of q by
    ``4 g^T (n S_c) g + 2 |g|^2 n tr S_c + n |g|^4`` and a term in third moments; with the shared S for
    its own S_c, which is in no sum, and without that term, q is an approximation.

    Cost: 4 n D flops per session of n rows on the host, where mapped rows come for
    it, and a second pass of the map where rows are not kept mapped.
    """

    keeps_rows = "its fourth moments are about class means of their time"
    kept: ClassVar[dict[str, Shape | None]] = {"fourth": float}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.fourth = 0.0

    def see(self, batch: Batch, before: Sums) -> None:
        """Add the rows' share of q, and move that of classes that return."""
        counts, sums = np.zeros(batch.classes), np.zeros((batch.classes, before.D))
        C = host(before.C)
        counts[: len(before.counts)], sums[: len(before.counts)] = before.counts, C.T
        for H, columns, _ in batch.blocks():
            rows = host(H)
            for column in np.unique(columns):
                sums[column] += rows[columns == column].sum(axis=0)
        arrived = np.bincount(batch.columns, minlength=batch.classes)
        means = sums / np.maximum(counts + arrived, 1)[:, None]
        for H, columns, _ in batch.blocks():
            self.fourth += float(np.sum(squared_lengths(host(H) - means[columns]) ** 2))
        back = np.flatnonzero((counts * arrived)[: len(before.counts)])
        if len(back):
            scatter = Scatter(before)
            n = before.counts[back]
            moves = C[:, back] / n - means[back].T
            squares = np.sum(moves**2, axis=0)
            turned = host(scatter.times(before.on.array(moves)))
            along = np.sum(moves * turned, axis=0) / scatter.n
            spread = scatter.trace() / scatter.n
            self.fourth += float(n @ (4 * along + 2 * squares * spread + squares**2))

    def _estimate(self, scatter: Scatter) -> tuple[float, float]:
        return scatter.ledoit_wolf(self.fourth)
