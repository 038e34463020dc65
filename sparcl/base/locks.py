"""Locks between processes, by files; a file system that keeps none is named once and does not stop the work."""

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sparcl.base.files import unwritable

logger = logging.getLogger(__name__)

# What a shared file system answers that keeps no locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path`` while the block runs; a second process that wants it waits.

    Where the file system keeps no locks, a warning says so and the block runs without.

    Raises
    ------
    OutputError
        When the system refuses the file or the lock.
    """
    with open_locked(path):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def open_locked(path: Path) -> BinaryIO:
    """Return the file ``path``, made if missing with its folder, open for appending and locked until it is closed.

    Raises
    ------
    OutputError
        When the system refuses the file or the lock.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _locked_file(path)
    except OSError as error:
        raise unwritable(path, error, "nothing was done without this lock") from error


def _locked_file(path: Path) -> BinaryIO:
    while True:
        file = open(path, "a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.warning("Another process is at work on %s: waiting until it ends.", path)
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                file.close()
                raise
            logger.warning(
                "%s lies on a file system without locks: continuing without one. Start no second process that writes "
                "the same file.",
                path,
            )
            return file
        # The holder may have finished and removed the file meanwhile: then lock the one that has its name now.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()
