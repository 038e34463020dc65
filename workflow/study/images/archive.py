"""Images in a tar archive.

An uncompressed tar is read in place: nothing is unpacked, so no member can leave its folder. A compressed one is
decompressed once into the cache, still as a tar.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import logging
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from sparcl.base.errors import DatasetError
from sparcl.base.files import replacing
from sparcl.base.locks import locked
from sparcl.extraction.storage.protocol import EMPTY, odd, printed
from sparcl.extraction.weights import cache_folder

logger = logging.getLogger(__name__)

COMPRESSED = (".tar.gz", ".tgz")
BLOCK = 1 << 22
# Bytes that a compressed archive may unpack to: so many for each of its own, or as many as do no harm.
RATIO, SMALL = 64, 1 << 26
LONGEST = 1 << 20  # bytes of a header


def open_archive(path: Path, folder: str, cache: str) -> TarStorage:
    """Open a tar archive, which is decompressed into the cache (`weights.cache_folder`) where it has to be.

    Raises
    ------
    DatasetError : damaged, or an unsafe member
    """
    if not path.name.lower().endswith(COMPRESSED):
        return TarStorage(path, folder)
    unpacked = _decompressed(path, cache)
    try:
        return TarStorage(unpacked, folder)
    except DatasetError as error:
        unpacked.unlink(missing_ok=True)
        raise DatasetError(f"{path}, decompressed: {error}") from error


def _decompressed(path: Path, cache: str) -> Path:
    """Return the uncompressed tar in the cache, whose name hashes path, size and time of the compressed file."""
    info = path.stat()
    key = hashlib.sha256(f"{path.resolve()} {info.st_size} {info.st_mtime_ns}".encode()).hexdigest()
    target = cache_folder(cache) / "data" / f"{path.name.split('.')[0]}-{key[:16]}.tar"
    with locked(target.with_suffix(".lock")):
        if not target.is_file():
            logger.info("Decompressing %s into %s (once).", path, target)
            with replacing(target) as temporary, temporary.open("wb") as file:
                for block in _blocks(path, max(SMALL, RATIO * info.st_size)):
                    file.write(block)
    return target


def _blocks(path: Path, most: int) -> Iterator[bytes]:
    """Yield the content of a compressed file; DatasetError where it is damaged or has more bytes than `most`."""
    total = 0
    try:
        with gzip.open(path) as packed:
            while block := packed.read(BLOCK):
                total += len(block)
                if total > most:
                    raise OSError(f"it unpacks to more than {most} bytes")
                yield block
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(
            f"{path}: cannot be decompressed ({error}); nothing is kept. It is truncated or damaged: fetch it again. "
            "If it is as large as that, decompress it yourself, and name the tar as `archive`."
        ) from error


class _Headers(io.FileIO):
    """An archive for :mod:`tarfile`, which reads headers alone, and would reserve any length that one claims."""

    def read(self, size: int | None = -1) -> bytes:
        """Read; TarError for more than a header is ever long."""
        if size is None or not 0 <= size <= LONGEST:
            raise tarfile.ReadError(f"a header of {size} bytes")
        return super().read(size)


class TarStorage:
    """Members below one folder of an uncompressed tar archive, read where they lie.

    Raises
    ------
    DatasetError : compressed, truncated, or with a member that is a link, absolute or outside its folder
    """

    def __init__(self, archive: Path, folder: str) -> None:
        self.archive = archive
        self.skipped: dict[str, str] = {}
        self._members: dict[str, tuple[int, int, int]] = {}  # name: offset, size, mtime
        self._folders: set[str] = set()
        try:
            with _Headers(archive) as file, tarfile.open(fileobj=file, mode="r:") as tar:
                for member in tar:
                    self._add(member, folder)
        except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
            raise DatasetError(
                f"{archive}: not an uncompressed tar archive, or truncated ({error}). Fetch it again, or unpack "
                f"it so that {folder}/ lies beside it."
            ) from error
        if not self._members:
            raise DatasetError(
                f"{archive}: it has no file below {folder}/. Correct `folder` of the data set's block."
            )
        filled = {str(parent) for name in self._members for parent in PurePosixPath(name).parents}
        self.skipped |= {f"{name}/": EMPTY for name in self._folders - filled}
        self._file = os.open(archive, os.O_RDONLY)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def _add(self, member: tarfile.TarInfo, folder: str) -> None:
        # That no member is longer than the archive, tarfile sees itself; a size below zero leads it back.
        if member.size < 0:
            raise DatasetError(
                f"{self.archive}: member {member.name!r} has a size below zero; fetch it again."
            )
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isreg() or member.isdir()):
            raise DatasetError(
                f"{self.archive}: member {member.name!r} is a link, a device or leads out of its folder; refused. "
                "Fetch the archive from a source you trust."
            )
        if path.parts[:1] != (folder,):
            return
        name = PurePosixPath(*path.parts[1:]).as_posix()
        if reason := odd(name):
            self.skipped[printed(name)] = reason
            return
        if member.isdir():
            self._folders.add(name)
            return
        if member.sparse is not None or name in self._members:
            raise DatasetError(
                f"{self.archive}: member {member.name!r} is sparse or occurs twice; fetch it again."
            )
        self._members[name] = (member.offset_data, member.size, int(member.mtime))

    def names(self) -> list[str]:
        """See `Storage`."""
        return sorted(self._members)

    def read(self, name: str) -> bytes:
        """See `Storage`."""
        if name not in self._members:
            raise DatasetError(
                f"{self.archive}: file {name!r} is listed but missing; fetch the archive again."
            )
        offset, size, _ = self._members[name]
        return os.pread(self._file, size, offset)

    def stamp(self, name: str) -> tuple[int, int]:
        """See `Storage`."""
        _, size, mtime = self._members[name]
        return size, mtime
