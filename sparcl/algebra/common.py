"""What NumPy arrays and torch tensors do alike."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import NumericalError


class Common:
    """Operations that all backends share, on their own :meth:`lower`, :meth:`lower_solve` and arrays."""

    def take_rows(self, A: Any, numbers: NDArray[np.integer]) -> Any:
        """Return a copy (k, d) of some rows."""
        return A[numbers]

    def take_columns(self, A: Any, numbers: NDArray[np.integer]) -> Any:
        """Return a copy (d, k) of some columns."""
        return A[:, numbers]

    def set_columns(self, A: Any, numbers: NDArray[np.integer], B: Any) -> None:
        """Replace some columns, in place."""
        A[:, numbers] = B

    def add_columns(self, A: Any, numbers: NDArray[np.integer], B: Any) -> None:
        """Add to some columns, each named once, in place."""
        A[:, numbers] += B

    def block_factor(self: Any, A: Any) -> Any:
        """Return the lower Cholesky factor of A (k, k): k^3 / 3 flops.

        Raises
        ------
        NumericalError
            When A is not positive definite in its precision.
        """
        L, info = self.lower(A)
        if info:
            raise NumericalError(
                f"A block of {A.shape[0]} rows is not positive definite in {self.dtype(A)} (leading minor {info}). "
                "Usual cause: a ridge too small for the scale of the features; raise ridge or use dtype "
                "float64."
            )
        return L

    def block_solve(self: Any, A: Any, b: Any) -> Any:
        """Return ``A^-1 b`` for positive definite A (k, k): k^3 / 3 flops; NumericalError as :meth:`block_factor`."""
        if A.shape[0] == 0:
            return self.zeros((0, b.shape[1]), self.dtype(A))
        return self.definite_solve(self.block_factor((A + A.T) / 2), b)
