"""Resizing a batch on its device to the same bits as Pillow."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sparcl.extraction.preprocessing import resized

if TYPE_CHECKING:
    import torch


def enlarge(pixels: torch.Tensor, preprocessing: dict[str, Any]) -> torch.Tensor:
    """Return what `preprocess` gives, bit for bit, for a batch on its device.

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
    # Pillow resizes along rows, rounds to 8 bits, then along columns. Sums of whole numbers are exact in float64.
    batch = pixels.permute(0, 3, 1, 2).double()
    for length, target, start in ((width, wide, left), (height, high, top)):
        if length != target:
            rows = resampling(length, target, preprocessing["interpolation"])
            matrix = torch.from_numpy(rows[start : start + size]).to(batch.device)
            batch = (batch @ matrix.T + 0.5).floor_().clamp_(0, 255)
        else:
            batch = batch[..., start : start + size]
        batch = batch.transpose(2, 3)
    return batch.permute(0, 2, 3, 1).to(torch.uint8)


@cache
def resampling(length: int, target: int, interpolation: str) -> np.ndarray:
    """Return the (target, length) matrix of Pillow's 8-bit resize: antialiased, in steps of 2^-22.

    Row i holds f((j + 1/2 - c) / s) over j, normalised, with c = (i + 1/2) length / target, s = max(length / target, 1)
    and f the triangle, or the cubic with a = -1/2.
    """
    scale = length / target
    stretch = max(scale, 1.0)
    support = {"bilinear": 1.0, "bicubic": 2.0}[interpolation] * stretch
    centre = (np.arange(target) + 0.5) * scale
    first = np.maximum((centre - support + 0.5).astype(int), 0)[:, None]
    last = np.minimum((centre + support + 0.5).astype(int), length)[:, None]
    j = np.arange(length)
    x = np.abs((j + 0.5 - centre[:, None]) / stretch)
    if interpolation == "bilinear":
        weights = np.where(x < 1, 1 - x, 0)
    else:
        near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
        weights = np.where(x < 1, near, np.where(x < 2, far, 0))
    weights = np.where((first <= j) & (j < last), weights, 0)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.trunc(weights * 2**22 + np.copysign(0.5, weights)) / 2**22
