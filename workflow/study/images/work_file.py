"""The work file of an extraction: finished chunks, so that an interrupted one resumes where it stopped.

One line of JSON (the fingerprint of everything that determines the chunks), then one record a chunk: 8 bytes of
length, 32 bytes of SHA-256, the chunk. A record that a killed process left half-written does not match its hash and is
cut off. The file is locked while it is open: of two extractions of one file the second waits.

On a file system without locks two extractions may write here at once. The hash covers fingerprint, position and chunk,
so what is read ends before the first record of the other process, and each process hands on its own list `chunks`,
whatever the file has become.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sparcl.base.files import unwritable
from sparcl.base.locks import open_locked

logger = logging.getLogger(__name__)

HASH_BYTES = 32
LENGTH_BYTES = 8


class WorkFile:
    """Finished chunks of one extraction, appended in order.

    Parameters
    ----------
    path : where it lies; made if missing
    fingerprint : a file with another one is discarded, since its chunks belong to other features

    Raises
    ------
    OutputError : the system refuses to write; the chunks before stay

    Attributes
    ----------
    chunks : list of bytes, the finished chunks in order
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self.chunks: list[bytes] = []
        self._file = open_locked(path)
        self._header = (json.dumps({"fingerprint": fingerprint}) + "\n").encode()
        with self._writing():
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
        """Return the hash of the chunk that follows those in `chunks`."""
        position = len(self.chunks).to_bytes(LENGTH_BYTES, "little")
        return hashlib.sha256(self._header + position + chunk).digest()

    def append(self, chunk: bytes) -> None:
        """Add a finished chunk; from here on it survives the end of this process."""
        with self._writing():
            self._file.write(len(chunk).to_bytes(LENGTH_BYTES, "little"))
            self._file.write(self._digest(chunk))
            self._file.write(chunk)
            self._file.flush()
        self.chunks.append(chunk)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.close()
            raise unwritable(self.path, error, "finished chunks stay") from error

    def remove(self) -> None:
        """Delete the file once its chunks have reached their feature file; the lock is held until `close`."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Release the lock; what cannot be written now was refused before."""
        with suppress(OSError):
            self._file.close()
