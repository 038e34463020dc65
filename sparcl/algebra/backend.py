"""The device of arrays and the library that computes with them: NumPy with SciPy, or torch on a GPU.

The standard of array namespaces covers element-wise work and products, ``backend.xp``, by way of
array-api-compat.  An operation that it lacks, or has in a form that costs a copy, is a method of a
backend, described in :class:`sparcl.algebra.host.Host`; the numerics above call these and ask nowhere
on which device they are.  Floating-point arrays follow the rows; labels, counts, eigenvalues and
whatever has one number a class pair stay NumPy arrays on the host.
"""

from typing import Any

import numpy as np

from sparcl.algebra import host as on_host
from sparcl.algebra import tensors, tiles
from sparcl.algebra.host import HOST, Host
from sparcl.base.errors import InputError
from sparcl.base.types import Array, host

__all__ = ["DEVICES", "HOST", "Backend", "Factor", "host", "like", "named", "of", "product"]

DEVICES = ("cpu", "cuda", "auto", "torch-cpu")

Backend = Host | tensors.Tensors
Factor = on_host.Triangle | tiles.TileFactor


def of(A: Any) -> Backend:
    """Return the backend of an array: of NumPy, or a tensor of torch."""
    return HOST if isinstance(A, np.ndarray) else tensors.on(str(A.device))


def like(values: Any, A: Any) -> Any:
    """Return values where A lies and in its precision."""
    return of(A).array(values, A.dtype)


def product(A: Array, B: Array) -> Array:
    """Return ``A B`` (n, m), where A lies: 2 n d m flops, no copy of A (n, d) or B (d, m) in C or F order."""
    return of(A).product(A, B)


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
        return HOST
    return tensors.named(device) or HOST
