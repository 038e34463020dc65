"""torch tensors: triangular solves, updates in place, memory, and the way to the card and back.

With :mod:`sparcl.algebra.tiles` and array-api-compat this is all that knows torch among the numerics.
"""

import importlib.util
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.tiles import Tiles
from sparcl.base.checks import unusable
from sparcl.base.errors import InputError

INSTALL = "install the extra `gpu` (pip install 'sparcl[gpu]'), or take device cpu"


class Tensors(Tiles):
    """The backend of torch tensors on one device (:class:`sparcl.algebra.host.Host`)."""

    def __init__(self, device: str) -> None:
        import array_api_compat.torch as xp
        import torch

        self.torch, self.device = torch, torch.device(device)
        super().__init__(xp, "cuda" if self.device.type == "cuda" else "torch-cpu")
        # products of float32 are taken in float32, whatever the process set before
        torch.backends.cuda.matmul.allow_tf32 = False
        self.copies: Any = None
        if self.device.type == "cuda":
            self.copies = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]

    # --- the way there -----------------------------------------------------------------------

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

    def check_room(self, what: str, shape: tuple[int, int], dtype: Any) -> None:
        """Raise InputError where a matrix does not fit into what is free."""
        takes, free = int(np.prod(shape)) * np.dtype(dtype).itemsize, self.free()
        if free is None:
            return super().check_room(what, shape, dtype)
        if takes > free:
            raise InputError(
                f"{what} of shape {shape} takes {takes / 2**30:,.1f} GiB of memory, and {self.device} has "
                f"{free / 2**30:,.1f} free: lower width, use dtype float32, or device cpu."
            )
        return None

    # --- in place ----------------------------------------------------------------------------

    def numbers(self, numbers: NDArray[np.integer]) -> Any:
        """Return whole numbers as a tensor here."""
        return self.torch.as_tensor(np.asarray(numbers, dtype=np.int64), device=self.device)

    def laid_out(self, A: Any) -> Any:
        """Return A, copied to C order unless it has that."""
        return A.contiguous()

    def take_rows(self, A: Any, numbers: NDArray[np.integer]) -> Any:
        """Return a copy of some rows."""
        return A.index_select(0, self.numbers(numbers))

    def take_columns(self, A: Any, numbers: NDArray[np.integer]) -> Any:
        """Return a copy of some columns."""
        return A.index_select(1, self.numbers(numbers))

    def set_columns(self, A: Any, numbers: NDArray[np.integer], B: Any) -> None:
        """Replace some columns."""
        A.index_copy_(1, self.numbers(numbers), B)

    def add_columns(self, A: Any, numbers: NDArray[np.integer], B: Any) -> None:
        """Add to some columns."""
        A.index_add_(1, self.numbers(numbers), B)

    def add_product(self, R: Any, rows: slice, columns: slice, A: Any, B: Any, sign: float) -> None:
        """Add ``sign A B`` to a part of R without a copy of it."""
        R[rows, columns].addmm_(A, B, alpha=sign)

    def shifted(self, A: Any, shift: float) -> Any:
        """Return a copy of A + shift I."""
        A = A.clone()
        A.diagonal().add_(shift)
        return A

    # --- what the standard lacks -------------------------------------------------------------

    def normal_cdf(self, H: Any) -> Any:
        """Return the normal distribution function of each entry."""
        return self.torch.special.ndtr(H)

    def order_statistic(self, H: Any, k: int) -> Any:
        """Return the k-th smallest entry of each row, (n, 1), without sorting the rows."""
        return H.kthvalue(k + 1, dim=1, keepdim=True).values

    def cholesky(self, A: Any) -> tuple[Any, Any]:
        """Return the lower factor and the minor that is not positive, which the card still computes."""
        return self.torch.linalg.cholesky_ex(A)

    def first_minor(self, minors: list[tuple[int, Any]]) -> int:
        """Return the first minor that is not positive: one wait for the card."""
        found = self.torch.stack([minor for _, minor in minors]).tolist() if minors else []
        both = zip(minors, found, strict=True)
        return next((start + minor for (start, _), minor in both if minor), 0)

    def lower_solve(self, L: Any, B: Any) -> Any:
        """Return ``L^-1 B``: k^2 n flops."""
        return self.torch.linalg.solve_triangular(L, B, upper=False)

    def upper_solve(self, L: Any, B: Any) -> Any:
        """Return ``L^-T B``: k^2 n flops."""
        return self.torch.linalg.solve_triangular(L.mT, B, upper=True)


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
