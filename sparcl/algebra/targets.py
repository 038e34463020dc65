"""Directions to which a classifier sends its classes: class means, spread where they lie close."""

import numpy as np

from sparcl.base.rows import unit
from sparcl.base.types import Array

FLOOR = 1e-8  # added to each eigenvalue before its root is divided by


def spread_means(means: Array, values: Array, vectors: Array) -> Array:
    """Return unit targets (c, d): class means with 1 added to their singular values after whitening.

    With the covariance ``V diag(s) V^T``, ``A = V diag((s + 1e-8)^-1/2) V^T`` and the thin decomposition
    ``(m - mean(m)) A = U Sigma G^T``, targets are the unit rows of ``U (Sigma + I) G^T A + mean(m)``
    (AnaCP, NeurIPS 2025: its public code, which multiplies by A where the paper has its inverse).
    A singular value that is zero but for rounding stays so: centred means have one, along a vector that
    rounding decides, and the code moves all targets along it.  Cost: 4 c d^2 + O(c^2 d) flops.

    Parameters
    ----------
    means : (c, d), of which the mean counts each class the same
    values : (d,) eigenvalues of the covariance; vectors : (d, d)
    """
    root = np.sqrt(values + FLOOR)
    centre = means.mean(axis=0)
    whitened = (means - centre) @ vectors / root
    U, sigma, G = np.linalg.svd(whitened, full_matrices=False)
    least = max(whitened.shape) * np.finfo(whitened.dtype).eps * sigma.max(initial=0)
    added = (sigma > least).astype(whitened.dtype)
    return unit((U * (sigma + added)) @ G / root @ vectors.T + centre)
