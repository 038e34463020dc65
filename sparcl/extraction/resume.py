"""The work file of an extraction: finished chunks, so that an interrupted one goes on where it stopped.

One line of JSON (the fingerprint of everything that determines the chunks), then records of equal kind:
8 bytes of length, 32 bytes of SHA-256, the chunk. A record that a killed process left half-written does not match
its hash and is cut off. The file is locked while it is open: of two extractions of one file the second waits.

Where a file system shared by several machines keeps no locks, two extractions may write here at once. The hash is one
of fingerprint, position and chunk: a record that the other one put in between ends what is trusted, and what a
process hands on is its own list `chunks`, never what the file has become.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

logger = logging.getLogger(__name__)

HASH_BYTES = 32
LENGTH_BYTES = 8
# What a shared file system answers that keeps no locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class WorkFile:
    """Finished chunks of one extraction, appended in order.

    Parameters
    ----------
    path : where it lies; made if missing
    fingerprint : a file with another one is discarded, its chunks belong to other features

    Attributes
    ----------
    chunks : list of bytes, the finished chunks in order
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self.chunks: list[bytes] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = _open_locked(path)
        self._header = (json.dumps({"fingerprint": fingerprint}) + "\n").encode()
        self._load()

    def _load(self) -> None:
        self._file.seek(0)
        found = self._file.readline(4096)
        if found == self._header:
            end = self._file.tell()
            while (chunk := self._next()) is not None:
                self.chunks.append(chunk)
                end = self._file.tell()
            self._file.seek(end)
            self._file.truncate()
            return
        if found:
            logger.info(
                "%s belongs to other images, weights or settings: discarded.", self.path.name
            )
        self._file.seek(0)
        self._file.truncate()
        self._file.write(self._header)
        self._file.flush()

    def _next(self) -> bytes | None:
        length = int.from_bytes(self._file.read(LENGTH_BYTES), "little")
        remaining = os.fstat(self._file.fileno()).st_size - self._file.tell()
        if length == 0 or length + HASH_BYTES > remaining:
            return None
        digest, chunk = self._file.read(HASH_BYTES), self._file.read(length)
        return chunk if self._digest(chunk) == digest else None

    def _digest(self, chunk: bytes) -> bytes:
        """Hash of a chunk that comes behind those in `chunks`."""
        position = len(self.chunks).to_bytes(LENGTH_BYTES, "little")
        return hashlib.sha256(self._header + position + chunk).digest()

    def append(self, chunk: bytes) -> None:
        """Add a finished chunk; it survives the end of this process from here on."""
        self._file.write(len(chunk).to_bytes(LENGTH_BYTES, "little"))
        self._file.write(self._digest(chunk))
        self._file.write(chunk)
        self._file.flush()
        self.chunks.append(chunk)

    def close(self, remove: bool) -> None:
        """Release the lock; remove the file when its chunks have reached their feature file."""
        if remove:
            self.path.unlink(missing_ok=True)
        self._file.close()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock while the block runs: of two processes that fetch one file the second waits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _open_locked(path):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _open_locked(path: Path) -> BinaryIO:
    while True:
        file = open(path, "a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.warning("Another process is at work on %s: waiting until it ends.", path)
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            logger.warning("%s lies on a file system without locks: going on without one.", path)
            return file
        # The holder may have finished and removed the file meanwhile: then lock the one that has its name now.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()
