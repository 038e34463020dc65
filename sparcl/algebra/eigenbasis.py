"""Eigenpairs of a matrix of low rank, and what a matrix is outside a subspace, both by smaller eigenproblems."""

import numpy as np
from scipy.linalg.lapack import dpstrf

from sparcl.algebra.spectra import conquered_eigh
from sparcl.base.types import Array


def nonzero_eigh(R: Array, least: float) -> tuple[Array, Array]:
    """Return the eigenpairs of R (d, d), positive semidefinite, above ``least`` of the largest: O(d p^2) for rank p.

    ``R = L L^T`` with L (d, p) from a Cholesky factor with pivoting has the nonzero eigenvalues of ``L^T L``.

    Returns
    -------
    Eigenvalues (p,), descending, and eigenvectors (d, p).
    """
    factor, pivots, p, _ = dpstrf(R, lower=1)
    L = np.zeros((len(R), p))
    L[pivots - 1] = np.tril(factor[:, :p])
    values, turned = conquered_eigh(L.T @ L)
    p = np.count_nonzero(values > least * values[0])
    return values[:p], L @ (turned[:, :p] / np.sqrt(values[:p]))


def outside(values: Array, vectors: Array, basis: Array, k: int) -> Array:
    """Return the eigenvalues (d - k,), descending, of R on what the first k columns U of a basis leave: O(d^3).

    With R's eigenpairs L and V they are those of ``S^T S`` with ``S = L^1/2 V^T U_res``, where the other columns are
    all of U_res, and else those of ``L^1/2 (I - V^T U U^T V) L^1/2`` without k zeros.

    Parameters
    ----------
    values : (p,) eigenvalues of R; vectors : (d, p) eigenvectors; others are zero
    basis : (d, q) orthonormal
    """
    d, q = basis.shape
    positive = np.maximum(values, 0)
    inside = np.sqrt(positive)[:, None] * (vectors.T @ (basis[:, k:] if q == d else basis[:, :k]))
    block = inside.T @ inside if q == d else np.diag(positive) - inside @ inside.T
    found = np.zeros(d)
    found[: len(block)] = np.linalg.eigvalsh(block)[::-1]
    return np.maximum(found, 0)[: d - k]
