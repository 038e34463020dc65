"""Files of a figure: a PDF for print, a PNG of 256 colours, an SVG for pages."""

from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from figures import style
from figures.vector import svg
from sparcl.base.errors import ConfigError
from sparcl.base.files import replacing


def save(figure: Figure, *paths: str | Path) -> None:
    """Write a figure as ``.pdf``, ``.svg`` or ``.png``, else ConfigError; equal figures give equal bytes."""
    for path in map(Path, paths):
        if path.suffix not in (".pdf", ".svg", ".png"):
            raise ConfigError(
                f"{path}: figures are written as .pdf, .svg and .png. Correct the name."
            )
        # Without dates and version numbers, files that show the same thing are equal.
        nothing = {"Creator": None, "Producer": None, "CreationDate": None}
        with style.settings(), replacing(path) as temporary:
            if path.suffix == ".pdf":
                figure.savefig(temporary, format="pdf", metadata=nothing)
                continue
            if path.suffix == ".svg":
                temporary.write_text(svg(figure), encoding="utf-8")
                continue
            drawn = BytesIO()
            figure.savefig(drawn, format="png")
            indexed(np.asarray(Image.open(drawn).convert("RGB"))).save(
                temporary, "PNG", optimize=True, dpi=(style.SETTINGS["savefig.dpi"],) * 2
            )


def indexed(pixels: np.ndarray) -> Image.Image:
    """Return an image of 256 colours, each the most frequent of its neighbours; every pixel takes the nearest.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 3)
    """
    packed = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], dtype=np.uint32)
    values, where, counts = np.unique(packed, return_inverse=True, return_counts=True)
    colors = np.stack([values >> 16 & 255, values >> 8 & 255, values & 255], axis=1).astype(float)
    order = np.argsort(-counts, kind="stable")
    # of colours that agree in five bits per channel the first: a colour bar keeps its steps
    leaders = np.sort(np.unique((values & 0xF8F8F8)[order], return_index=True)[1])
    kept = colors[order[leaders[:256]]]
    gaps = (colors**2).sum(1)[:, None] - 2 * colors @ kept.T + (kept**2).sum(1)
    image = Image.fromarray(gaps.argmin(1).astype(np.uint8)[where].reshape(packed.shape))
    image.putpalette(kept.astype(np.uint8).tobytes())
    return image
