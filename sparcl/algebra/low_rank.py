"""Gaussians of covariance ``B + U_c U_c^T``, B shared and U_c thin: distances by Woodbury's identity."""

from dataclasses import dataclass

import numpy as np

from sparcl.algebra import linalg
from sparcl.algebra.backend import Factor
from sparcl.base.types import Array


@dataclass(frozen=True)
class Excess:
    """What a class's own covariance adds to its score under the shared B alone.

    With e = x - m, Q = I + U^T B^-1 U = L L^T and P = B^-1 U L^-T, the Gaussian's logarithm is
    ``-e^T B^-1 e / 2 + |P^T e|^2 / 2 - log |L|`` and a constant that all classes share.

    Attributes
    ----------
    P : (d, r); shift : P^T m (r,); log_det : log |L|
    """

    P: Array
    shift: Array
    log_det: float

    @classmethod
    def of(cls, B: Factor, U: Array, mean: Array) -> "Excess":
        """Solve for U (d, r) and mean m (d,): 2 d^2 r + O(d r^2) flops.

        Raises
        ------
        NumericalError
            When Q is not positive definite in this precision.
        """
        if not U.shape[1]:
            return cls(U, np.zeros(0), 0.0)
        V = B.solve(np.asfortranarray(U))
        L = linalg.lower_factor(np.eye(U.shape[1]) + U.T @ V)
        P = linalg.lower_solve(L, V.T).T
        return cls(P, P.T @ mean, float(np.sum(np.log(L.diagonal()))))

    def __call__(self, X: Array) -> Array:
        """Return the excess (n,) of rows X (n, d): 2 n d r flops."""
        return 0.5 * np.sum((X @ self.P - self.shift) ** 2, axis=1) - self.log_det
