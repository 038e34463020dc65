"""Colours as eyes tell them apart: contrast (WCAG 2) and distance in CIELAB, with red cones too."""

from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
EYES = {
    "common": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}  # fmt: skip
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip


def linear(color: Any) -> np.ndarray:
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(color: Any, eyes: str = "common") -> np.ndarray:
    seen = np.clip(EYES[eyes] @ linear(color), 0, 1)
    xyz = TO_XYZ @ seen / (TO_XYZ @ np.ones(3))
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: Any, other: Any, eyes: str = "common") -> float:
    return float(np.linalg.norm(lab(one, eyes) - lab(other, eyes)))


def contrast(color: Any, ground: Any = "white") -> float:
    light = [float(TO_XYZ[1] @ linear(c)) + 0.05 for c in (color, ground)]
    return max(light) / min(light)
