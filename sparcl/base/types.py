"""Names of array types; shapes stand in docstrings."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
"""Floating-point numbers."""
