"""Arrays of any namespace of the array API standard: the way there, parts of them, and element-wise work."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sparcl.base.arrays import host
from sparcl.base.checks import check_memory
from sparcl.base.types import Array


class Arrays:
    """What :class:`sparcl.algebra.backend.Backend` asks of arrays and rows, by the standard alone.

    Parameters
    ----------
    xp : the namespace; name : of the device, for messages
    """

    cached_rows = 4096

    def __init__(self, xp: Any, name: str) -> None:
        self.xp, self.name = xp, name

    # --- arrays ------------------------------------------------------------------------------

    def array(self, values: Any, dtype: Any = None) -> Any:
        """Return values as an array here; a NumPy array is always copied."""
        dtype = getattr(self.xp, dtype) if isinstance(dtype, str) else dtype
        if isinstance(values, np.ndarray):
            values = self.xp.asarray(np.ascontiguousarray(values), copy=True)
        return values if dtype in (None, values.dtype) else self.xp.astype(values, dtype)

    def dtype(self, A: Any) -> np.dtype[Any]:
        """Return the precision as NumPy calls it."""
        return np.dtype("float32" if A.dtype == self.xp.float32 else "float64")

    def zeros(self, shape: tuple[int, int], dtype: Any) -> Any:
        """Return zeros in C order."""
        return self.xp.zeros(shape, dtype=getattr(self.xp, np.dtype(dtype).name))

    def check_room(self, what: str, shape: tuple[int, int], dtype: Any) -> None:
        """Raise InputError where the machine has less memory in all."""
        check_memory(what, shape, dtype)

    def free(self) -> int | None:
        """Return None: the system decides."""
        return None

    def laid_out(self, A: Any) -> Any:
        """Return a copy."""
        return self.xp.asarray(A, copy=True)

    def numbers(self, numbers: NDArray[np.integer]) -> Any:
        """Return whole numbers as an array here."""
        return self.xp.asarray(numbers)

    def in_place(self, R: Any) -> Any:
        """Return R."""
        return R

    def take_rows(self, A: Any, numbers: NDArray[np.integer]) -> Any:
        """Return a copy of some rows."""
        return self.xp.take(A, self.numbers(numbers), axis=0)

    def take_columns(self, A: Any, numbers: NDArray[np.integer]) -> Any:
        """Return a copy of some columns."""
        return self.xp.take(A, self.numbers(numbers), axis=1)

    def set_columns(self, A: Any, numbers: NDArray[np.integer], B: Any) -> None:
        """Replace some columns, one after the other."""
        for j, number in enumerate(numbers.tolist()):
            A[:, number] = B[:, j]

    def add_columns(self, A: Any, numbers: NDArray[np.integer], B: Any) -> None:
        """Add to some columns, one after the other."""
        for j, number in enumerate(numbers.tolist()):
            A[:, number] += B[:, j]

    # --- rows --------------------------------------------------------------------------------

    def squared_lengths(self, H: Any) -> Array:
        """Return the squared length (n,) of each row, on the host."""
        return host(self.xp.vecdot(H, H))

    def squared_distances(self, X: Any, Z: Any) -> Any:
        """Return the squared distances (n, m) by a product: rounding is that of the lengths."""
        xp = self.xp
        squares = xp.vecdot(X, X)[:, None] + xp.vecdot(Z, Z)[None, :] - 2 * (X @ Z.T)
        return xp.maximum(squares, xp.zeros_like(squares))

    def normal_cdf(self, H: Any) -> Any:
        """Return the normal distribution function of each entry, by way of the host."""
        return self.array(ndtr(host(H)), H.dtype)

    def order_statistic(self, H: Any, k: int) -> Any:
        """Return the k-th smallest entry of each row, (n, 1)."""
        return self.xp.sort(H, axis=1)[:, k : k + 1]
