"""Where the files of a data set lie: a folder, a tar archive (fetched if need be), or arrays in memory.

An uncompressed tar is read in place: nothing is unpacked, so no member can leave its folder. A compressed one is
decompressed once into the cache, still as a tar.
"""

from __future__ import annotations

import gzip
import hashlib
import logging
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import numpy as np

from sparcl.base.errors import DatasetError
from sparcl.base.files import replacing
from sparcl.extraction.download import fetch
from sparcl.extraction.resume import locked
from sparcl.extraction.weights import cache_folder

logger = logging.getLogger(__name__)

COMPRESSED = (".tar.gz", ".tgz")
BLOCK = 1 << 22


class Source(Protocol):
    """Named files of one data set, however they are stored. Safe to read from several threads and processes.

    Attributes
    ----------
    skipped : dict, name to reason, of what is there but is no readable file
    """

    skipped: dict[str, str]

    def names(self) -> list[str]:
        """Relative POSIX names of all regular files, sorted."""

    def read(self, name: str) -> bytes:
        """Content of one file."""

    def stamp(self, name: str) -> tuple[int, int]:
        """Size and modification time, to notice a changed file."""


def open_source(dataset: str, block: dict[str, Any], root: str = "", cache: str = "") -> Source:
    """Find the files of a data set: its local folder, its local archive, else a download.

    Parameters
    ----------
    dataset : its id
    block : its block in params.yaml; `root`, `folder`, `archive`, `url` and `md5` count here
    root : folder that holds `folder` or `archive` unless the block has its own; by default $SPARCL_DATA
    cache : folder of downloads and decompressed archives, see `weights.cache_folder`

    Raises
    ------
    DatasetError : nowhere to be found (the message names every way to give the files), another file than the
        md5 says, or an unsafe archive
    """
    base = block.get("root") or root or os.environ.get("SPARCL_DATA", "")
    folder, archive, url = (block.get(key, "") for key in ("folder", "archive", "url"))
    remedy = _remedy(dataset, block)
    if base:
        place = Path(base).expanduser()
        if (place / folder).is_dir():
            return FolderSource(place / folder, block.get("class_list"))
        if archive and (place / archive).is_file():
            return _open_archive(dataset, place / archive, block, cache, remedy)
        found = (
            f"neither {place / folder} nor {place / archive}" if archive else f"no {place / folder}"
        )
        if not url:
            raise DatasetError(f"{dataset}: {found} exists. {remedy}")
    if not url:
        raise DatasetError(f"{dataset}: nothing says where its images are. {remedy}")
    path = cache_folder(cache) / "data" / archive
    if not path.is_file():
        fetch(dataset, url, block["md5"], path, remedy)
    return _open_archive(dataset, path, block, cache, remedy)


def _remedy(dataset: str, block: dict[str, Any]) -> str:
    folder, archive, url = (block.get(key, "") for key in ("folder", "archive", "url"))
    if not folder:
        return (
            f"Correct `root` of datasets.{dataset} in params.yaml: the folder that holds one folder of images a class, "
            "or train/ and test/ with one each."
        )
    ways = [f"{folder}/ (a folder)"]
    if archive:
        kind = "as published" if archive.endswith(COMPRESSED) else "an uncompressed tar"
        ways.append(f"{archive} ({kind})")
    text = (
        f"Put {' or '.join(ways)} into one folder and name that folder in the environment variable SPARCL_DATA, in "
        f"extraction.image_root or in datasets.{dataset}.root of params.yaml"
    )
    if url:
        text += (
            f"; or download {url} (md5 {block['md5']}) on a machine with network and put it there"
        )
    if block.get("features") == "bundle":
        text += f"; or use the bundled features (datasets.{dataset}.features: bundle)"
    return text + "."


def _open_archive(
    dataset: str, path: Path, block: dict[str, Any], cache: str, remedy: str
) -> TarSource:
    if "md5" in block:
        _check_md5(dataset, path, block["md5"], remedy)
    if path.name.endswith(COMPRESSED):
        path = _decompressed(path, cache)
    return TarSource(path, block["folder"])


def _check_md5(dataset: str, path: Path, expected: str, remedy: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "md5").hexdigest()
    if found != expected:
        raise DatasetError(
            f"{dataset}: {path} has md5 {found}, params.yaml states {expected}. The file is incomplete or another "
            f"version: delete it. {remedy}"
        )


def _decompressed(path: Path, cache: str) -> Path:
    """Return the archive as an uncompressed tar in the cache, named after the compressed file's size and time."""
    info = path.stat()
    key = hashlib.sha256(f"{path.resolve()} {info.st_size} {info.st_mtime_ns}".encode()).hexdigest()
    target = cache_folder(cache) / "data" / f"{path.name.split('.')[0]}-{key[:16]}.tar"
    if target.is_file():
        return target
    with locked(target.with_suffix(".lock")):
        if not target.is_file():
            logger.info("Decompressing %s into %s (once).", path, target)
            try:
                with (
                    gzip.open(path) as packed,
                    replacing(target) as temporary,
                    temporary.open("wb") as file,
                ):
                    shutil.copyfileobj(packed, file, BLOCK)
            except (OSError, EOFError, zlib.error) as error:
                raise DatasetError(
                    f"{path}: cannot be decompressed ({error}). It is truncated or damaged: fetch it again; "
                    f"or the disk of {target.parent} is full."
                ) from error
    return target


class FolderSource:
    """Files below a folder. Links to folders are followed, but never back into a folder above.

    `classes`: below train/, val/ and test/ only folders of these names are looked into (all if None).
    """

    def __init__(self, folder: Path, classes: list[str] | None = None) -> None:
        self.folder = folder
        self.skipped: dict[str, str] = {}
        self._classes = None if classes is None else set(classes)
        self._names = sorted(self._walk("", ()))

    def _walk(self, inside: str, above: tuple[tuple[int, int], ...]) -> Iterator[str]:
        info = os.stat(self.folder / inside)
        here = (*above, (info.st_dev, info.st_ino))
        with os.scandir(self.folder / inside) as entries:
            for entry in entries:
                name = f"{inside}/{entry.name}" if inside else entry.name
                if reason := self._odd(entry, here):
                    self.skipped[name.encode("utf-8", "backslashreplace").decode()] = reason
                elif entry.is_file():
                    yield name
                elif len(above) != 1 or self._classes is None or entry.name in self._classes:
                    yield from self._walk(name, here)

    def _odd(self, entry: os.DirEntry[str], here: tuple[tuple[int, int], ...]) -> str:
        """Return why an entry cannot be used, or nothing."""
        if "\n" in entry.name:
            return "a line break in its name: rename it"
        try:
            entry.name.encode("utf-8")
            info = entry.stat() if entry.is_symlink() or entry.is_dir() else None
        except UnicodeEncodeError:
            return "the name is not UTF-8: rename it"
        except OSError as error:  # to nowhere, or in a circle
            return f"a link that leads nowhere ({error.strerror})"
        if info and entry.is_dir() and (info.st_dev, info.st_ino) in here:
            return "a link into a folder above it: a loop"
        return "" if entry.is_file() or entry.is_dir() else "neither a file nor a folder"

    def names(self) -> list[str]:
        """See `Source`."""
        return self._names

    def read(self, name: str) -> bytes:
        """See `Source`."""
        path = self.folder / name
        if ".." in PurePosixPath(name).parts or not path.is_file():
            raise DatasetError(
                f"{self.folder}: file {name!r} is listed but missing; fetch the data set again."
            )
        return path.read_bytes()

    def stamp(self, name: str) -> tuple[int, int]:
        """See `Source`."""
        info = (self.folder / name).stat()
        return info.st_size, int(info.st_mtime)


class TarSource:
    """Members below one folder of an uncompressed tar archive, read where they lie.

    Raises
    ------
    DatasetError : compressed, truncated, or with a member that is a link, absolute or outside its folder
    """

    def __init__(self, archive: Path, folder: str) -> None:
        self.archive = archive
        self.skipped: dict[str, str] = {}
        self._members: dict[str, tuple[int, int, int]] = {}  # name: offset, size, mtime
        size = archive.stat().st_size
        try:
            with tarfile.open(archive, "r:") as tar:
                for member in tar:
                    self._add(member, folder, size)
        except tarfile.TarError as error:
            raise DatasetError(
                f"{archive}: not an uncompressed tar archive, or truncated ({error}). Fetch it again, or unpack "
                f"it so that {folder}/ lies beside it."
            ) from error
        self._file = os.open(archive, os.O_RDONLY)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def _add(self, member: tarfile.TarInfo, folder: str, size: int) -> None:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isreg() or member.isdir()):
            raise DatasetError(
                f"{self.archive}: member {member.name!r} is a link, a device or leads out of its folder; refused. "
                "Fetch the archive from a source you trust."
            )
        if member.isdir() or path.parts[:1] != (folder,):
            return
        name = PurePosixPath(*path.parts[1:]).as_posix()
        if (
            member.sparse is not None
            or name in self._members
            or member.offset_data + member.size > size
        ):
            raise DatasetError(
                f"{self.archive}: member {member.name!r} is sparse, twice there or longer than the archive; "
                "fetch it again."
            )
        self._members[name] = (member.offset_data, member.size, int(member.mtime))

    def names(self) -> list[str]:
        """See `Source`."""
        return sorted(self._members)

    def read(self, name: str) -> bytes:
        """See `Source`."""
        if name not in self._members:
            raise DatasetError(
                f"{self.archive}: file {name!r} is listed but missing; fetch the archive again."
            )
        offset, size, _ = self._members[name]
        return os.pread(self._file, size, offset)

    def stamp(self, name: str) -> tuple[int, int]:
        """See `Source`."""
        _, size, mtime = self._members[name]
        return size, mtime


class ArraySource:
    """Images that are arrays in memory: `pixels` maps a name to (h, w, 3) uint8."""

    def __init__(self, pixels: dict[str, np.ndarray]) -> None:
        self.pixels = pixels
        self.skipped: dict[str, str] = {}

    def names(self) -> list[str]:
        """See `Source`."""
        return sorted(self.pixels)

    def read(self, name: str) -> bytes:
        """Raw pixels of one image."""
        return self.pixels[name].tobytes()

    def stamp(self, name: str) -> tuple[int, int]:
        """Size, and a checksum in place of a time."""
        return self.pixels[name].size, zlib.crc32(np.ascontiguousarray(self.pixels[name]))
