"""What a reader finds: classes, samples, and the files that are neither."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from sparcl.extraction.splits import SPLITS
from sparcl.extraction.storage.protocol import Storage

TRAIN_SHARE = 0.7  # of Sketchy and the digits, whose publishers split nothing
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


def images(storage: Storage) -> list[str]:
    """Return the names that end as images do, without hidden entries and a system's own."""
    return [name for name in storage.names() if _suffix(name) in SUFFIXES and not hidden(name)]


def foreign(storage: Storage) -> list[str]:
    """Return the names that end as images do which are not decoded here, such as .heic."""
    return [name for name in storage.names() if _suffix(name) in FOREIGN and not hidden(name)]


def class_folder(name: str, above: int = 0) -> str:
    """Return the class folder of ``<class>/<file>`` below ``above`` folders; ValueError for a file at another depth."""
    parts = name.split("/")
    if len(parts) != above + 2:
        raise ValueError(f"{name} does not lie in a class folder, but beside or below it")
    return parts[above]


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def by_class(names: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return sorted class names, and the files of each in the order of `names`, which are ``<class>/<file>``."""
    files = defaultdict(list)
    for name in names:
        files[class_folder(name)].append(name)
    return sorted(files), files


def own(classes: list[str], train: list[tuple[str, int]], test: list[tuple[str, int]]) -> Listing:
    """Return the listing of a layout with its own split, from (file, label) pairs; the file's name is the id."""
    pairs = {"train": train, "test": test}
    samples = [Sample(n, n, label, split) for split in SPLITS for n, label in pairs[split]]
    return Listing(classes, samples)
