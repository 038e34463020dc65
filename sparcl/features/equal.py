"""Which rows of features are equal, to the bit.

A row has a mark of 64 bits, the sum of its words; only rows whose marks meet are hashed. Equal rows have equal marks,
so none is missed, and the hashes decide.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparcl.features.manifest import row_hashes


def repeated(features: np.ndarray) -> int:
    """Return how many rows of features (n, d) equal an earlier one."""
    found = _marks(features)
    _, group, size = np.unique(found, return_inverse=True, return_counts=True)
    hashes = row_hashes(features[size[group] > 1])
    return len(hashes) - len(set(hashes))


def shared(one: np.ndarray, other: np.ndarray) -> list[tuple[int, int]]:
    """Return the position of each row of ``other`` (m, d) that ``one`` (n, d) has too, and its last position there."""
    marks = _marks(one), _marks(other)
    there = np.flatnonzero(np.isin(marks[0], marks[1]))
    here = np.flatnonzero(np.isin(marks[1], marks[0]))
    known = dict(zip(row_hashes(one[there]), there.tolist(), strict=True))
    pairs = zip(row_hashes(other[here]), here.tolist(), strict=True)
    return [(position, known[row]) for row, position in pairs if row in known]


def _marks(features: np.ndarray) -> NDArray[np.uint64]:
    """Return the sum (n,) of each row's words modulo 2^64."""
    rows = np.ascontiguousarray(features)
    size = rows.shape[1] * rows.itemsize
    words = rows.view(f"u{next(word for word in (8, 4, 2, 1) if size % word == 0)}")
    found: NDArray[np.uint64] = words.sum(axis=1, dtype=np.uint64)
    return found
