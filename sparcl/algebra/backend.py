"""Where arrays lie and who computes with them: NumPy with SciPy, or torch on a GPU.

The standard of array namespaces covers element-wise work and products, ``backend.xp``.  What it
lacks, or has in a form that costs a copy, is a method of :class:`Backend`; the numerics above call
these and ask nowhere on which device they are.  Floating-point arrays follow the rows; labels,
counts, eigenvalues and whatever has one number a class pair stay NumPy arrays on the host.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparcl.base.arrays import host
from sparcl.base.errors import InputError
from sparcl.base.types import Array

__all__ = ["DEVICES", "Backend", "Factor", "host", "like", "named", "of"]

DEVICES = ("cpu", "cuda", "auto", "torch-cpu")


class Factor(Protocol):
    """A Cholesky factor of ``A = R + shift I - weight Q Q^T``.

    Attributes
    ----------
    residual : largest relative residual ``|B - A X| / |B|`` of a column after iterative refinement;
        None where solutions are not refined
    """

    residual: float | None

    @property
    def pivots(self) -> Array:
        """Diagonal (d,) of the factor, on the host."""

    def solve(self, B: Array) -> Array:
        """Return ``A^-1 B`` for B (d, c): 2 d^2 c flops."""

    def inverse(self) -> Array:
        """Return ``A^-1`` (d, d), of which the lower triangle counts."""


class Backend(Protocol):
    """Operations on the arrays of one namespace and device."""

    @property
    def name(self) -> str:
        """Name of the device."""

    @property
    def xp(self) -> Any:
        """Namespace of the arrays."""

    @property
    def cached_rows(self) -> int:
        """Rows that element-wise work takes at a time."""

    @property
    def reads_triangle(self) -> bool:
        """Whether the lower triangle of a symmetric matrix suffices for its products."""

    # --- arrays ------------------------------------------------------------------------------

    def array(self, values: Any, dtype: Any = None) -> Any:
        """Return host values, or an array of this backend, as an array here; copied where it must be.

        ``dtype`` is a name such as ``float32``, or the dtype of an array here.
        """

    def dtype(self, A: Any) -> np.dtype[Any]:
        """Return the precision of an array here, as NumPy calls it."""

    def zeros(self, shape: tuple[int, int], dtype: Any) -> Any:
        """Return a matrix of zeros in the layout that products like best."""

    def check_room(self, what: str, shape: tuple[int, int], dtype: Any) -> None:
        """Raise InputError where a matrix of this shape cannot fit into the memory."""

    def free(self) -> int | None:
        """Return the bytes that are free on the device; None where the system swaps or overcommits."""

    def laid_out(self, A: Any) -> Any:
        """Return a matrix in the layout that :meth:`zeros` has, without what a view would keep alive."""

    def in_place(self, R: Any) -> Any:
        """Return R (d, d) as products and factors take it; R itself, where its layout is theirs."""

    def take_rows(self, A: Any, numbers: NDArray[np.integer]) -> Any:
        """Return a copy (k, d) of some rows."""

    def take_columns(self, A: Any, numbers: NDArray[np.integer]) -> Any:
        """Return a copy (d, k) of some columns."""

    def set_columns(self, A: Any, numbers: NDArray[np.integer], B: Any) -> None:
        """Replace some columns, in place."""

    def add_columns(self, A: Any, numbers: NDArray[np.integer], B: Any) -> None:
        """Add to some columns, each named once, in place."""

    # --- rows --------------------------------------------------------------------------------

    def squared_lengths(self, H: Any) -> Array:
        """Return the squared length (n,) of each row of H (n, D), on the host: 2 n D flops."""

    def squared_distances(self, X: Any, Z: Any) -> Any:
        """Return the squared distances (n, m) between rows of X (n, d) and Z (m, d): 2 n m d flops."""

    def normal_cdf(self, H: Any) -> Any:
        """Return the normal distribution function of each entry."""

    def order_statistic(self, H: Any, k: int) -> Any:
        """Return the k-th smallest entry, from 0, of each row of H (n, D), as (n, 1)."""

    # --- products ----------------------------------------------------------------------------

    def product(self, A: Any, B: Any) -> Any:
        """Return ``A B``, by the routine that large products take."""

    def matmul(self, A: Any, B: Any) -> Any:
        """Return ``A B``, which may differ in precision, as the namespace's operator has it."""

    def rank_update(self, R: Any, X: Any, sign: float) -> None:
        """Add ``sign X^T X`` of X (n, d) to the lower triangle of R (d, d), in place: n d^2 flops."""

    def outer_update(self, R: Any, H: Any) -> None:
        """Write ``H H^T`` of H (n, M) to the lower triangle of R (n, n), which is 0: n^2 M flops."""

    def diagonal(self, R: Any) -> Array:
        """Return the diagonal (d,), on the host."""

    def mirror(self, R: Any) -> None:
        """Copy the lower triangle of R (d, d) onto its upper one, in place."""

    def unpacked(self, triangle: Any, d: int) -> Any:
        """Return the symmetric matrix (d, d) of a triangle in LAPACK's rectangular full packed form.

        d (d + 1) / 2 numbers with the lower triangle, as TFTTR of LAPACK 3.2 reads them.
        """

    def symmetric_times(self, R: Any, B: Any) -> Any:
        """Return the product with B (d,) or (d, n) of symmetric R, whole unless one triangle suffices."""

    # --- factors -----------------------------------------------------------------------------

    def refines(self, dtype: np.dtype[Any]) -> bool:
        """Return whether :meth:`Factor.solve` refines its solutions in this precision."""

    def factored(
        self, R: Any, shift: float, downdate: tuple[float, Any] | None
    ) -> AbstractContextManager[tuple[Factor, int]]:
        """Factor ``R + shift I - weight Q Q^T`` in the upper triangle of whole R: d^3 / 3 flops.

        Yields the factor and the leading minor that is not positive, 0 where all are.  The lower
        triangle and the diagonal of R are what they were on leaving, to the bit.
        """

    def lower(self, A: Any) -> tuple[Any, int]:
        """Return the lower Cholesky factor of A (k, k), and the minor that is not positive or 0."""

    def definite_solve(self, L: Any, B: Any) -> Any:
        """Return ``(L L^T)^-1 B``."""

    def lower_solve(self, L: Any, B: Any) -> Any:
        """Return ``L^-1 B`` for B (k, n)."""

    def right_solve(self, T: Any, L: Any, *, transposed: bool) -> Any:
        """Return ``T L^-1``, or ``T L^-T``, for T (d, k), which may be used up."""

    # --- spectra -----------------------------------------------------------------------------

    def descending_eigh(self, R: Any) -> tuple[Any, Any]:
        """Return all eigenvalues (d,) and eigenvectors (d, d) of symmetric R, both here: O(d^3)."""

    def dense_leading(self, R: Any, target: float, rank: int | None) -> tuple[Array, Any]:
        """Return ``rank`` leading eigenpairs, or enough for ``target``; eigenvalues on the host."""

    def resolvents(self, K: Any, B: Any, shifts: Array) -> Iterator[tuple[float, float]]:
        """Yield the trace of ``(K + s I)^-1`` and ``|(K + s I)^-1 B|_F^2`` for each shift s.

        K (n, n) is symmetric, its lower triangle counts and it is used up.  A shift below the
        rounding of the eigenvalues, 2 n eps |K|, counts as that.  The values come times s and s^2.
        """


def of(A: Any) -> Backend:
    """Return the backend of an array."""
    if isinstance(A, np.ndarray):
        return named("cpu")
    from sparcl.algebra import tiles

    return tiles.of(A)


def like(values: Any, A: Any) -> Any:
    """Return values where A lies and in its precision."""
    return of(A).array(values, A.dtype)


def named(device: str) -> Backend:
    """Return the backend of a device: ``cpu``, ``cuda``, or ``auto``, CUDA where there is one.

    ``torch-cpu`` is the code of ``cuda`` without a card, for tests.

    Raises
    ------
    InputError
        For another name, and for ``cuda`` where torch, array-api-compat or a card is missing.
    """
    if device not in DEVICES:
        raise InputError(f"device = {device!r}: it must be one of {', '.join(DEVICES)}.")
    if device == "cpu":
        from sparcl.algebra.lapack import HOST

        return HOST
    from sparcl.algebra import tensors

    return tensors.named(device)
