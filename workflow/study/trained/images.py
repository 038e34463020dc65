"""Decoded images, and the two views that a network gets of them: plain and augmented."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torchvision.transforms import InterpolationMode, v2

from sparcl.extraction.images import ImageSplit
from sparcl.extraction.preprocessing import preprocess

FILTERS = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}


@dataclass(frozen=True)
class Images:
    """The decoded images of one split.

    Attributes
    ----------
    pixels : n arrays (h, w, 3) uint8, of any height and width
    labels : (n,) integers in 0..classes-1
    classes : number of classes K of the data set
    """

    pixels: Sequence[NDArray[np.uint8]]
    labels: NDArray[np.integer]
    classes: int

    def __len__(self) -> int:
        return len(self.pixels)

    def subset(self, rows: NDArray[np.integer]) -> Images:
        """Return the images of some rows, in their order."""
        return Images([self.pixels[row] for row in rows], self.labels[rows], self.classes)

    def digest(self) -> str:
        """Return the sha256 of labels and pixels."""
        digest = hashlib.sha256(np.asarray(self.labels, dtype=np.int64).tobytes())
        for pixels in self.pixels:
            digest.update(np.ascontiguousarray(pixels).tobytes())
        return digest.hexdigest()


def decode(split: ImageSplit, side: int, interpolation: str = "bicubic") -> Images:
    """Decode a split once; images whose short side exceeds ``side`` pixels are shrunk to it.

    Memory: about 3 ``side``² bytes an image.

    Raises
    ------
    DatasetError
        An image cannot be decoded.
    """
    pixels = []
    for index in range(len(split.ids)):
        image = split.image(index).convert("RGB")
        scale = side / min(image.size)
        if scale < 1:
            width, height = (max(side, round(length * scale)) for length in image.size)
            image = image.resize((width, height), FILTERS[interpolation])
        pixels.append(np.array(image, dtype=np.uint8))
    return Images(pixels, split.labels.astype(np.int64), len(split.class_names))


@dataclass(frozen=True)
class View:
    """How decoded images become the network's input.

    Attributes
    ----------
    preprocessing : size (px), crop, interpolation, mean and std, as `extraction.preprocessing` describes them
    augmentation : ``resized-crop`` (a random part of the image, resized), ``random-crop`` (short side
        to ``side``, then a random square) or ``none``; the first two flip every other image
    least_area : smallest share of the image's area that ``resized-crop`` takes
    side : pixels, for ``random-crop``
    """

    preprocessing: dict[str, Any]
    augmentation: str = "resized-crop"
    least_area: float = 0.05
    side: int = 0

    @property
    def size(self) -> int:
        """Height and width of the network's input in pixels."""
        return int(self.preprocessing["size"])

    def plain(self, pixels: Sequence[NDArray[np.uint8]], device: str) -> torch.Tensor:
        """Return (b, 3, size, size) as feature extraction sees the images: resized, centre square."""
        squares = [preprocess(Image.fromarray(image), self.preprocessing) for image in pixels]
        return self._normalised(torch.from_numpy(np.stack(squares)).permute(0, 3, 1, 2).to(device))

    def augmented(
        self, pixels: Sequence[NDArray[np.uint8]], seeds: NDArray[np.integer], device: str
    ) -> torch.Tensor:
        """Return (b, 3, size, size); image i depends on its pixels and ``seeds[i]`` alone."""
        if self.augmentation == "none":
            return self.plain(pixels, device)
        views = []
        # torchvision draws from the global generator of the CPU
        with torch.random.fork_rng(devices=[]):
            for image, seed in zip(pixels, seeds, strict=True):
                torch.default_generator.manual_seed(int(seed))
                tensor = torch.from_numpy(image).to(device).permute(2, 0, 1)
                views.append(self._transform(tensor))
        return self._normalised(torch.stack(views))

    @cached_property
    def _transform(self) -> v2.Transform:
        mode = InterpolationMode(self.preprocessing["interpolation"])
        if self.augmentation == "random-crop":
            crop = [v2.Resize(self.side, mode, antialias=True), v2.RandomCrop(self.size)]
        else:
            crop = [v2.RandomResizedCrop(self.size, (self.least_area, 1.0), interpolation=mode)]
        return v2.Compose([*crop, v2.RandomHorizontalFlip()])

    def _normalised(self, batch: torch.Tensor) -> torch.Tensor:
        mean, std = (
            255 * torch.tensor(self.preprocessing[key], device=batch.device).view(3, 1, 1)
            for key in ("mean", "std")
        )
        return (batch.float() - mean) / std
