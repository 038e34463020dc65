"""The interface of every storage of a data set's files, and the one of images in memory."""

from __future__ import annotations

import zlib
from typing import Protocol

import numpy as np

EMPTY = "an empty folder"


def odd(name: str) -> str:
    """Return why a file of this name has no place in lists and ids, or nothing."""
    if "\n" in name:
        return "a line break in its name: rename it"
    if "\0" in name:
        return "a zero byte in its name: rename it"
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return "the name is not UTF-8: rename it"
    return ""


def printed(name: str) -> str:
    """Return a name that can be printed, whatever bytes it has."""
    return name.encode("utf-8", "backslashreplace").decode()


class Storage(Protocol):
    """Named files of one data set, however they are stored. Several threads and processes may read at once.

    Attributes
    ----------
    skipped : name to reason, of entries that are no readable files; the name of a folder ends with /
    """

    skipped: dict[str, str]

    def names(self) -> list[str]:
        """Return the relative POSIX names of all regular files, sorted."""

    def read(self, name: str) -> bytes:
        """Return the content of one file."""

    def stamp(self, name: str) -> tuple[int, int]:
        """Return size and modification time, so that a changed file is noticed."""


class ArrayStorage:
    """Images that are arrays in memory: `pixels` maps a name to (h, w, 3) or (h, w) uint8."""

    def __init__(self, pixels: dict[str, np.ndarray]) -> None:
        self.pixels = pixels
        self.skipped: dict[str, str] = {}

    def names(self) -> list[str]:
        """See `Storage`."""
        return sorted(self.pixels)

    def read(self, name: str) -> bytes:
        """Return the raw pixels of one image."""
        return self.pixels[name].tobytes()

    def stamp(self, name: str) -> tuple[int, int]:
        """Return the size, and a checksum in place of a time."""
        return self.pixels[name].size, zlib.crc32(np.ascontiguousarray(self.pixels[name]).data)
