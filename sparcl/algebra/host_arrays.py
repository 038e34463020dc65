"""NumPy arrays: the way there, parts of them, and element-wise work."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sparcl.base.arrays import host
from sparcl.base.checks import check_memory
from sparcl.base.types import Array

CACHED_ROWS = 64  # rows that element-wise work takes at a time, so that they stay in the cache


class HostArrays:
    """What :class:`sparcl.algebra.backend.Backend` asks of arrays and rows, by NumPy and SciPy."""

    name = "cpu"
    xp = np
    cached_rows = CACHED_ROWS

    # --- arrays ------------------------------------------------------------------------------

    def array(self, values: Any, dtype: Any = None) -> Array:
        """Return values as an array; one of this precision is not copied."""
        return np.asarray(host(values), dtype=dtype)

    def dtype(self, A: Array) -> np.dtype[Any]:
        """Return the precision."""
        return A.dtype

    def zeros(self, shape: tuple[int, int], dtype: Any) -> Array:
        """Return zeros in Fortran order."""
        return np.zeros(shape, dtype=dtype, order="F")

    def check_room(self, what: str, shape: tuple[int, int], dtype: Any) -> None:
        """Raise InputError where the machine has less memory in all."""
        check_memory(what, shape, dtype)

    def free(self) -> int | None:
        """Return None: the system decides."""
        return None

    def laid_out(self, A: Array) -> Array:
        """Return A in Fortran order, copied only from another."""
        return np.asfortranarray(A)

    in_place = laid_out

    def take_rows(self, A: Array, numbers: NDArray[np.integer]) -> Array:
        """Return a copy of some rows."""
        return A[numbers]

    def take_columns(self, A: Array, numbers: NDArray[np.integer]) -> Array:
        """Return a copy of some columns."""
        return A[:, numbers]

    def set_columns(self, A: Array, numbers: NDArray[np.integer], B: Array) -> None:
        """Replace some columns."""
        A[:, numbers] = B

    def add_columns(self, A: Array, numbers: NDArray[np.integer], B: Array) -> None:
        """Add to some columns."""
        A[:, numbers] += B

    # --- rows --------------------------------------------------------------------------------

    def squared_lengths(self, H: Array) -> Array:
        """Return the squared length (n,) of each row."""
        return np.einsum("nd,nd->n", H, H)

    def squared_distances(self, X: Array, Z: Array) -> Array:
        """Return the squared distances (n, m) between rows."""
        from scipy.spatial.distance import cdist  # a fifth of a job's start, which few need

        return cdist(X, Z, "sqeuclidean")

    normal_cdf = staticmethod(ndtr)

    def order_statistic(self, H: Array, k: int) -> Array:
        """Return the k-th smallest entry of each row, (n, 1)."""
        return np.partition(H, k, axis=1)[:, [k]]
