"""Names of array types; shapes stand in docstrings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Floating-point numbers."""

Ints = NDArray[np.integer]
"""Labels, classes, rows or counts."""
