"""Products, and blocks of a positive definite matrix, on whichever device the arrays lie.

What is computed stands here and in :mod:`sparcl.algebra.gram` and :mod:`sparcl.algebra.spectra`; how, on
NumPy arrays or on a GPU's, in :mod:`sparcl.algebra.backend`.
"""

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import of
from sparcl.base.errors import NumericalError
from sparcl.base.types import Array


def product(A: Array, B: Array) -> Array:
    """Return ``A B`` (n, m): 2 n d m flops, no copy of A (n, d) or B (d, m) in C or F order."""
    return of(A).product(A, B)


def one_hot(columns: NDArray[np.integer], wanted: NDArray[np.integer], like: Array) -> Array:
    """Return the targets (n, c) of rows of columns (n,), where ``like`` lies: 1 in the wanted column (c,)."""
    on = of(like)
    return on.array((columns[:, None] == wanted).astype(on.dtype(like)))


def solve_definite(A: Array, b: Array) -> Array:
    """Return ``A^-1 b`` for positive definite A (k, k): k^3 / 3 flops."""
    on = of(A)
    if A.shape[0] == 0:
        return on.zeros((0, b.shape[1]), on.dtype(A))
    return on.definite_solve(cholesky((A + A.T) / 2), b)


def lower_factor(A: Array) -> Array:
    """Return the lower Cholesky factor L of positive definite A (k, k): k^3 / 3 flops."""
    on = of(A)
    return on.xp.tril(cholesky(on.laid_out((A + A.T) / 2)))


def lower_solve(L: Array, B: Array) -> Array:
    """Return ``L^-1 B`` for lower triangular L (k, k) and B (k, n): k^2 n flops."""
    return of(L).lower_solve(L, B)


def cholesky(A: Array) -> Array:
    """Return the lower Cholesky factor of A (k, k)."""
    on = of(A)
    L, info = on.lower(A)
    if info:
        raise NumericalError(
            f"A block of {A.shape[0]} rows is not positive definite in {on.dtype(A)} (leading minor {info}). "
            "Usual cause: a ridge too small for the scale of the features; raise ridge or use dtype "
            "float64."
        )
    return L
