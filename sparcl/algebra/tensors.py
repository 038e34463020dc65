"""torch tensors: a symmetric matrix worked on tile by tile, memory, and the way to a card and back.

With :mod:`sparcl.algebra.tiles` and array-api-compat this is all that knows torch among the numerics.
"""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.common import Common
from sparcl.algebra.host import HOST
from sparcl.algebra.tiles import TILE, Downdated, TileFactor
from sparcl.base.checks import unusable
from sparcl.base.errors import InputError, NumericalError
from sparcl.base.types import Array, host

INSTALL = "install the extra `gpu` (pip install 'sparcl[gpu]'), or take device cpu"


class Tensors(Common):
    """The backend of torch tensors on one device (:class:`sparcl.algebra.host.Host`)."""

    cached_rows = 4096
    reads_triangle = False
    tile = TILE

    def __init__(self, device: str) -> None:
        import array_api_compat.torch as xp
        import torch

        self.torch, self.device = torch, torch.device(device)
        self.xp: Any = xp
        self.name = "cuda" if self.device.type == "cuda" else "torch-cpu"
        self.packed: tuple[int, Any] = (0, None)
        # products of float32 are taken in float32, whatever the process set before
        torch.backends.cuda.matmul.allow_tf32 = False
        self.copies: Any = None
        if self.device.type == "cuda":
            self.copies = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]

    def tiles(self, d: int) -> list[slice]:
        """Return the rows of each tile of d."""
        return [slice(i, min(i + self.tile, d)) for i in range(0, d, self.tile)]

    # --- arrays -----------------------------------------------------------------------------------

    def array(self, values: Any, dtype: Any = None) -> Any:
        """Return values as a tensor here.

        Host arrays go to a card from pinned memory on a stream of their own: while they travel, the
        card computes what was asked of it before.
        """
        dtype = getattr(self.torch, dtype) if isinstance(dtype, str) else dtype
        if not isinstance(values, np.ndarray):
            return values.to(device=self.device, dtype=dtype)
        values = np.ascontiguousarray(values)
        if self.copies is None:
            sent = self.torch.tensor(values)
        else:
            with self.torch.cuda.stream(self.copies):
                # a card converts faster than the host
                sent = self.torch.from_numpy(values).pin_memory().to(self.device, non_blocking=True)
            current = self.torch.cuda.current_stream(self.device)
            current.wait_stream(self.copies)
            sent.record_stream(current)
        return sent if dtype is None else sent.to(dtype)

    def dtype(self, A: Any) -> np.dtype[Any]:
        """Return the precision as NumPy calls it."""
        return np.dtype("float32" if A.dtype == self.xp.float32 else "float64")

    def zeros(self, shape: tuple[int, int], dtype: Any) -> Any:
        """Return zeros in C order."""
        dtype = getattr(self.torch, np.dtype(dtype).name)
        return self.torch.zeros(shape, dtype=dtype, device=self.device)

    def free(self) -> int | None:
        """Return the free bytes of a card, those among them that torch keeps for later."""
        if self.copies is None:
            return None
        cuda = self.torch.cuda
        kept = cuda.memory_reserved(self.device) - cuda.memory_allocated(self.device)
        return int(cuda.mem_get_info(self.device)[0] + kept)

    def laid_out(self, A: Any) -> Any:
        """Return A, copied to C order unless it has that."""
        return A.contiguous()

    def in_place(self, R: Any) -> Any:
        """Return R."""
        return R

    def one_hot(self, columns: NDArray[np.integer], wanted: NDArray[np.integer], like: Any) -> Any:
        """Return the targets (n, c) of rows of columns (n,)."""
        return self.array((columns[:, None] == wanted).astype(self.dtype(like)))

    # --- rows -------------------------------------------------------------------------------------

    def squared_lengths(self, H: Any) -> Array:
        """Return the squared length (n,) of each row, on the host."""
        return host(self.xp.vecdot(H, H))

    def squared_distances(self, X: Any, Z: Any) -> Any:
        """Return the squared distances (n, m) by a product: rounding is that of the lengths."""
        xp = self.xp
        squares = xp.vecdot(X, X)[:, None] + xp.vecdot(Z, Z)[None, :] - 2 * (X @ Z.T)
        return xp.maximum(squares, xp.zeros_like(squares))

    def normal_cdf(self, H: Any) -> Any:
        """Return the normal distribution function of each entry."""
        return self.torch.special.ndtr(H)

    def order_statistic(self, H: Any, k: int) -> Any:
        """Return the k-th smallest entry of each row, (n, 1), without sorting the rows."""
        return H.kthvalue(k + 1, dim=1, keepdim=True).values

    # --- products ---------------------------------------------------------------------------------

    def product(self, A: Any, B: Any) -> Any:
        """Return ``A B``, in the wider of two precisions: of A a tile's rows at a time are widened."""
        wider, n = self.xp.result_type(A, B), A.shape[0]
        B = self.array(B, wider)
        if A.dtype == wider or n <= self.tile:
            return self.array(A, wider) @ B
        return self.xp.concat([self.array(A[s, :], wider) @ B for s in self.tiles(n)])

    matmul = product

    def add_product(self, R: Any, rows: slice, columns: slice, A: Any, B: Any, sign: float) -> None:
        """Add ``sign A B`` to a part of R without a copy of it."""
        R[rows, columns].addmm_(A, B, alpha=sign)

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
        return host(R.diagonal())

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
            self.packed = d, self.array(packed_places(d).ravel())
        return self.xp.reshape(self.xp.take(triangle, self.packed[1], axis=0), (d, d))

    def symmetric_times(self, R: Any, B: Any) -> Any:
        """Return the product: 2 n d^2 flops."""
        return R @ self.array(B, R.dtype)

    # --- factors ----------------------------------------------------------------------------------

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
        """Return a copy of A + shift I."""
        A = A.clone()
        A.diagonal().add_(shift)
        return A

    def cholesky(self, A: Any) -> tuple[Any, Any]:
        """Return the lower factor and the minor that is not positive, which the card still computes."""
        return self.torch.linalg.cholesky_ex(A)

    def first_minor(self, minors: list[tuple[int, Any]]) -> int:
        """Return the first minor that is not positive: one wait for the card."""
        found = self.torch.stack([minor for _, minor in minors]).tolist() if minors else []
        both = zip(minors, found, strict=True)
        return next((start + minor for (start, _), minor in both if minor), 0)

    def lower(self, A: Any) -> tuple[Any, int]:
        """Return the lower Cholesky factor and the minor that is not positive, or 0."""
        L, minor = self.cholesky(A)
        return L, int(minor)

    def definite_solve(self, L: Any, B: Any) -> Any:
        """Return ``(L L^T)^-1 B``."""
        return self.upper_solve(L, self.lower_solve(L, B))

    def lower_solve(self, L: Any, B: Any) -> Any:
        """Return ``L^-1 B``: k^2 n flops."""
        return self.torch.linalg.solve_triangular(L, B, upper=False)

    def upper_solve(self, L: Any, B: Any) -> Any:
        """Return ``L^-T B``: k^2 n flops."""
        return self.torch.linalg.solve_triangular(L.mT, B, upper=True)

    def right_solve(self, T: Any, L: Any, *, transposed: bool) -> Any:
        """Return ``T L^-1``, or ``T L^-T``."""
        return (self.lower_solve(L, T.T) if transposed else self.upper_solve(L, T.T)).T

    # --- spectra ----------------------------------------------------------------------------------

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


@cache
def on(device: str) -> Tensors:
    """Return the one backend of a device of torch, such as ``cpu`` or ``cuda:0``."""
    return Tensors(device)


def named(device: str) -> Tensors | None:
    """Return the backend of ``cuda`` or ``torch-cpu``; of ``auto`` that of a card, None where there is none."""
    missing = [p for p in ("torch", "array_api_compat") if importlib.util.find_spec(p) is None]
    if not missing:
        if why := unusable("torch"):
            raise InputError(f"device = {device!r} needs torch, which {why}. Or take device cpu.")
        import torch

        if torch.cuda.is_available() and device != "torch-cpu":
            return on(f"cuda:{torch.cuda.current_device()}")
    if device == "auto":
        return None
    if missing:
        raise InputError(f"device = {device!r} needs {' and '.join(missing)}: {INSTALL}.")
    if device == "cuda":
        raise InputError(
            "device = 'cuda': torch finds no CUDA card here. Usual cause: no driver, or a build of torch "
            "without CUDA; take device cpu, or auto, which takes a card where there is one."
        )
    return on("cpu")
