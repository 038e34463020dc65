"""Arrays of any namespace of the array API standard: a symmetric matrix worked on tile by tile.

The standard has no symmetric update, no factorisation in place and no triangular solve.  Here a
matrix R (d, d) is cut into tiles: an update with n rows writes the tiles of its lower triangle,
n d^2 flops in place of 2 n d^2; a factorisation writes its factor over the upper tiles, so that no
second d x d matrix is needed.  Nearly all of the work is in products of tiles, which is what a GPU
does best.  Tiles on the diagonal are copied: d times a tile's side of numbers.

In float32 solutions are refined: the residual ``B - A X`` is taken in float64 from R, and the factor
corrects X until the residual is as small as float32 can tell (Moler, 1967).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sparcl.algebra.definite import Definite
from sparcl.algebra.host import HOST
from sparcl.base.checks import check_memory
from sparcl.base.errors import NumericalError
from sparcl.base.types import Array, host

TILE = 1024  # side of a tile
STEPS = 20  # of refinement, at most
STALLED = 0.5  # a step that leaves more than this share of the residual is the last
RESIDUAL_LIMIT = 1e-3  # relative; a solution with a larger one is no solution


@dataclass
class Downdated:
    """``A = R + ridge I - weight Q Q^T``, whose lower tiles of R stay as they are.

    Parameters
    ----------
    on : backend; R (d, d) whole at first, its upper tiles are workspace
    """

    on: "Tiles"
    R: Any
    ridge: float
    downdate: tuple[float, Any] | None

    def times(self, X: Any) -> Any:
        """Return ``A X`` (d, c) in the precision of X, from the lower tiles: 2 d^2 c flops."""
        on, xp = self.on, self.on.xp
        Y = self.ridge * X
        for s in on.tiles(self.R.shape[0]):
            diagonal = on.array(self.R[s, s], X.dtype)
            Y[s, :] += diagonal @ X[s, :]
            below = slice(s.stop, None)
            if s.stop < self.R.shape[0]:
                L = on.array(self.R[below, s], X.dtype)
                Y[below, :] += L @ X[s, :]
                Y[s, :] += L.T @ X[below, :]
        if self.downdate is not None:
            weight, Q = self.downdate
            Q = xp.astype(Q, X.dtype)
            Y -= weight * (Q @ (Q.T @ X))
        return Y


class TileFactor:
    """Cholesky factor U, ``A = U^T U``: off-diagonal tiles in the upper triangle of R, others apart."""

    def __init__(self, A: Downdated) -> None:
        self.A, self.on = A, A.on
        self.residual: float | None = None
        self.corners: list[Any] = []  # lower factors of the tiles on the diagonal

    def compute(self) -> int:
        """Factor A; the number, from 1, of the first row of a tile that is not positive, or 0."""
        on, R, A = self.on, self.A.R, self.A
        slices = on.tiles(R.shape[0])
        corners = [on.shifted(R[s, s], A.ridge) for s in slices]
        if A.downdate is not None:
            weight, Q = A.downdate
            for i, s in enumerate(slices):
                corners[i] = corners[i] - weight * (Q[s, :] @ Q[s, :].T)
                if s.stop < R.shape[0]:
                    on.add_product(R, s, slice(s.stop, None), Q[s, :], Q[s.stop :, :].T, -weight)
        minors = []
        for k, s in enumerate(slices):
            L, minor = on.cholesky(corners[k])
            minors.append((s.start, minor))
            corners[k] = L
            if s.stop == R.shape[0]:
                break
            R[s, s.stop :] = on.lower_solve(L, R[s, s.stop :])
            for i in range(k + 1, len(slices)):
                t = slices[i]
                left = R[s, t].T
                corners[i] = corners[i] - left @ R[s, t]
                if t.stop < R.shape[0]:
                    on.add_product(R, t, slice(t.stop, None), left, R[s, t.stop :], -1.0)
        self.corners = corners
        return on.first_minor(minors)

    @property
    def pivots(self) -> Array:
        """Diagonal (d,) of the factor."""
        parts = [self.on.diagonal(L) for L in self.corners]
        return np.concatenate(parts) if parts else np.zeros(0)

    def solve(self, B: Any) -> Any:
        """Return ``A^-1 B`` for B (d, c): 2 d^2 c flops; in float32 as many again for each step of refinement.

        Raises
        ------
        NumericalError
            When refinement in float32 cannot bring the residual below RESIDUAL_LIMIT of B.
        """
        B = self.on.array(B, self.A.R.dtype)
        refined = self.on.refines(self.on.dtype(B)) and 0 not in B.shape
        return self._refined(B) if refined else self._substituted(B)

    def inverse(self) -> Any:
        """Return ``A^-1`` (d, d): 2 d^3 flops."""
        on, d = self.on, self.A.R.shape[0]
        return self.solve(on.array(np.eye(d, dtype=on.dtype(self.A.R))))

    def _substituted(self, B: Any) -> Any:
        on, U, X = self.on, self.A.R, self.on.xp.asarray(B, copy=True)
        slices = on.tiles(U.shape[0])
        for s, L in zip(slices, self.corners, strict=True):
            if s.start:
                X[s, :] -= U[: s.start, s].T @ X[: s.start, :]
            X[s, :] = on.lower_solve(L, X[s, :])
        for s, L in reversed(list(zip(slices, self.corners, strict=True))):
            if s.stop < U.shape[0]:
                X[s, :] -= U[s, s.stop :] @ X[s.stop :, :]
            X[s, :] = on.upper_solve(L, X[s, :])
        return X

    def _refined(self, B: Any) -> Any:
        on, xp = self.on, self.on.xp
        wide, narrow = on.array(B, "float64"), B.dtype
        scale = np.sqrt(on.squared_lengths(wide.T))
        scale[scale == 0] = 1.0  # of a class without a row
        X = on.array(self._substituted(B), "float64")
        goal, before = float(np.finfo(np.float32).eps), np.inf
        for _ in range(STEPS):
            rest = wide - self.A.times(X)
            reached = float((np.sqrt(on.squared_lengths(rest.T)) / scale).max())
            if not reached < before * STALLED or reached <= goal:
                break
            before = reached
            # scaled: a small residual must not leave the range of float32
            unit = on.array(np.maximum(np.sqrt(on.squared_lengths(rest.T)), np.finfo(float).tiny))
            step = self._substituted(xp.astype(rest / unit, narrow))
            X = X + xp.astype(step, X.dtype) * unit
        self.residual = max(self.residual or 0.0, reached)
        if not reached <= RESIDUAL_LIMIT:
            raise NumericalError(
                f"Refinement of a float32 solution ends at a relative residual of {reached:.1e} (d = "
                f"{B.shape[0]}, ridge {self.A.ridge:g}; at most {RESIDUAL_LIMIT:g} counts as solved). Usual cause: "
                "a ridge too small for float32; raise ridge or use dtype float64."
            )
        return xp.astype(X, narrow)


class Tiles(Definite):
    """The backend of a namespace of the standard, as :class:`sparcl.algebra.host.Host` describes one.

    Parameters
    ----------
    xp : the namespace; name : of the device, for messages
    """

    cached_rows = 4096
    reads_triangle = False
    tile = TILE

    def __init__(self, xp: Any, name: str) -> None:
        self.xp, self.name = xp, name
        self.packed: tuple[int, Any] = (0, None)

    def tiles(self, d: int) -> list[slice]:
        """Return the rows of each tile of d."""
        return [slice(i, min(i + self.tile, d)) for i in range(0, d, self.tile)]

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

    def one_hot(self, columns: NDArray[np.integer], wanted: NDArray[np.integer], like: Any) -> Any:
        """Return the targets (n, c) of rows of columns (n,)."""
        return self.array((columns[:, None] == wanted).astype(self.dtype(like)))

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

    # --- products ----------------------------------------------------------------------------

    def product(self, A: Any, B: Any) -> Any:
        """Return ``A B``, in the wider of two precisions: of A a tile's rows at a time are widened."""
        wider, n = self.xp.result_type(A, B), A.shape[0]
        B = self.array(B, wider)
        if A.dtype == wider or n <= self.tile:
            return self.array(A, wider) @ B
        return self.xp.concat([self.array(A[s, :], wider) @ B for s in self.tiles(n)])

    matmul = product

    def add_product(self, R: Any, rows: slice, columns: slice, A: Any, B: Any, sign: float) -> None:
        """Add ``sign A B`` to a part of R, in place."""
        R[rows, columns] += sign * (A @ B)

    def rank_update(self, R: Any, X: Any, sign: float) -> None:
        """Add ``sign X^T X`` to the lower tiles."""
        X = self.array(X, R.dtype)
        for s in self.tiles(R.shape[0]):
            self.add_product(R, slice(s.start, None), s, X[:, s.start :].T, X[:, s], sign)

    def outer_update(self, R: Any, H: Any) -> None:
        """Add ``H H^T`` to the lower tiles."""
        self.rank_update(R, H.T, 1.0)

    def diagonal(self, R: Any) -> Array:
        """Return the diagonal, on the host."""
        return host(self.xp.linalg.diagonal(R))

    def mirror(self, R: Any) -> None:
        """Copy the lower tiles onto the upper ones."""
        for s in self.tiles(R.shape[0]):
            corner = self.xp.tril(R[s, s])
            R[s, s] = corner + self.xp.tril(corner, k=-1).T
            if s.stop < R.shape[0]:
                R[s, s.stop :] = R[s.stop :, s].T

    def unpacked(self, triangle: Any, d: int) -> Any:
        """Return the symmetric matrix of a packed triangle, gathered by :func:`packed_places`: d^2 moves."""
        if self.packed[0] != d:  # sent once, and not for every session
            self.packed = d, self.numbers(packed_places(d).ravel())
        return self.xp.reshape(self.xp.take(triangle, self.packed[1], axis=0), (d, d))

    def symmetric_times(self, R: Any, B: Any) -> Any:
        """Return the product: 2 n d^2 flops."""
        return R @ self.array(B, R.dtype)

    # --- factors -----------------------------------------------------------------------------

    def refines(self, dtype: np.dtype[Any]) -> bool:
        """Return whether that is float32."""
        return dtype == np.float32

    @contextmanager
    def factored(
        self, R: Any, ridge: float, downdate: tuple[float, Any] | None
    ) -> Iterator[tuple[TileFactor, int]]:
        """Factor over the upper tiles; those of the lower triangle are never written."""
        if downdate is not None:
            downdate = downdate[0], self.array(downdate[1], R.dtype)
        factor = TileFactor(Downdated(self, R, float(ridge), downdate))
        yield factor, factor.compute()

    def shifted(self, A: Any, shift: float) -> Any:
        """Return a copy of A (b, b) + shift I."""
        return A + shift * self.xp.eye(A.shape[0], dtype=A.dtype, device=A.device)

    def cholesky(self, A: Any) -> tuple[Any, Any]:
        """Return the lower factor of A (b, b), and the minor that is not positive, or 0."""
        try:
            return self.xp.linalg.cholesky(A), 0
        except np.linalg.LinAlgError:
            return self.xp.eye(A.shape[0], dtype=A.dtype, device=A.device), 1

    def first_minor(self, minors: list[tuple[int, Any]]) -> int:
        """Return the first minor that is not positive, of minors inside of tiles that start at a row."""
        return next((start + int(minor) for start, minor in minors if int(minor)), 0)

    def lower(self, A: Any) -> tuple[Any, int]:
        """Return the lower Cholesky factor and the minor that is not positive, or 0."""
        L, minor = self.cholesky(A)
        return L, int(minor)

    def definite_solve(self, L: Any, B: Any) -> Any:
        """Return ``(L L^T)^-1 B``."""
        return self.upper_solve(L, self.lower_solve(L, B))

    def lower_solve(self, L: Any, B: Any) -> Any:
        """Return ``L^-1 B``; the standard knows no triangle, so this costs an LU decomposition."""
        return self.xp.linalg.solve(L, B)

    def upper_solve(self, L: Any, B: Any) -> Any:
        """Return ``L^-T B``."""
        return self.xp.linalg.solve(L.T, B)

    def right_solve(self, T: Any, L: Any, *, transposed: bool) -> Any:
        """Return ``T L^-1``, or ``T L^-T``."""
        return (self.lower_solve(L, T.T) if transposed else self.upper_solve(L, T.T)).T

    # --- spectra -----------------------------------------------------------------------------

    def descending_eigh(self, R: Any) -> tuple[Any, Any]:
        """Return all eigenpairs."""
        values, vectors = self.xp.linalg.eigh(R)
        return self.xp.flip(values), self.xp.flip(vectors, axis=1)

    def dense_leading(self, R: Any, target: float, rank: int | None) -> tuple[Array, Any]:
        """Return leading pairs of all of them: O(d^3)."""
        values, vectors = self.descending_eigh(R)
        values = host(values)
        if rank is None:
            rank = int(np.searchsorted(np.cumsum(values, dtype=np.float64), target)) + 2
        return values[:rank], vectors[:, :rank]

    def resolvents(self, K: Any, B: Any, shifts: Array) -> Iterator[tuple[float, float]]:
        """Yield traces and norms from a Cholesky factor for each shift: n^3 flops a shift.

        The trace of ``(K + s I)^-1`` is ``|L^-1|_F^2``.  A GPU takes many factors in the time of one
        tridiagonal form, whose reduction is no product of matrices.
        """
        n, xp = K.shape[0], self.xp
        self.mirror(K)
        # the largest sum of a row bounds the largest eigenvalue
        bound = float(xp.max(xp.sum(xp.abs(K), axis=1))) if n else 0.0
        least = max(2 * n * float(xp.finfo(K.dtype).eps) * bound, float(np.finfo(np.float64).tiny))
        eye = xp.eye(n, dtype=K.dtype, device=K.device)
        for shift in np.maximum(shifts, least).tolist():
            L, minor = self.lower(self.shifted(K, shift))
            if minor:
                raise NumericalError(
                    f"K + {shift:g} I of {n} rows is not positive definite: raise the ridge or use dtype float64."
                )
            inverse, solved = self.lower_solve(L, eye), self.definite_solve(L, B)
            yield (
                shift * float(self.squared_lengths(inverse).sum(dtype=np.float64)),
                shift**2 * float(self.squared_lengths(solved).sum(dtype=np.float64)),
            )


def packed_places(d: int) -> NDArray[np.int64]:
    """Return where each entry (d, d) of a symmetric matrix lies in its rectangular full packed triangle.

    LAPACK unpacks the numbers 0 to d (d + 1) / 2 - 1 on the host, exact in float64.
    """
    places = HOST.unpacked(np.arange(d * (d + 1) // 2, dtype=np.float64), d)
    return places.astype(np.int64)
