"""Locks between processes that work on one file."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

logger = logging.getLogger(__name__)

# Answers of a shared file system that has no locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock while the block runs: a second process that wants it waits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_locked(path):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def open_locked(path: Path) -> BinaryIO:
    """Open a file to read and append, made if missing, and wait for its lock until it is closed."""
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
        # The holder may have removed the file meanwhile: then lock the one that has its name now.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()
