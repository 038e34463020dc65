"""What a reader finds: classes, samples, and the files that are neither."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from sparcl.extraction.splits import SPLITS
from sparcl.extraction.storage.protocol import Storage

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


class Sample(NamedTuple):
    """One image: `file` is its name in the storage; `split` is train, test, or empty where the layout has none."""

    id: str
    file: str
    label: int
    split: str


@dataclass
class Listing:
    """What a reader finds.

    Attributes
    ----------
    class_names : list of str
    samples : in the order in which features are stored
    skipped : name to reason, of files that are no images of this data set
    storage : where the images are, if not in the storage that the reader was given
    """

    class_names: list[str]
    samples: list[Sample]
    skipped: dict[str, str] = field(default_factory=dict)
    storage: Storage | None = None


def hidden(name: str) -> bool:
    """Tell whether a file, or a folder above it in the data set, is hidden or a system's own."""
    return any(part.startswith(".") or part.lower() in SYSTEM for part in name.split("/"))


def images(storage: Storage, suffixes: tuple[str, ...] = SUFFIXES) -> list[str]:
    """Return the names that end as images do, by default as those decoded here; no hidden entries or a system's own."""
    names = [name for name in storage.names() if PurePosixPath(name).suffix.lower() in suffixes]
    return [name for name in names if not hidden(name)]


def own(classes: list[str], train: list[tuple[str, int]], test: list[tuple[str, int]]) -> Listing:
    """Return the listing of a layout with its own split, from (file, label) pairs; the file's name is the id."""
    pairs = {"train": train, "test": test}
    samples = [Sample(n, n, label, split) for split in SPLITS for n, label in pairs[split]]
    return Listing(classes, samples)
