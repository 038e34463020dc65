"""Huber's weights from residuals of the ridge."""

from dataclasses import dataclass

import numpy as np

from sparcl.algebra.gram import Gram
from sparcl.algebra.linalg import product
from sparcl.algebra.sums import Sums
from sparcl.base.checks import check_int, check_positive
from sparcl.base.types import Array
from sparcl.parts.batch import Batch
from sparcl.parts.heads.head import Head
from sparcl.parts.trust.trust import Doubting


@dataclass(eq=False)
class Huber(Doubting):
    """``w_i = min(1, k median(e) / e_i)`` with leave-one-out residuals e of the ridge on all sums.

    With ``A = R_old + H^T Omega H + ridge I`` a row's residual is ``|y_i - f_i| / (1 - w_i h_i^T A^-1 h_i)``,
    as if the row had not been fitted: plain residuals vanish where rows are fewer than coordinates.  Cost
    of a round: D^3 / 3 + 2 n D^2 flops, and a copy of R.

    Parameters
    ----------
    k : residuals up to k times the median have full weight
    ridge : of A; rounds : of weights and residuals
    """

    k: float = 1.0
    ridge: float = 0.1
    rounds: int = 5

    def __post_init__(self) -> None:
        check_positive("k", self.k)
        check_positive("ridge", self.ridge)
        check_int("rounds", self.rounds, least=1)

    def weights(self, batch: Batch, old: Sums, head: Head, value: float) -> Array:
        """Return Huber's weight (n,) of each row."""
        H, n = batch.H, len(batch)
        Y = np.zeros((n, batch.classes), dtype=H.dtype)
        Y[np.arange(n), batch.columns] = 1
        C_old = np.zeros((old.D, batch.classes), dtype=H.dtype)
        C_old[:, : old.C.shape[1]] = old.C
        weights = np.ones(n)
        for _ in range(self.rounds):
            gram = Gram.wrap(np.array(old.R, order="F"))
            gram.add(np.ascontiguousarray(H * np.sqrt(weights)[:, None]))
            C = C_old + product(H.T, Y * weights[:, None])
            with gram.factored(self.ridge) as A:
                solved = A.solve(np.hstack([C, H.T]))
            W, V = solved[:, : batch.classes], solved[:, batch.classes :]
            leverage = weights * np.einsum("nd,dn->n", H, V)
            off = np.linalg.norm(Y - product(H, W), axis=1)
            residual = off / np.maximum(1 - leverage, np.finfo(H.dtype).eps)
            middle = float(np.median(residual))
            weights = np.minimum(1, self.k * middle / np.maximum(residual, np.finfo(float).tiny))
        return weights
