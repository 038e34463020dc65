"""Tridiagonal form of a symmetric matrix, by LAPACK: what many shifts of it, or some of its eigenvectors, take."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, eigvalsh_tridiagonal, get_lapack_funcs, solveh_banded

from sparcl.base.errors import NumericalError
from sparcl.base.types import Array


@dataclass(frozen=True)
class Tridiagonal:
    """``T = Q^T K Q`` of a symmetric K (n, n), and ``Q^T B`` of some B (n, c); float64.

    Gives the trace of ``(K + shift I)^-1`` and the norm of ``(K + shift I)^-1 B`` for many shifts
    without the eigenvectors of K, which would cost several times as much.
    """

    diagonal: Array
    off: Array
    turned: Array

    @classmethod
    def reduce(cls, K: Array, B: Array) -> "Tridiagonal":
        """Reduce K, which is used up, and turn B: 4 n^3 / 3 + 2 n^2 c flops."""
        A, diagonal, off, tau = tridiagonal(K)
        turned = turn(A, tau, np.array(B, dtype=A.dtype, order="F"), "T")
        return cls(*(part.astype(np.float64) for part in (diagonal, off, turned)))

    def eigenvalues(self) -> Array:
        """Return the eigenvalues (n,), ascending: O(n^2)."""
        return eigvalsh_tridiagonal(self.diagonal, self.off, check_finite=False)

    def solved(self, shift: float) -> Array:
        """Return ``(T + shift I)^-1 Q^T B`` (n, c): O(n c).

        Raises
        ------
        NumericalError
            When T + shift I is not positive definite to working precision.
        """
        if len(self.off) == 0:
            return self.turned / (self.diagonal + shift)
        try:
            bands = np.stack([self.diagonal + shift, np.append(self.off, 0.0)])
            return solveh_banded(bands, self.turned, lower=True, check_finite=False)
        except LinAlgError as error:
            raise NumericalError(
                f"K + {shift:g} I of {len(self.diagonal)} rows is not positive definite: raise the "
                "ridge or use dtype float64."
            ) from error


def tridiagonal(A: Array) -> tuple[Array, Array, Array, Array]:
    """Reduce symmetric A (n, n), which is used up: reflectors, diagonal, off-diagonal, their scales."""
    sytrd, lwork = get_lapack_funcs(("sytrd", "sytrd_lwork"), (A,))
    size = int(lwork(len(A), lower=1)[0])
    return sytrd(A, lower=1, lwork=size, overwrite_a=1)[:4]


def turn(A: Array, tau: Array, B: Array, trans: str) -> Array:
    """Apply Q (trans "N") or Q^T ("T") of :func:`tridiagonal` to B (n, c), in place: 2 n^2 c flops."""
    if len(A) > 1:
        # the reflectors leave row 1 alone and lie below the subdiagonal, as those of a QR do
        (ormqr,) = get_lapack_funcs(("ormqr",), (A,))
        B[1:] = ormqr("L", trans, A[1:, :-1], tau, B[1:], max(64 * B.shape[1], 1))[0]
    return B
