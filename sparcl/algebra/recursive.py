"""The recursive path: the residual inverse kept, and updated by as many ranks as there are rows.

The one place that keeps an inverse.  For a fixed core U (D, k) with residual basis U_res, and
A = R + ridge I, it holds the inverse on the residual support

    P = U_res (U_res^T A U_res)^-1 U_res^T = A^-1 - V S^-1 V^T,    V = A^-1 U,  S = U^T V,

in feature coordinates, which spares the rotation of every row into the residual.  With new rows
X (n, D) and T = P X^T,

    P  <-  P - T (I + X T)^-1 T^T,        K = P X^T with the new P.

Old columns keep their core coordinates, and their residual ones solve ``A_rr Z = C_r - A_rc G``;
so the recursion of ridge regression holds for them as it stands,

    W_old  <-  W_old + K (Y - X W_old).

New columns are the free ridge solution, by elimination of the residual: with M = P A U,

    (U^T A U - (A U)^T M) X_c = (U - M)^T X^T Y,       W_new = K Y + (U - M) X_c,

and ``M <- M + K (X U - X M)``, so that no step but the update of P costs more than O(D k n).
Source: paper, "Block Woodbury Implementation" and the appendix's block identity.
"""

import logging
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import host, like, of, product
from sparcl.algebra.sums import Gram
from sparcl.base.errors import NumericalError
from sparcl.base.randomness import generator
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array

logger = logging.getLogger(__name__)

# Measured: with more rows than D / PAYS the direct solve is as fast (benchmarks/solver.py).
PAYS = 16
# Relative error of P A on a residual probe vector above which P is computed again.
TOLERANCE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-3}


@dataclass(eq=False)
class ResidualInverse(Stateful):
    """``P`` (D, D) of a fixed core U (D, k): building costs D^3 flops, an update with n rows 3 n D^2.

    Attributes
    ----------
    refactored : the reason of each time that P was computed again
    """

    ridge: float
    U: Array
    kept: ClassVar[dict[str, Shape | None]] = {
        "U": ("D", "k"),
        "whole": ("D", "D"),
        "AU": ("D", "k"),
        "M": ("D", "k"),
        "probe": ("D",),
        "image": ("D",),
        "refactored": list[str],
    }

    def __post_init__(self) -> None:
        self.P = Gram(0)
        self.refactored: list[str] = []

    @property
    def whole(self) -> Array:
        """P (D, D), whole; do not write into it."""
        return self.P.R

    @whole.setter
    def whole(self, value: Array) -> None:
        self.P = Gram.wrap(value)

    @staticmethod
    def pays(n: int, D: int) -> bool:
        """Return whether an update with n rows is cheaper than a direct solve."""
        return n * PAYS <= D

    def update(
        self, X: Array, columns: NDArray[np.integer], W: Array, classes: int, R: Gram
    ) -> Array:
        """Add rows X (n, D) and return the weights (D, classes); R holds the rows already."""
        # transposed products where the sum is in Fortran order, so that it runs along its columns
        XU = product(X, self.U)
        self.AU += product(XU.T, X).T
        self.image += (X @ self.probe) @ X
        try:
            K = woodbury(self.P, X)
            self.M += product((XU - product(X, self.M)).T, K.T).T
            reason = self._wrong()
        except NumericalError as error:
            reason = str(error)
        if reason:
            logger.warning("Computed the residual inverse again: %s.", reason.rstrip("."))
            self.refactored.append(reason.rstrip("."))
            self.factor(R)
            K = self.P.times(X.T)
        old = W.shape[1]
        Y, on = of(X).one_hot(columns, np.arange(classes), X), of(W)
        result = on.zeros((W.shape[0], classes), on.dtype(W))
        result[:, :old] = W
        result[:, :old] += product((Y[:, :old] - product(X, W)).T, K.T).T
        if classes > old:
            free = self.U - self.M
            X_c = on.block_solve(product(self.AU.T, free), product(product(X, free).T, Y[:, old:]))
            result[:, old:] = product(K, Y[:, old:]) + product(free, X_c)
        return result

    def factor(self, R: Gram) -> None:
        """Compute P, A U, M and the probe's image from R."""
        U, D = self.U, len(R)
        self.P = residual_inverse(R, self.ridge, U)
        self.AU = R.times(U) + self.ridge * U
        self.M = self.P.times(self.AU)
        probe = like(generator("woodbury-probe", D).standard_normal(D), U)
        self.probe = probe - U @ (U.T @ probe)
        self.image = R.times(self.probe) + self.ridge * self.probe

    def _wrong(self) -> str:
        """Return by how much P A has left the identity on the residual probe vector, if it has."""
        probe = host(self.probe)
        error = host(self.P.times(self.image)) - probe
        relative = float(np.linalg.norm(error) / max(float(np.linalg.norm(probe)), 1e-300))
        if relative <= TOLERANCE[self.P.precision]:
            return ""
        return f"relative error {relative:.1e} of the residual inverse on a probe vector"


def residual_inverse(R: Gram, ridge: float, U: Array) -> Gram:
    """Return ``P = A^-1 - V S^-1 V^T`` (d, d), A = R + ridge I, V = A^-1 U, S = U^T V: d^3 flops.

    That is ``U_res (U_res^T A U_res)^-1 U_res^T`` without a basis of the residual.
    """
    with R.factored(ridge) as A:
        P = Gram.wrap(A.inverse(), whole=False)
        V = A.solve(U)
    if U.shape[1]:
        S = product(U.T, V)
        L = P.on.block_factor((S + S.T) / 2)
        P.add(P.on.lower_solve(L, V.T), sign=-1.0)
    return P


def woodbury(P: Gram, X: Array) -> Array:
    """Replace P (d, d) by ``P - T (I + X T)^-1 T^T``, T = P X^T, and return the new ``P X^T``.

    A symmetric rank-n downdate: P is symmetric by construction.  Cost: 3 n d^2 + 2 n^2 d flops.

    Raises
    ------
    NumericalError
        When P has lost its positive semidefiniteness; P is left as it was.
    """
    T = P.times(X.T)
    L = P.on.block_factor(product(X, T) + P.on.array(np.eye(X.shape[0], dtype=P.precision)))
    F = P.on.right_solve(T, L, transposed=True)  # so that T (I + X T)^-1 T^T = F F^T
    P.add(F.T, sign=-1.0)
    return P.on.right_solve(F, L, transposed=False)  # the new P X^T = T (I + X T)^-1
