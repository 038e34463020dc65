"""The work file of an extraction: finished chunks, so that an interrupted one resumes where it stopped.

One record a chunk: 8 bytes of length, 32 bytes of SHA-256, the chunk. The hash covers the fingerprint of everything
that determines the chunks, the chunk's position and the chunk. Records that do not match are cut off: one that a killed
process left half-written, or those of another extraction. The file is locked while it is open: of two extractions of
one file the second waits.

On a file system without locks two extractions may write here at once. Reading ends before the first record of the
other process, and each process hands on its own list `chunks`, whatever the file has become.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sparcl.base.files import unwritable
from sparcl.base.locks import open_locked

HASH_BYTES = 32
LENGTH_BYTES = 8


class WorkFile:
    """Finished chunks of one extraction, appended in order.

    Parameters
    ----------
    path : where it lies; made if missing
    fingerprint : chunks with another one are discarded, since they belong to other features

    Raises
    ------
    OutputError : the system refuses to write; the chunks before stay

    Attributes
    ----------
    chunks : list of bytes, the finished chunks in order
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path, self.fingerprint = path, fingerprint.encode()
        self.chunks: list[bytes] = []
        self._file = open_locked(path)
        with self._writing():
            self._file.truncate(self._read())

    def _read(self) -> int:
        """Take over the chunks of the file, and return where they end."""
        self._file.seek(0)
        end, size = 0, os.fstat(self._file.fileno()).st_size
        while length := int.from_bytes(self._file.read(LENGTH_BYTES), "little"):
            digest, chunk = self._file.read(HASH_BYTES), self._file.read(min(length, size))
            if self._digest(chunk) != digest:
                break
            self.chunks.append(chunk)
            end = self._file.tell()
        return end

    def _digest(self, chunk: bytes) -> bytes:
        """Return the hash of the chunk that follows those in `chunks`."""
        position = len(self.chunks).to_bytes(LENGTH_BYTES, "little")
        return hashlib.sha256(self.fingerprint + position + chunk).digest()

    def append(self, chunk: bytes) -> None:
        """Add a finished chunk; from here on it survives the end of this process."""
        with self._writing():
            length = len(chunk).to_bytes(LENGTH_BYTES, "little")
            self._file.write(length + self._digest(chunk) + chunk)
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
