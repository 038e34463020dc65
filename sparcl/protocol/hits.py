"""Which test samples were classified correctly, as short text in a run record."""

import base64

import numpy as np
from numpy.typing import NDArray


def to_text(hits: NDArray[np.bool_]) -> str:
    """Return booleans (n,) as base64 text of n / 8 bytes."""
    return base64.b64encode(np.packbits(hits).tobytes()).decode("ascii")


def from_text(text: str, n: int) -> NDArray[np.bool_]:
    """Return the booleans (n,) that :func:`to_text` wrote."""
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8))
    return bits[:n].astype(bool)
