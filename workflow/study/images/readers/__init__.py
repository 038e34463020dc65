"""Readers turn the layout of a data set into a `Listing`; `READERS` names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparcl.extraction.storage.protocol import Storage
from study.images.readers.cifar import read_cifar100
from study.images.readers.folders import read_classes, read_folder
from study.images.readers.listing import Listing
from study.images.readers.published import read_cub, read_digits, read_grocery, read_sketchy

READERS: dict[str, Callable[[Storage, dict[str, Any]], Listing]] = {
    "folders": read_folder,
    "classes": read_classes,
    "folder": read_folder,
    "cifar-100": read_cifar100,
    "cub": read_cub,
    "sketchy": read_sketchy,
    "grocery": read_grocery,
    "digits": read_digits,
}
# Those that take for a sample what a file's name says; the others follow lists.
BY_NAME = ("folders", "classes", "folder", "sketchy")
