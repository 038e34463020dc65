"""Subspaces of feature space: a basis of a span, the angle between two, and how large one must be."""

import numpy as np

from sparcl.base.arrays import host
from sparcl.base.types import Array


def orthonormal_span(A: Array) -> Array:
    """Return an orthonormal basis (d, rank) of the column space of A (d, c): O(d c^2).

    The rank counts the singular values above ``max(d, c) eps`` times the largest.
    """
    U, values, _ = np.linalg.svd(A, full_matrices=False)
    return U[:, values > max(A.shape) * np.finfo(A.dtype).eps * values.max(initial=0)]


def canonical_angle(U: Array, V: Array) -> float:
    """Return the largest canonical angle, in degrees, between the spans of orthonormal U and V (d, k).

    From its sine, ``||V - U U^T V||_2``, which keeps small angles that a cosine rounds away
    (Björck and Golub, 1973); 0 where k = 0.  Cost: O(d k^2).
    """
    if U.shape[1] == 0:
        return 0.0
    U, V = host(U), host(V)
    outside = V - U @ (U.T @ V)
    # the largest eigenvalue of a Gram matrix has all its digits, which the small ones have not
    sine = np.sqrt(np.linalg.eigvalsh(outside.T @ outside)[-1])
    return float(np.degrees(np.arcsin(min(float(sine), 1.0))))


def energy_rank(values: Array, trace: float, tau: float) -> int:
    """Return the smallest k with ``sum_{i<=k} lambda_i >= tau trace``, for descending eigenvalues (d,)."""
    shares = np.cumsum(np.maximum(values, 0), dtype=np.float64) / trace
    # rounding may leave the last share a few ulp below a tau close to 1
    return min(int(np.searchsorted(shares, tau)) + 1, len(values))
