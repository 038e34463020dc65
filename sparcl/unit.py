"""Rows of unit norm, for methods that normalise by themselves."""

import numpy as np
from numpy.typing import NDArray


def unit(Phi: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the rows of Phi (n, d) over their Euclidean norm; a zero row stays zero."""
    Phi = np.asarray(Phi, dtype=np.float64)
    norm = np.linalg.norm(Phi, axis=1, keepdims=True)
    return Phi / np.where(norm > 0, norm, 1)
