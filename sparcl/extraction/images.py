"""The images of one split, decoded one by one."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from sparcl.base.errors import DatasetError
from sparcl.extraction.storage.protocol import ArrayStorage, Storage

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".jfif")
# Images by their names that are not decoded here: of phones, cameras, and programs that draw.
FOREIGN = (
    *(".heic", ".heif", ".avif", ".jxl", ".jp2", ".ppm", ".pgm", ".tga", ".psd", ".svg"),
    *(".dng", ".cr2", ".cr3", ".nef", ".arw", ".orf", ".rw2", ".raf"),
)
# Entries that operating systems and network storage leave in folders; others of theirs begin with a dot.
SYSTEM = (
    *("thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r", "__macosx", "@eadir", "#recycle"),
    *("$recycle.bin", "system volume information", "lost+found"),
)
# Of images with these suffixes. Pillow knows more, and starts Ghostscript on PostScript by any name.
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF")
# EXIF's tag of orientation to what turns the image upright.
TURNS = {
    **{2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE"},
    **{6: "ROTATE_270", 7: "TRANSVERSE", 8: "ROTATE_90"},
}


@dataclass
class ImageSplit:
    """The images of one split.

    Attributes
    ----------
    class_names : list of K str
    ids : list of n str, unique
    files : list of n str, the name of each image in `storage`
    labels : (n,) int32 in 0..K-1
    storage : where `image` reads from
    upright : turn by EXIF, scale 16 bits to 8 and lay transparency on white; otherwise `image` is as stored, as the
        field has it for the published sets
    split_sha256 : hash of the list that splits the data set, empty where the layout itself does
    skipped : name to reason, of files that are no images of this data set
    """

    dataset: str
    split: str
    class_names: list[str]
    ids: list[str]
    files: list[str]
    labels: np.ndarray
    storage: Storage
    upright: bool = False
    split_sha256: str = ""
    skipped: dict[str, str] = field(default_factory=dict)

    def image(self, index: int) -> Image.Image:
        """Decode one image.

        Raises
        ------
        DatasetError : the file is damaged or no image
        """
        try:
            return self._decode(index)
        except Exception as error:  # Pillow's decoders raise many kinds, all with one remedy
            raise DatasetError(
                f"{self.dataset}, {self.split}: cannot decode image {self.files[index]!r} ({_reason(error)}). The copy "
                "of the data set is damaged: fetch it again; or, in a data set of your own, remove the file or set "
                "`on_bad_image: skip`."
            ) from error

    def fault(self, index: int) -> str:
        """Return why an image cannot be decoded; empty if it can."""
        try:
            self._decode(index)
        except Exception as error:
            return _reason(error)
        return ""

    def _decode(self, index: int) -> Image.Image:
        from PIL import Image, UnidentifiedImageError

        name = self.files[index]
        if isinstance(self.storage, ArrayStorage):
            return Image.fromarray(self.storage.pixels[name])
        content = self.storage.read(name)
        if not content:
            raise ValueError("the file is empty")
        try:
            image: Image.Image = Image.open(io.BytesIO(content), formats=FORMATS)
        except UnidentifiedImageError as error:  # its text has an address of this process
            raise ValueError(f"the content is none of {', '.join(FORMATS)}") from error
        image.load()
        return upright(image) if self.upright else image

    def stamps(self) -> list[tuple[int, int]]:
        """Return size and modification time of every image."""
        return [self.storage.stamp(name) for name in self.files]


def hidden(name: str) -> bool:
    """Tell whether a file, or a folder above it in the data set, is hidden or a system's own."""
    return any(part.startswith(".") or part.lower() in SYSTEM for part in name.split("/"))


def images(storage: Storage, suffixes: tuple[str, ...] = SUFFIXES) -> list[str]:
    """Return the names that end as images do, by default as those decoded here; no hidden entries or a system's own."""
    names = [name for name in storage.names() if PurePosixPath(name).suffix.lower() in suffixes]
    return [name for name in names if not hidden(name)]


def _reason(error: Exception) -> str:
    said = getattr(error, "strerror", None) or str(error)  # of the system's errors without the path
    return " ".join(said.split()) or type(error).__name__


def upright(image: Image.Image) -> Image.Image:
    """Return an image as a viewer shows it: RGB, turned by EXIF, 16 bits scaled to 8, transparency on white.

    Raises
    ------
    ValueError : pixels without a known range (floating point, 32 bits)
    """
    from PIL import Image

    # Not ImageOps.exif_transpose, which writes the other tags anew and fails where one cannot be written.
    if turn := TURNS.get(image.getexif().get(0x0112, 1)):
        image = image.transpose(Image.Transpose[turn])
    if image.mode.startswith("I"):
        values = np.asarray(image)
        if values.min() < 0 or values.max() > 65535:
            raise ValueError("pixels of more than 16 bits, of unknown range")
        image = Image.fromarray(np.round(values / 257).astype(np.uint8))
    if image.mode == "F":
        raise ValueError("floating-point pixels of unknown range")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")
