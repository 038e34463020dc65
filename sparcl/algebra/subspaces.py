"""Spans of columns: an orthonormal basis, and the largest angle between two of them."""

import numpy as np

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
    sine = np.linalg.norm(V - U @ (U.T @ V), 2)
    return float(np.degrees(np.arcsin(min(float(sine), 1.0))))
