"""NumPy arrays: BLAS and LAPACK for symmetric matrices, in place."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import (
    LinAlgError,
    cho_solve,
    eigh,
    eigh_tridiagonal,
    eigvalsh_tridiagonal,
    get_blas_funcs,
    get_lapack_funcs,
    solve_triangular,
    solveh_banded,
)

from sparcl.algebra.common import Common
from sparcl.base.errors import NumericalError
from sparcl.base.types import Array, host

CACHED_ROWS = 64  # rows that element-wise work takes at a time, so that they stay in the cache

MIRROR_BLOCK = 128
UPPER = np.triu(np.ones((MIRROR_BLOCK, MIRROR_BLOCK), dtype=bool), 1)


@dataclass
class Triangle:
    """Cholesky factor of ``A = R + ridge I`` that lives in the upper triangle of R."""

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


class Host(Common):
    """The backend of NumPy arrays.

    Half of a symmetric matrix is redundant, and that half is the workspace: sums go to the lower triangle, and the
    Cholesky factor of ``R + ridge I`` is written into the upper triangle of ``R`` itself, so that a solve never
    copies a d x d matrix.

    Attributes
    ----------
    name : of the device; xp : namespace of the arrays
    cached_rows : rows that element-wise work takes at a time
    reads_triangle : whether the lower triangle of a symmetric matrix suffices for its products
    """

    name = "cpu"
    xp = np
    cached_rows = CACHED_ROWS
    reads_triangle = True

    # --- arrays ------------------------------------------------------------------------------

    def array(self, values: Any, dtype: Any = None) -> Array:
        """Return values, or an array of another backend, as an array here; one of this precision is not copied.

        ``dtype`` is a name such as ``float32``, or the dtype of an array here.
        """
        values = values if isinstance(values, np.ndarray) else host(values)
        return np.asarray(values, dtype=dtype)

    def dtype(self, A: Array) -> np.dtype[Any]:
        """Return the precision of an array here, as NumPy calls it."""
        return A.dtype

    def zeros(self, shape: tuple[int, int], dtype: Any) -> Array:
        """Return zeros in the layout that products like best, Fortran order."""
        return np.zeros(shape, dtype=dtype, order="F")

    def free(self) -> int | None:
        """Return the bytes that are free on the device: None, since the system swaps or overcommits."""
        return None

    def laid_out(self, A: Array) -> Array:
        """Return a matrix in the layout that :meth:`zeros` has, copied only from another."""
        return np.asfortranarray(A)

    in_place = laid_out

    def one_hot(
        self, columns: NDArray[np.integer], wanted: NDArray[np.integer], like: Array
    ) -> Array:
        """Return targets (n, c), in the precision of ``like``, of rows of columns (n,): 1 in the wanted column (c,)."""
        return (columns[:, None] == wanted).astype(like.dtype)

    # --- rows --------------------------------------------------------------------------------

    def squared_lengths(self, H: Array) -> Array:
        """Return the squared length (n,) of each row of H (n, D), on the host: 2 n D flops."""
        return np.einsum("nd,nd->n", H, H)

    def squared_distances(self, X: Array, Z: Array) -> Array:
        """Return the squared distances (n, m) between rows of X (n, d) and Z (m, d): 2 n m d flops."""
        from scipy.spatial.distance import cdist  # a fifth of a job's start, which few need

        return cdist(X, Z, "sqeuclidean")

    def normal_cdf(self, H: Array) -> Array:
        """Return the standard normal distribution function of each entry."""
        from scipy.special import ndtr  # as for cdist

        return ndtr(H)

    def order_statistic(self, H: Array, k: int) -> Array:
        """Return the k-th smallest entry, from 0, of each row of H (n, D), as (n, 1)."""
        return np.partition(H, k, axis=1)[:, [k]]

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
        """Add ``sign X^T X`` of X (n, d) to the lower triangle of R (d, d), in place: n d^2 flops."""
        (syrk,) = get_blas_funcs(("syrk",), (R,))
        # X in C order is X^T in Fortran order: no copy is made.
        rows = np.ascontiguousarray(X, dtype=R.dtype).T
        syrk(sign, rows, beta=1.0, c=R, lower=1, overwrite_c=1)

    def outer_update(self, R: Array, H: Array) -> None:
        """Add ``H H^T`` of H (n, M) to the lower triangle of R (n, n): n^2 M flops."""
        (syrk,) = get_blas_funcs(("syrk",), (R,))
        # H in C order is H^T in Fortran order: no copy is made.
        syrk(1.0, np.ascontiguousarray(H).T, trans=1, c=R, lower=1, overwrite_c=1)

    def diagonal(self, R: Array) -> Array:
        """Return the diagonal (d,), on the host, a view."""
        return R.diagonal()

    def mirror(self, R: Array) -> None:
        """Copy the lower triangle of R (d, d) onto the upper one, in place, block by block."""
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
        """Return the symmetric matrix (d, d) of a triangle in LAPACK's rectangular full packed form: d^2 moves.

        d (d + 1) / 2 numbers with the lower triangle, as TFTTR of LAPACK 3.2 reads them.
        """
        (tfttr,) = get_lapack_funcs(("tfttr",), (triangle,))
        lower = np.tril(tfttr(d, triangle, uplo="L")[0])
        return np.asfortranarray(lower + np.tril(lower, -1).T)

    def symmetric_times(self, R: Array, B: Array) -> Array:
        """Return the product with B (d,) or (d, n) of symmetric R, from its lower triangle: 2 n d^2 flops."""
        name = "symv" if B.ndim == 1 else "symm"
        (multiply,) = get_blas_funcs((name,), (R,))
        return multiply(1.0, R, B, lower=1)

    # --- factors -----------------------------------------------------------------------------

    def refines(self, dtype: np.dtype[Any]) -> bool:
        """Return whether a factor refines its solutions in this precision; LAPACK's stay as they are."""
        return False

    @contextmanager
    def factored(
        self, R: Array, ridge: float, downdate: tuple[float, Array] | None
    ) -> Iterator[tuple[Triangle, int]]:
        """Factor ``R + ridge I - weight Q Q^T`` in the upper triangle of whole R: d^3 / 3 flops.

        Yields the factor and the leading minor that is not positive, 0 where all are.  The lower
        triangle and the diagonal of R are what they were on leaving, to the bit.
        """
        (syrk,) = get_blas_funcs(("syrk",), (R,))
        (potrf,) = get_lapack_funcs(("potrf",), (R,))
        diagonal = R.diagonal().copy()
        try:
            if downdate is not None:
                weight, Q = downdate
                syrk(-weight, np.asfortranarray(Q), beta=1.0, c=R, lower=0, overwrite_c=1)
            R.flat[:: len(R) + 1] += R.dtype.type(ridge)
            _, info = potrf(R, lower=0, clean=0, overwrite_a=1)
            yield Triangle(R), info
        finally:
            R.flat[:: len(R) + 1] = diagonal

    def lower(self, A: Array) -> tuple[Array, int]:
        """Return the lower Cholesky factor of A (k, k), and the minor that is not positive or 0."""
        (potrf,) = get_lapack_funcs(("potrf",), (A,))
        return potrf(A, lower=1)

    def definite_solve(self, L: Array, B: Array) -> Array:
        """Return ``(L L^T)^-1 B``."""
        return cho_solve((L, True), B, check_finite=False)

    def lower_solve(self, L: Array, B: Array) -> Array:
        """Return ``L^-1 B`` for B (k, n): k^2 n flops."""
        return solve_triangular(L, B, lower=True, check_finite=False)

    def right_solve(self, T: Array, L: Array, *, transposed: bool) -> Array:
        """Return ``T L^-1``, or ``T L^-T``, for T (d, k), which may be used up."""
        (trsm,) = get_blas_funcs(("trsm",), (T,))
        return trsm(1.0, L, T, side=1, lower=1, trans_a=int(transposed))

    # --- spectra -----------------------------------------------------------------------------

    def descending_eigh(self, R: Array) -> tuple[Array, Array]:
        """Return all eigenvalues (d,) and eigenvectors (d, d) of symmetric R: O(d^3)."""
        values, vectors = eigh(R, driver="evr", check_finite=False)
        return values[::-1], vectors[:, ::-1]

    def dense_leading(self, R: Array, target: float, rank: int | None) -> tuple[Array, Array]:
        """Return ``rank`` leading eigenpairs, or enough for ``target``, by way of tridiagonal form.

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
        """Yield the trace of ``(K + s I)^-1`` and ``|(K + s I)^-1 B|_F^2`` for each shift s, times s and s^2.

        K (n, n) is symmetric, its lower triangle counts and it is used up.  A shift below the rounding of the
        eigenvalues, 2 n eps |K|, counts as that.  4 n^3 / 3 flops for all shifts, by a tridiagonal form.
        """
        A, *bands, tau = tridiagonal(K)
        turned = turn(A, tau, np.array(B, dtype=A.dtype, order="F"), "T").astype(np.float64)
        diagonal, off = (band.astype(np.float64) for band in bands)
        s2 = np.maximum(eigvalsh_tridiagonal(diagonal, off, check_finite=False), 0)
        least = 2 * len(K) * float(np.finfo(K.dtype).eps) * s2[-1]
        for shift in np.maximum(shifts, max(least, np.finfo(np.float64).tiny)):
            solved = shifted_solve(diagonal, off, shift, turned)
            yield np.sum(shift / (s2 + shift)), np.sum((shift * solved) ** 2)


HOST = Host()
"""NumPy with SciPy, on this machine's CPUs."""


def shifted_solve(diagonal: Array, off: Array, shift: float, B: Array) -> Array:
    """Return ``(T + shift I)^-1 B`` (n, c) for tridiagonal T, given its diagonal (n,) and that beside it: O(n c).

    Raises
    ------
    NumericalError
        When T + shift I is not positive definite to working precision.
    """
    if len(off) == 0:
        return B / (diagonal + shift)
    try:
        bands = np.stack([diagonal + shift, np.append(off, 0.0)])
        return solveh_banded(bands, B, lower=True, check_finite=False)
    except LinAlgError as error:
        raise NumericalError(
            f"K + {shift:g} I of {len(diagonal)} rows is not positive definite: raise the "
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
