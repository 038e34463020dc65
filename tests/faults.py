"""A disk that fails at any step: an open for writing, a folder, a rename or an fsync; or a byte too many."""

import errno
import os
import resource
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CODES = (errno.ENOSPC, errno.EROFS)


class Disk:
    """Counts the steps that change files below `folder`; from step `first` on each fails, if there is one."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.first: int | None = None
        self.steps = 0

    def change(self, path: str | bytes | os.PathLike[str]) -> None:
        """Count a step if it is one of the folder; it may fail, by turns for want of space and of permission."""
        if self.folder is None or not Path(os.path.abspath(os.fsdecode(path))).is_relative_to(
            self.folder
        ):
            return
        self.steps += 1
        if self.first is not None and self.steps > self.first:
            code = CODES[self.first % len(CODES)]
            raise OSError(code, os.strerror(code))

    def watch(self, event: str, given: tuple[Any, ...]) -> None:
        """Be told of each event, as `sys.addaudithook` has it."""
        if self.folder is None:
            return
        if event == "open":
            path, _, flags = given
            if not isinstance(path, (str, bytes)) or not (flags or 0) & WRITING:
                return
        elif event == "os.mkdir":
            path = given[0]
        elif event == "os.rename":
            path = given[1]
        else:
            return
        self.change(path)

    def fsync(self, descriptor: int) -> None:
        """Stand for `os.fsync`, without the wait."""
        self.change(os.readlink(f"/proc/self/fd/{descriptor}"))


DISK = Disk()
HOOKED: list[bool] = []  # a hook stays for good, and sleeps outside of `failing`


@contextmanager
def failing(folder: Path, first: int | None) -> Iterator[Disk]:
    """Let everything that changes files below ``folder`` fail in this block, after ``first`` such steps."""
    if not HOOKED:
        sys.addaudithook(DISK.watch)
        HOOKED.append(True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", DISK.fsync)
        DISK.folder, DISK.first, DISK.steps = folder.resolve(), first, 0
        try:
            yield DISK
        finally:
            DISK.folder = None


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Let every write beyond ``size`` bytes of a file fail in this block, in C libraries too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def each(
    folder: Path, steps: int, sizes: Iterable[int]
) -> Iterator[AbstractContextManager[object]]:
    """Yield every fault of work that takes so many steps below ``folder`` and writes files of these sizes."""
    yield from (failing(folder, first) for first in range(steps))
    yield from (no_file_above(limit) for limit in sorted({0, *(size - 1 for size in sizes)}))
