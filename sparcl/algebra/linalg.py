"""The only caller of BLAS and LAPACK: symmetric routines for symmetric matrices, in place.

Half of a symmetric matrix is redundant, and that half is the workspace: sums go to the lower
triangle, and the Cholesky factor of ``R + shift I`` is written into the upper triangle of ``R``
itself, so that a solve never copies a d x d matrix.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import (
    LinAlgError,
    cho_solve,
    eigh,
    eigh_tridiagonal,
    eigvalsh,
    eigvalsh_tridiagonal,
    get_blas_funcs,
    get_lapack_funcs,
    qr,
    solve_triangular,
    solveh_banded,
    svd,
)
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from sparcl.base.checks import check_memory
from sparcl.base.errors import NumericalError
from sparcl.base.randomness import generator
from sparcl.base.types import Array

MIRROR_BLOCK = 128
ROUNDING = 4  # a pivot below so many units in the last place of its diagonal entry is no number
UPPER = np.triu(np.ones((MIRROR_BLOCK, MIRROR_BLOCK), dtype=bool), 1)
# A truncated eigendecomposition is tried with these ranks while the rank is below d / TRUNCATED:
# measured at d = 384 to 2,048, Lanczos is faster than the dense driver up to about there.
TRUNCATED_RANKS = (8, 32, 96)
TRUNCATED = 10


def product(A: Array, B: Array) -> Array:
    """Return ``A B`` (n, m) in C order: 2 n d m flops, no copy of A (n, d) or B (d, m) in C or F order.

    NumPy and SciPy may bring a BLAS each, whose threads wait for work on the same cores for a tenth
    of a second after a call.  Large products between the routines of this module belong here:
    taking turns was measured at twice the time on two cores.
    """
    (gemm,) = get_blas_funcs(("gemm",), (A, B))
    # in Fortran order this is B^T A^T
    left, turn_left = (B, 1) if B.flags.f_contiguous else (B.T, 0)
    right, turn_right = (A, 1) if A.flags.f_contiguous else (A.T, 0)
    return gemm(1.0, left, right, trans_a=turn_left, trans_b=turn_right).T


class Gram:
    """A symmetric matrix (d, d) of which the lower triangle counts and the upper one is workspace.

    Sums and factorisations touch one triangle each, so neither copies the matrix; the upper one is
    filled in again when somebody asks for the whole.
    """

    def __init__(self, d: int, dtype: DTypeLike = np.float64) -> None:
        check_memory("R", (d, d), dtype)
        self._array = np.zeros((d, d), dtype=dtype, order="F")
        self._whole = True

    @classmethod
    def wrap(cls, R: Array) -> "Gram":
        """Return symmetric R (d, d) as a Gram; R itself, where it is in Fortran order."""
        gram = cls(0)
        gram._array = np.asfortranarray(R)
        return gram

    @classmethod
    def of_rows(cls, H: Array) -> "Gram":
        """Return ``H H^T`` (n, n) of H (n, M): n^2 M flops (symmetric rank-M update)."""
        gram = cls(len(H), H.dtype)
        (syrk,) = get_blas_funcs(("syrk",), (gram._array,))
        # H in C order is H^T in Fortran order: no copy is made.
        syrk(1.0, np.ascontiguousarray(H).T, trans=1, c=gram._array, lower=1, overwrite_c=1)
        gram._whole = False
        return gram

    def __len__(self) -> int:
        return len(self._array)

    @property
    def dtype(self) -> np.dtype:
        """Working precision."""
        return self._array.dtype

    @property
    def diagonal(self) -> Array:
        """The diagonal (d,); do not write into it."""
        return self._array.diagonal()

    @property
    def full(self) -> Array:
        """The whole matrix; do not write into it."""
        if not self._whole:
            _mirror(self._array)
            self._whole = True
        return self._array

    def add(self, Phi: Array, sign: float = 1.0) -> None:
        """Add ``sign Phi^T Phi`` for Phi (n, d): n d^2 flops (symmetric rank-n update)."""
        (syrk,) = get_blas_funcs(("syrk",), (self._array,))
        # Phi in C order is Phi^T in Fortran order: no copy is made.
        rows = np.ascontiguousarray(Phi, dtype=self.dtype).T
        syrk(sign, rows, beta=1.0, c=self._array, lower=1, overwrite_c=1)
        self._whole = False

    def merge(self, other: "Gram") -> None:
        """Add another symmetric matrix of the same size in place: d^2 flops."""
        R = self.full
        R += other.full

    def times(self, B: Array) -> Array:
        """Return the product with B (d,) or (d, n) from the lower triangle: 2 n d^2 flops."""
        name = "symv" if B.ndim == 1 else "symm"
        (product,) = get_blas_funcs((name,), (self._array,))
        return product(1.0, self._array, B, lower=1)

    @contextmanager
    def factored(
        self, shift: float, *, downdate: tuple[float, Array] | None = None
    ) -> Iterator["Factor"]:
        """Factor ``A = R + shift I - weight Q Q^T`` in the upper triangle for the block's length.

        R must not be used inside the block; on leaving it is what it was, to the bit.  ``downdate``
        is ``(weight, Q)`` with Q (d, m).  Cost: d^3 / 3 flops, no d x d copy.

        Raises
        ------
        NumericalError
            When A is not positive definite to working precision.
        """
        R = self.full
        (syrk,) = get_blas_funcs(("syrk",), (R,))
        (potrf,) = get_lapack_funcs(("potrf",), (R,))
        diagonal = R.diagonal().copy()
        self._whole = False
        try:
            if downdate is not None:
                weight, Q = downdate
                syrk(-weight, np.asfortranarray(Q), beta=1.0, c=R, lower=0, overwrite_c=1)
            R.flat[:: len(R) + 1] += R.dtype.type(shift)
            _, info = potrf(R, lower=0, clean=0, overwrite_a=1)
            if not info:
                # a pivot that is only what rounding left of its diagonal entry
                lost = R.diagonal() ** 2 <= ROUNDING * np.finfo(R.dtype).eps * (diagonal + shift)
                info = int(np.argmax(lost)) + 1 if lost.any() else 0
            if info:
                raise NumericalError(
                    f"R + {shift:g} I is not positive definite (d = {len(R)}, {R.dtype}, leading "
                    f"minor {info}; largest diagonal entry {diagonal.max():.3g}, so the condition "
                    f"number is about {diagonal.max() / shift:.1e} or more). Usual cause: a ridge "
                    "too small for the scale of the features or for float32; raise ridge or use "
                    "dtype float64."
                )
            yield Factor(R)
        finally:
            R.flat[:: len(R) + 1] = diagonal


def _mirror(R: Array) -> None:
    """Copy the lower triangle of R (d, d) onto its upper one, in place and block by block."""
    d = len(R)
    for start in range(0, d, MIRROR_BLOCK):
        stop = min(start + MIRROR_BLOCK, d)
        block = R[start:stop, start:stop]
        upper = UPPER[: stop - start, : stop - start]
        np.copyto(block, block.T.copy(), where=upper)
        for column in range(stop, d, MIRROR_BLOCK):
            end = min(column + MIRROR_BLOCK, d)
            R[start:stop, column:end] = R[column:end, start:stop].T


@dataclass(frozen=True)
class Factor:
    """Cholesky factor of ``A = R + shift I`` that lives in the upper triangle of R."""

    triangle: Array

    def solve(self, B: Array) -> Array:
        """Return ``A^-1 B`` for B (d, c): 2 d^2 c flops."""
        (potrs,) = get_lapack_funcs(("potrs",), (self.triangle,))
        if B.shape[1] == 0:
            return np.zeros(B.shape, dtype=self.triangle.dtype, order="F")
        X, info = potrs(self.triangle, B, lower=0)
        if info:
            raise NumericalError(f"LAPACK potrs refused its argument {-info}.")
        return X


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
    def reduce(cls, K: Gram, B: Array) -> "Tridiagonal":
        """Reduce K, which is used up, and turn B: 4 n^3 / 3 + 2 n^2 c flops."""
        A, diagonal, off, tau = _tridiagonal(K._array)
        turned = _turn(A, tau, np.array(B, dtype=A.dtype, order="F"), "T")
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


def _tridiagonal(A: Array) -> tuple[Array, Array, Array, Array]:
    """Reduce symmetric A (n, n), which is used up: reflectors, diagonal, off-diagonal, their scales."""
    sytrd, lwork = get_lapack_funcs(("sytrd", "sytrd_lwork"), (A,))
    size = int(lwork(len(A), lower=1)[0])
    return sytrd(A, lower=1, lwork=size, overwrite_a=1)[:4]


def _turn(A: Array, tau: Array, B: Array, trans: str) -> Array:
    """Apply Q (trans "N") or Q^T ("T") of `_tridiagonal` to B (n, c), in place: 2 n^2 c flops."""
    if len(A) > 1:
        # the reflectors leave row 1 alone and lie below the subdiagonal, as those of a QR do
        (ormqr,) = get_lapack_funcs(("ormqr",), (A,))
        B[1:] = ormqr("L", trans, A[1:, :-1], tau, B[1:], max(64 * B.shape[1], 1))[0]
    return B


def descending_eigh(R: Array) -> tuple[Array, Array]:
    """Return all eigenvalues (d,), descending, and eigenvectors (d, d) of symmetric R: O(d^3)."""
    values, vectors = eigh(R, driver="evr", check_finite=False)
    return values[::-1], vectors[:, ::-1]


def leading_eigh(
    R: Array, *, energy: float | None = None, rank: int | None = None
) -> tuple[Array, Array]:
    """Return leading eigenpairs of R (d, d): ``rank`` of them, or enough for ``energy`` of its trace.

    Eigenvalues (k,) descend, eigenvectors (d, k).  Lanczos with a growing rank, O(d^2 k), while
    the rank is far below d, and then there may be more pairs than were asked for; otherwise by
    way of tridiagonal form, 4 d^3 / 3 flops, the eigenvectors of that, O(d^3) at most, and 2 d^2 k
    to turn back those that are wanted.

    Raises
    ------
    NumericalError
        When Lanczos does not converge.
    """
    d = len(R)
    target = np.inf if energy is None else energy * np.trace(R, dtype=np.float64)
    # A start that belongs to d alone: equal input gives equal bytes.
    start = generator("lanczos", d).standard_normal(d).astype(R.dtype)
    least = 1.0 if rank is None else float(rank)
    gram = Gram.wrap(R)
    operator = LinearOperator(R.shape, matvec=gram.times, dtype=R.dtype)
    for tried in TRUNCATED_RANKS:
        if max(least, tried) * TRUNCATED > d:
            break
        if tried < least:
            continue
        try:
            values, vectors = eigsh(operator, k=tried, which="LA", v0=start)
        except ArpackError as error:
            raise NumericalError(
                f"The eigenvalues of R (d = {d}) did not converge: {error}"
            ) from error
        if energy is None or values.sum() >= target:
            falling = np.argsort(-values, kind="stable")
            return values[falling], vectors[:, falling]
        # Eigenvalues not found yet are at most the smallest one found: so many more are needed.
        least = tried + (target - values.sum()) / max(values.min(), np.finfo(R.dtype).tiny)
    A, diagonal, off, tau = _tridiagonal(np.array(R, order="F"))
    values, vectors = eigh_tridiagonal(diagonal, off, check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    if rank is None:
        # one pair more than the sum asks for: rounding may leave it short
        rank = int(np.searchsorted(np.cumsum(values, dtype=np.float64), target)) + 2
    # turning the vectors back is a third of the work, and only these are wanted
    return values[:rank], _turn(A, tau, np.asfortranarray(vectors[:, :rank]), "N")


def extended_svd(U: Array, s: Array, B: Array, rank: int) -> tuple[Array, Array]:
    """Return the ``rank`` leading left singular pairs of ``[U diag(s), B]``, without forming it.

    U (d, r) orthonormal, s (r,), B (d, n).  With ``B = U P + Q T`` the small matrix
    ``[[diag(s), P], [0, T]]`` has the same singular values; its left vectors turn [U, Q].
    Cost: O(d (r + n)^2 + (r + n)^3).
    """
    P = U.T @ B
    Q, T = qr(B - U @ P, mode="economic", check_finite=False)
    r, q = len(s), len(T)
    small = np.zeros((r + q, r + B.shape[1]), dtype=B.dtype)
    small[np.arange(r), np.arange(r)] = s
    small[:r, r:], small[r:, r:] = P, T
    turn, values, _ = svd(small, full_matrices=False, check_finite=False)
    kept = min(rank, len(values))
    turned = U @ turn[:r, :kept] + Q @ turn[r:, :kept]
    # rounding grows from update to update unless the basis is made orthonormal again
    basis, triangle = qr(turned, mode="economic", check_finite=False)
    return basis * np.where(np.diag(triangle) < 0, -1, 1).astype(B.dtype), values[:kept]


def complement(U: Array) -> Array:
    """Return U_res (d, d - k), an orthonormal basis of what U (d, k) leaves: O(d^2 k)."""
    k = U.shape[1]
    if k == 0:
        return np.eye(len(U), dtype=U.dtype, order="F")
    return np.asfortranarray(qr(U, mode="full", check_finite=False)[0][:, k:])


def residual_eigenvalues(R: Array, U: Array) -> Array:
    """Return the eigenvalues, descending, of ``U_res^T R U_res`` (r, r): O(d^3)."""
    U_res = complement(U)
    block = U_res.T @ (R @ U_res)
    return eigvalsh((block + block.T) / 2, check_finite=False)[::-1]


def residual_inverse(R: Gram, ridge: float, U: Array) -> Gram:
    """Return ``P = A^-1 - V S^-1 V^T`` (d, d), A = R + ridge I, V = A^-1 U, S = U^T V: d^3 flops.

    That is ``U_res (U_res^T A U_res)^-1 U_res^T`` without a basis of the residual.
    """
    with R.factored(ridge) as A:
        inverse, info = get_lapack_funcs(("potri",), (A.triangle,))[0](A.triangle, lower=0)
        V = A.solve(U)
    if info:
        raise NumericalError(f"R + {ridge:g} I (d = {len(R)}) is singular: raise ridge.")
    # potri fills the upper triangle; its transpose is the lower one that a Gram counts
    P = Gram.wrap(inverse.T.copy(order="F"))
    if U.shape[1]:
        S = product(U.T, V)
        L = _lower((S + S.T) / 2)
        P.add(solve_triangular(L, V.T, lower=True, check_finite=False), sign=-1.0)
    P._whole = False
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
    L = _lower(product(X, T) + np.eye(len(X), dtype=P.dtype))
    (trsm,) = get_blas_funcs(("trsm",), (T,))
    F = trsm(1.0, L, T, side=1, lower=1, trans_a=1)  # T L^-T, so that T (I + X T)^-1 T^T = F F^T
    P.add(F.T, sign=-1.0)
    return trsm(1.0, L, F, side=1, lower=1)  # the new P X^T = T (I + X T)^-1


def solve_definite(A: Array, b: Array) -> Array:
    """Return ``A^-1 b`` for positive definite A (k, k): k^3 / 3 flops."""
    if len(A) == 0:
        return np.zeros(b.shape, dtype=A.dtype)
    return cho_solve((_lower((A + A.T) / 2), True), b, check_finite=False)


def lower_factor(A: Array) -> Array:
    """Return the lower Cholesky factor L of positive definite A (k, k): k^3 / 3 flops."""
    return np.tril(_lower(np.asfortranarray((A + A.T) / 2)))


def lower_solve(L: Array, B: Array) -> Array:
    """Return ``L^-1 B`` for lower triangular L (k, k) and B (k, n): k^2 n flops."""
    return solve_triangular(L, B, lower=True, check_finite=False)


def _lower(A: Array) -> Array:
    """Return the lower Cholesky factor of A (k, k)."""
    (potrf,) = get_lapack_funcs(("potrf",), (A,))
    L, info = potrf(A, lower=1)
    if info:
        raise NumericalError(
            f"A block of {len(A)} rows is not positive definite in {A.dtype} (leading minor {info}). "
            "Usual cause: a ridge too small for the scale of the features; raise ridge or use dtype "
            "float64."
        )
    return L
