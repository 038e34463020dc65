"""Features as the learners see them: rows of unit norm, or as they are."""

import numpy as np
from numpy.typing import NDArray

SQUARES = (1e-140, 1e140)  # norms whose squares float64 holds, those of a row's small parts too
CACHED = 256  # rows at a time, which stay in the cache: memory for all of them is asked for once
NORMALISATION = {True: "unit norm", False: "none"}  # whether rows are divided by their norms


def unit(Phi: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the rows of Phi (n, d) over their Euclidean norm; a zero row stays zero."""
    Phi = np.asarray(Phi)
    result = np.empty_like(Phi, dtype=np.float64)
    for start in range(0, len(Phi), CACHED):
        result[start : start + CACHED] = _unit(Phi[start : start + CACHED].astype(np.float64))
    return result


def _unit(Phi: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        norm = np.linalg.norm(Phi, axis=1, keepdims=True)
    squares_fit = (norm > SQUARES[0]) & (norm < SQUARES[1])
    if not squares_fit.all():
        largest = np.abs(Phi).max(axis=1, keepdims=True, initial=0)
        Phi = np.where(squares_fit | (largest == 0), Phi, Phi / np.where(largest > 0, largest, 1))
        norm = np.linalg.norm(Phi, axis=1, keepdims=True)
    return Phi / np.where(norm > 0, norm, 1)


def prepared(features: NDArray[np.floating], normalize: bool) -> NDArray[np.float64]:
    """Return the features as the learners see them, in float64."""
    return unit(features) if normalize else np.asarray(features, dtype=np.float64)
