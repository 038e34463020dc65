"""The 8x8 digits inside scikit-learn's wheel."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from sparcl.extraction.readers.listing import TRAIN_SHARE, Listing, by_class, own
from sparcl.extraction.storage.protocol import Storage


class DigitsStorage:
    """The 8x8 digits inside scikit-learn's wheel, as PNG files ``<digit>/<position in the data set>.png``."""

    def __init__(self) -> None:
        from sklearn.datasets import load_digits

        digits = load_digits()
        self._pixels = {
            f"{label}/{position:04d}.png": np.round(image * (255 / 16)).astype(np.uint8)
            for position, (image, label) in enumerate(
                zip(digits.images, digits.target, strict=True)
            )
        }
        self.skipped: dict[str, str] = {}

    def names(self) -> list[str]:
        """See `Storage`."""
        return sorted(self._pixels)

    def read(self, name: str) -> bytes:
        """See `Storage`."""
        from PIL import Image

        stream = io.BytesIO()
        Image.fromarray(self._pixels[name]).save(stream, format="png")
        return stream.getvalue()

    def stamp(self, name: str) -> tuple[int, int]:
        """Return the size, and a checksum in place of a time."""
        pixels = self._pixels[name]
        return pixels.size, int(pixels.sum())


def read_digits(storage: Storage, block: dict[str, Any]) -> Listing:
    """scikit-learn's digits: of each digit the first 70% (rounded) in the order of the data set are for training."""
    classes, files = by_class(storage.names())
    train: list[tuple[str, int]] = []
    test: list[tuple[str, int]] = []
    for label, digit in enumerate(classes):
        m = round(TRAIN_SHARE * len(files[digit]))
        train += [(name, label) for name in files[digit][:m]]
        test += [(name, label) for name in files[digit][m:]]
    return own(classes, train, test)
