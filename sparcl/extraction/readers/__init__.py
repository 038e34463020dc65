"""Readers turn the layout of a data set into a `Listing`, one file a layout; `READERS` names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparcl.extraction.readers.cifar import read_cifar100
from sparcl.extraction.readers.cub import read_cub
from sparcl.extraction.readers.digits import read_digits
from sparcl.extraction.readers.folders import read_any_folder, read_classes, read_folders
from sparcl.extraction.readers.grocery import read_grocery
from sparcl.extraction.readers.listing import Listing
from sparcl.extraction.readers.sketchy import read_sketchy
from sparcl.extraction.storage.protocol import Storage

READERS: dict[str, Callable[[Storage, dict[str, Any]], Listing]] = {
    "folders": read_folders,
    "classes": read_classes,
    "folder": read_any_folder,
    "cifar-100": read_cifar100,
    "cub": read_cub,
    "sketchy": read_sketchy,
    "grocery": read_grocery,
    "digits": read_digits,
}
# Those that take for a sample what a file's name says; the others follow lists.
BY_NAME = ("folders", "classes", "folder", "sketchy")
