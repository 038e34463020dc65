"""NumPy arrays: symmetric routines of BLAS and LAPACK for symmetric matrices, in place.

Half of a symmetric matrix is redundant, and that half is the workspace: sums go to the lower
triangle, and the Cholesky factor of ``R + shift I`` is written into the upper triangle of ``R``
itself, so that a solve never copies a d x d matrix.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import (
    cho_solve,
    eigh,
    eigh_tridiagonal,
    get_blas_funcs,
    get_lapack_funcs,
    solve_triangular,
)

from sparcl.algebra.host_arrays import HostArrays
from sparcl.algebra.tridiagonal import Tridiagonal, tridiagonal, turn
from sparcl.base.errors import NumericalError
from sparcl.base.types import Array

MIRROR_BLOCK = 128
UPPER = np.triu(np.ones((MIRROR_BLOCK, MIRROR_BLOCK), dtype=bool), 1)


@dataclass
class Factor:
    """Cholesky factor of ``A = R + shift I`` that lives in the upper triangle of R."""

    triangle: Array
    residual: float | None = None

    @property
    def pivots(self) -> Array:
        """Diagonal (d,) of the factor."""
        return self.triangle.diagonal()

    def solve(self, B: Array) -> Array:
        """Return ``A^-1 B`` for B (d, c): 2 d^2 c flops."""
        (potrs,) = get_lapack_funcs(("potrs",), (self.triangle,))
        if B.shape[1] == 0:
            return np.zeros(B.shape, dtype=self.triangle.dtype, order="F")
        X, info = potrs(self.triangle, B, lower=0)
        if info:
            raise NumericalError(f"LAPACK potrs refused its argument {-info}.")
        return X

    def inverse(self) -> Array:
        """Return ``A^-1`` (d, d), of which the lower triangle counts: 2 d^3 / 3 flops."""
        (potri,) = get_lapack_funcs(("potri",), (self.triangle,))
        inverse, info = potri(self.triangle, lower=0)
        if info:
            raise NumericalError(
                f"A matrix of {len(inverse)} rows is singular: raise ridge, or use dtype float64."
            )
        # potri fills the upper triangle
        return inverse.T.copy(order="F")


class Lapack(HostArrays):
    """The backend of NumPy arrays (:class:`sparcl.algebra.backend.Backend`)."""

    reads_triangle = True

    # --- products ----------------------------------------------------------------------------

    def product(self, A: Array, B: Array) -> Array:
        """Return ``A B`` in C order, without a copy of A or B in C or F order.

        NumPy and SciPy may bring a BLAS each, whose threads wait for work on the same cores for a
        tenth of a second after a call.  Large products between the routines of this module belong
        here: taking turns was measured at twice the time on two cores.
        """
        (gemm,) = get_blas_funcs(("gemm",), (A, B))
        # in Fortran order this is B^T A^T
        left, turn_left = (B, 1) if B.flags.f_contiguous else (B.T, 0)
        right, turn_right = (A, 1) if A.flags.f_contiguous else (A.T, 0)
        return gemm(1.0, left, right, trans_a=turn_left, trans_b=turn_right).T

    matmul = staticmethod(np.matmul)

    def rank_update(self, R: Array, X: Array, sign: float) -> None:
        """Add ``sign X^T X`` to the lower triangle."""
        (syrk,) = get_blas_funcs(("syrk",), (R,))
        # X in C order is X^T in Fortran order: no copy is made.
        rows = np.ascontiguousarray(X, dtype=R.dtype).T
        syrk(sign, rows, beta=1.0, c=R, lower=1, overwrite_c=1)

    def outer_update(self, R: Array, H: Array) -> None:
        """Add ``H H^T`` to the lower triangle."""
        (syrk,) = get_blas_funcs(("syrk",), (R,))
        # H in C order is H^T in Fortran order: no copy is made.
        syrk(1.0, np.ascontiguousarray(H).T, trans=1, c=R, lower=1, overwrite_c=1)

    def diagonal(self, R: Array) -> Array:
        """Return a view of the diagonal."""
        return R.diagonal()

    def mirror(self, R: Array) -> None:
        """Copy the lower triangle onto the upper one, block by block."""
        d = len(R)
        for start in range(0, d, MIRROR_BLOCK):
            stop = min(start + MIRROR_BLOCK, d)
            block = R[start:stop, start:stop]
            upper = UPPER[: stop - start, : stop - start]
            np.copyto(block, block.T.copy(), where=upper)
            for column in range(stop, d, MIRROR_BLOCK):
                end = min(column + MIRROR_BLOCK, d)
                R[start:stop, column:end] = R[column:end, start:stop].T

    def unpacked(self, triangle: Array, d: int) -> Array:
        """Return the symmetric matrix of a packed triangle: d^2 moves."""
        (tfttr,) = get_lapack_funcs(("tfttr",), (triangle,))
        lower = np.tril(tfttr(d, triangle, uplo="L")[0])
        return np.asfortranarray(lower + np.tril(lower, -1).T)

    def symmetric_times(self, R: Array, B: Array) -> Array:
        """Return the product from the lower triangle: 2 n d^2 flops."""
        name = "symv" if B.ndim == 1 else "symm"
        (multiply,) = get_blas_funcs((name,), (R,))
        return multiply(1.0, R, B, lower=1)

    # --- factors -----------------------------------------------------------------------------

    def refines(self, dtype: np.dtype[Any]) -> bool:
        """Return False: LAPACK's solutions stay as they are."""
        return False

    @contextmanager
    def factored(
        self, R: Array, shift: float, downdate: tuple[float, Array] | None
    ) -> Iterator[tuple[Factor, int]]:
        """Factor in the upper triangle for the block's length."""
        (syrk,) = get_blas_funcs(("syrk",), (R,))
        (potrf,) = get_lapack_funcs(("potrf",), (R,))
        diagonal = R.diagonal().copy()
        try:
            if downdate is not None:
                weight, Q = downdate
                syrk(-weight, np.asfortranarray(Q), beta=1.0, c=R, lower=0, overwrite_c=1)
            R.flat[:: len(R) + 1] += R.dtype.type(shift)
            _, info = potrf(R, lower=0, clean=0, overwrite_a=1)
            yield Factor(R), info
        finally:
            R.flat[:: len(R) + 1] = diagonal

    def lower(self, A: Array) -> tuple[Array, int]:
        """Return the lower Cholesky factor and LAPACK's verdict."""
        (potrf,) = get_lapack_funcs(("potrf",), (A,))
        return potrf(A, lower=1)

    def definite_solve(self, L: Array, B: Array) -> Array:
        """Return ``(L L^T)^-1 B``."""
        return cho_solve((L, True), B, check_finite=False)

    def lower_solve(self, L: Array, B: Array) -> Array:
        """Return ``L^-1 B``."""
        return solve_triangular(L, B, lower=True, check_finite=False)

    def right_solve(self, T: Array, L: Array, *, transposed: bool) -> Array:
        """Return ``T L^-1`` or ``T L^-T``."""
        (trsm,) = get_blas_funcs(("trsm",), (T,))
        return trsm(1.0, L, T, side=1, lower=1, trans_a=int(transposed))

    # --- spectra -----------------------------------------------------------------------------

    def descending_eigh(self, R: Array) -> tuple[Array, Array]:
        """Return all eigenpairs, by relatively robust representations."""
        values, vectors = eigh(R, driver="evr", check_finite=False)
        return values[::-1], vectors[:, ::-1]

    def dense_leading(self, R: Array, target: float, rank: int | None) -> tuple[Array, Array]:
        """Return leading pairs by way of tridiagonal form.

        4 d^3 / 3 flops, the eigenvectors of that, O(d^3) at most, and 2 d^2 k to turn back those
        that are wanted.
        """
        A, diagonal, off, tau = tridiagonal(np.array(R, order="F"))
        values, vectors = eigh_tridiagonal(diagonal, off, check_finite=False)
        values, vectors = values[::-1], vectors[:, ::-1]
        if rank is None:
            # one pair more than the sum asks for: rounding may leave it short
            rank = int(np.searchsorted(np.cumsum(values, dtype=np.float64), target)) + 2
        # turning the vectors back is a third of the work, and only these are wanted
        return values[:rank], turn(A, tau, np.asfortranarray(vectors[:, :rank]), "N")

    def resolvents(self, K: Array, B: Array, shifts: Array) -> Iterator[tuple[float, float]]:
        """Yield traces and norms from the tridiagonal form of K: 4 n^3 / 3 flops for all shifts."""
        n = len(K)
        least = 2 * n * float(np.finfo(K.dtype).eps)
        T = Tridiagonal.reduce(K, B)
        s2 = np.maximum(T.eigenvalues(), 0)
        least = max(least * s2[-1], np.finfo(np.float64).tiny)
        for shift in np.maximum(shifts, least):
            trace = np.sum(shift / (s2 + shift))
            yield trace, np.sum((shift * T.solved(shift)) ** 2)


HOST = Lapack()
"""NumPy with SciPy, on this machine's CPUs."""
