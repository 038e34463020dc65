"""The only caller of BLAS and LAPACK: symmetric routines for symmetric matrices, in place.

Symmetric matrices are held whole (both triangles) in Fortran order.  Half of such a matrix is
redundant, and that half is the workspace: the Cholesky factor of ``R + shift I`` is written into
the upper triangle of ``R`` itself and the triangle is mirrored back afterwards, so that a solve
never copies a d x d matrix.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, get_blas_funcs, get_lapack_funcs
from scipy.sparse.linalg import ArpackError, eigsh

from sparcl.errors import NumericalError
from sparcl.randomness import generator

Array = NDArray[np.floating]

MIRROR_BLOCK = 256
# A truncated eigendecomposition is tried with these ranks while the rank is below d / TRUNCATED:
# measured at d = 384 to 2,048, Lanczos is faster than the dense driver up to about there.
TRUNCATED_RANKS = (8, 32, 96)
TRUNCATED = 10


def zeros(d: int, dtype: np.dtype | type = np.float64) -> Array:
    """Return a (d, d) zero matrix in the order that this module works in."""
    return np.zeros((d, d), dtype=dtype, order="F")


def mirror(R: Array) -> None:
    """Copy the lower triangle of R (d, d) onto its upper one, in place and block by block."""
    d = len(R)
    for start in range(0, d, MIRROR_BLOCK):
        stop = min(start + MIRROR_BLOCK, d)
        block = R[start:stop, start:stop]
        block[...] = np.tril(block) + np.tril(block, -1).T
        R[start:stop, stop:] = R[stop:, start:stop].T


def add_gram(R: Array, Phi: Array) -> None:
    """Add ``Phi^T Phi`` to R (d, d) in place, Phi (n, d): n d^2 flops (symmetric rank-n update)."""
    (syrk,) = get_blas_funcs(("syrk",), (R,))
    # Phi in C order is Phi^T in Fortran order: no copy is made.
    syrk(1.0, np.ascontiguousarray(Phi).T, beta=1.0, c=R, lower=1, overwrite_c=1)
    mirror(R)


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


@contextmanager
def shifted_cholesky(
    R: Array, shift: float, *, downdate: tuple[float, Array] | None = None
) -> Iterator[Factor]:
    """Factor ``A = R + shift I - weight Q Q^T`` in R's own upper triangle for the block's length.

    R (d, d) is symmetric and must not be read inside the block; on leaving, it is restored to the
    bit.  ``downdate`` is ``(weight, Q)`` with Q (d, m).  Cost: d^3 / 3 flops, no d x d copy.

    Raises
    ------
    NumericalError
        When A is not positive definite to working precision.
    """
    (syrk,) = get_blas_funcs(("syrk",), (R,))
    (potrf,) = get_lapack_funcs(("potrf",), (R,))
    diagonal = R.diagonal().copy()
    try:
        if downdate is not None:
            weight, Q = downdate
            syrk(-weight, np.asfortranarray(Q), beta=1.0, c=R, lower=0, overwrite_c=1)
        R.flat[:: len(R) + 1] += R.dtype.type(shift)
        _, info = potrf(R, lower=0, clean=0, overwrite_a=1)
        if info:
            raise NumericalError(
                f"R + {shift:g} I is not positive definite (d = {len(R)}, {R.dtype}, leading minor "
                f"{info}; largest diagonal entry {diagonal.max():.3g}, so the condition number is "
                f"about {diagonal.max() / shift:.1e} or more). Usual cause: a ridge too small for "
                "the scale of the features or for float32; raise ridge or use dtype float64."
            )
        yield Factor(R)
    finally:
        mirror(R)
        R.flat[:: len(R) + 1] = diagonal


def descending_eigh(R: Array) -> tuple[Array, Array]:
    """Return all eigenvalues (d,), descending, and eigenvectors (d, d) of symmetric R: O(d^3)."""
    values, vectors = eigh(R, driver="evr", check_finite=False)
    return values[::-1], vectors[:, ::-1]


def leading_eigh(R: Array, energy: float) -> tuple[Array, Array]:
    """Return the leading eigenpairs of R (d, d) that hold at least ``energy`` of its trace.

    Eigenvalues (k,) descend, eigenvectors (d, k).  Lanczos with a growing rank, O(d^2 k), while
    the rank is far below d; a dense decomposition, O(d^3), otherwise.  The returned rank may be
    larger than the smallest sufficient one.
    """
    d = len(R)
    target = energy * np.trace(R, dtype=np.float64)
    # A start that belongs to d alone: equal input gives equal bytes.
    start = generator("lanczos", d).standard_normal(d).astype(R.dtype)
    least = 1.0
    for rank in TRUNCATED_RANKS:
        if least * TRUNCATED > d or rank * TRUNCATED > d:
            break
        if rank < least:
            continue
        try:
            values, vectors = eigsh(R, k=rank, which="LA", v0=start)
        except ArpackError as error:
            raise NumericalError(
                f"The eigenvalues of R (d = {d}) did not converge: {error}"
            ) from error
        if values.sum() >= target:
            falling = np.argsort(-values, kind="stable")
            return values[falling], vectors[:, falling]
        # Eigenvalues not found yet are at most the smallest one found: so many more are needed.
        least = rank + (target - values.sum()) / max(values.min(), np.finfo(R.dtype).tiny)
    return descending_eigh(R)
