"""The images of a split in batches of equal size, decoded and preprocessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sparcl.base.errors import DatasetError
from sparcl.extraction.backbones import Backbone
from sparcl.extraction.images import ImageSplit
from sparcl.extraction.preprocessing import preprocess

if TYPE_CHECKING:
    from PIL import Image


@dataclass
class Batches:
    """The images of one split in batches of equal size; the last batch is filled up with its last image.

    Attributes
    ----------
    firsts : position of the first image of each batch
    tolerant : an image that cannot be decoded becomes black, and `load` names it; otherwise it is an error
    small : hand out images unresized where all of a batch have one size, no larger than the network's
    """

    images: ImageSplit
    network: Backbone
    firsts: range
    batch_size: int
    tolerant: bool = False
    small: bool = False

    def load(self, first: int) -> tuple[np.ndarray, list[int]]:
        """Return pixels (batch_size, h, w, 3) uint8, and the positions of those that could not be decoded.

        Raises
        ------
        DatasetError : an image cannot be decoded, and `tolerant` is off
        """
        size = self.network.preprocessing["size"]
        found: list[Image.Image | None] = []
        bad: list[int] = []
        for position, index in enumerate(range(first, first + self.used(first))):
            try:
                found.append(self.images.image(index))
            except DatasetError:
                if not self.tolerant:
                    raise
                bad.append(position)
                found.append(None)
        sizes = {image.size for image in found if image is not None}
        if self.small and len(sizes) == 1 and max(next(iter(sizes))) <= size:
            width, height = sizes.pop()
            black = np.zeros((height, width, 3), dtype=np.uint8)
            pixels = [black if i is None else np.asarray(i.convert("RGB")) for i in found]
        else:
            black = np.zeros((size, size, 3), dtype=np.uint8)
            pixels = [
                black if i is None else preprocess(i, self.network.preprocessing) for i in found
            ]
        return np.stack(pixels + [pixels[-1]] * (self.batch_size - len(pixels))), bad

    def used(self, first: int) -> int:
        """Return the images of a batch, without those that fill it up."""
        return min(self.batch_size, len(self.images.ids) - first)

    # The data loader's interface. An error travels as text, since it would lose its class between processes.

    def __len__(self) -> int:
        return len(self.firsts)

    def __getitem__(self, number: int) -> tuple[np.ndarray, list[int], int, str]:
        first = self.firsts[number]
        try:
            return *self.load(first), self.used(first), ""
        except DatasetError as error:
            return np.zeros(0), [], 0, str(error)
