"""Images in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from sparcl.base.errors import DatasetError
from sparcl.extraction.splits import ROLES
from sparcl.extraction.storage.protocol import EMPTY, odd, printed


class FolderStorage:
    """Files below a folder. Links to folders are followed, but never back into a folder above.

    Parameters
    ----------
    folder : where the files lie
    block : the block of the data set: of a `class_list`, other classes below train/, val/ and test/ are not looked into
    """

    def __init__(self, folder: Path, block: dict[str, Any] | None = None) -> None:
        self.folder = folder
        self.skipped: dict[str, str] = {}
        block = block or {}
        self._classes = set(() if "class_depth" in block else block.get("class_list", ()))
        self._names: list[str] | None = None

    def _walk(self, inside: str, above: tuple[tuple[int, int], ...]) -> Iterator[str]:
        info = os.stat(self.folder / inside)
        here = (*above, (info.st_dev, info.st_ino))
        empty = True
        with os.scandir(self.folder / inside) as entries:
            for entry in entries:
                empty = False
                name = f"{inside}/{entry.name}" if inside else entry.name
                if reason := self._odd(entry, here):
                    self.skipped[printed(name)] = reason
                elif entry.is_file():
                    yield name
                elif (
                    entry.name in self._classes or inside.lower() not in ROLES or not self._classes
                ):
                    yield from self._walk(name, here)
        if empty and inside:
            self.skipped[f"{inside}/"] = EMPTY

    def _odd(self, entry: os.DirEntry[str], here: tuple[tuple[int, int], ...]) -> str:
        """Return why an entry cannot be used, or nothing."""
        if reason := odd(entry.name):
            return reason
        try:
            info = entry.stat() if entry.is_symlink() or entry.is_dir() else None
        except OSError as error:  # to nowhere, or in a circle
            return f"a link that leads nowhere ({error.strerror})"
        if info and entry.is_dir() and (info.st_dev, info.st_ino) in here:
            return "a link into a folder above it"
        return "" if entry.is_file() or entry.is_dir() else "neither a file nor a folder"

    def names(self) -> list[str]:
        """See `Storage`; the folder is walked once, when they are first asked for."""
        if self._names is None:
            self._names = sorted(self._walk("", ()))
        return self._names

    def read(self, name: str) -> bytes:
        """See `Storage`."""
        path = self.folder / name
        if ".." in PurePosixPath(name).parts or not path.is_file():
            raise DatasetError(
                f"{self.folder}: file {name!r} is listed but missing; fetch the data set again."
            )
        return path.read_bytes()

    def stamp(self, name: str) -> tuple[int, int]:
        """See `Storage`."""
        info = (self.folder / name).stat()
        return info.st_size, int(info.st_mtime)
