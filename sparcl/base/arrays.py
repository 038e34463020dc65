"""Arrays that may lie on another device than the host."""

from typing import Any

import numpy as np

from sparcl.base.types import Array


def is_array(value: Any) -> bool:
    """Return whether ``value`` is an array of any namespace, NumPy's or another."""
    return hasattr(value, "__dlpack__")


def host(value: Any) -> Array:
    """Return an array as NumPy's, in the host's memory; one that lies there already is not copied."""
    if isinstance(value, np.ndarray):
        return value
    return np.asarray(value.cpu() if hasattr(value, "cpu") else value)
