"""Arrays, on the host or elsewhere, and names of their types; shapes stand in docstrings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Floating-point numbers."""

Ints = NDArray[np.integer]
"""Labels, classes, rows or counts."""


def is_array(value: Any) -> bool:
    """Return whether ``value`` is an array of NumPy or of torch."""
    return hasattr(value, "__dlpack__")


def host(value: Any) -> Array:
    """Return an array as NumPy's, in the host's memory; one that lies there already is not copied."""
    if isinstance(value, np.ndarray):
        return value
    return np.asarray(value.cpu() if hasattr(value, "cpu") else value)
