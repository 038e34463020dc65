"""From an image, or from a batch on its device, to the pixels that a backbone takes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch
    from PIL import Image

THIN = 64  # times as long as wide: of such an image only the square that is kept is made


def preprocess(image: Image.Image, preprocessing: dict[str, Any]) -> np.ndarray:
    """Resize the short side to floor(size / crop) and cut the centre square.

    Parameters
    ----------
    image : any mode; converted to RGB
    preprocessing : size (px), crop (fraction of the short side), interpolation (bicubic or bilinear), mean and std (of
        [0, 1] RGB; used by the network)

    Returns
    -------
    (size, size, 3) uint8
    """
    import torch
    from PIL import Image

    size = preprocessing["size"]
    image = image.convert("RGB")
    width, height, left, top = resized(*image.size, preprocessing)
    if (width, height) != image.size:
        if max(width, height) > THIN * min(width, height):
            return enlarge(torch.from_numpy(np.array(image))[None], preprocessing)[0].numpy()
        image = image.resize(
            (width, height), Image.Resampling[preprocessing["interpolation"].upper()]
        )
    return np.array(image.crop((left, top, left + size, top + size)), dtype=np.uint8)


def resized(width: int, height: int, preprocessing: dict[str, Any]) -> tuple[int, int, int, int]:
    """Return width and height of a resized image, and left and top of its centre square, in px."""
    size = preprocessing["size"]
    short = int(size / preprocessing["crop"])
    scale = short / min(width, height)
    width, height = (max(short, round(side * scale)) for side in (width, height))
    return width, height, (width - size) // 2, (height - size) // 2


def enlarge(pixels: torch.Tensor, preprocessing: dict[str, Any]) -> torch.Tensor:
    """Return what `preprocess` gives, for a batch on its device; bit for bit where images grow.

    Parameters
    ----------
    pixels : (b, h, w, 3) uint8; returned as they are if h = w = size

    Returns
    -------
    (b, size, size, 3) uint8
    """
    import torch

    size = preprocessing["size"]
    height, width = pixels.shape[1:3]
    if (height, width) == (size, size):
        return pixels
    wide, high, left, top = resized(width, height, preprocessing)
    sides = ((width, wide, left), (height, high, top))
    (x, across), (y, down) = (
        resampling(*side, size, preprocessing["interpolation"]) for side in sides
    )
    batch = pixels[:, y : y + down.shape[1], x : x + across.shape[1]].permute(0, 3, 1, 2).double()
    # Pillow resizes along rows, rounds to 8 bits, then along columns. Sums of whole numbers are exact in float64.
    for rows in (across, down):
        matrix = torch.from_numpy(rows).to(batch.device)
        batch = (batch @ matrix.T + 0.5).floor_().clamp_(0, 255).transpose(2, 3)
    return batch.permute(0, 2, 3, 1).to(torch.uint8)


@lru_cache(maxsize=64)
def resampling(
    length: int, target: int, start: int, count: int, interpolation: str
) -> tuple[int, np.ndarray]:
    """Return `count` rows, from `start`, of the (target, length) matrix of Pillow's 8-bit resize, in steps of 2^-22.

    Row i holds f((j + 1/2 - c) / s) over j, normalised, with c = (i + 1/2) length / target, s = max(length / target, 1)
    (which smoothes where an image shrinks), and f the triangle, or the cubic with a = -1/2. For length = target it is
    a row of the identity.

    Returns
    -------
    position of the first column that is not zero, and the (count, m) matrix from there on
    """
    scale = length / target
    stretch = max(scale, 1.0)
    support = {"bilinear": 1.0, "bicubic": 2.0}[interpolation] * stretch
    centre = (np.arange(start, start + count) + 0.5) * scale
    first = np.maximum((centre - support + 0.5).astype(int), 0)[:, None]
    last = np.minimum((centre + support + 0.5).astype(int), length)[:, None]
    j = np.arange(first[0, 0], last[-1, 0])
    x = np.abs((j + 0.5 - centre[:, None]) / stretch)
    if interpolation == "bilinear":
        weights = np.where(x < 1, 1 - x, 0)
    else:
        near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
        weights = np.where(x < 1, near, np.where(x < 2, far, 0))
    weights = np.where((first <= j) & (j < last), weights, 0)
    weights /= weights.sum(axis=1, keepdims=True)
    return int(first[0, 0]), np.trunc(weights * 2**22 + np.copysign(0.5, weights)) / 2**22
