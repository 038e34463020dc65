"""What every storage of a data set's files offers."""

from __future__ import annotations

from typing import Protocol

EMPTY = "an empty folder"


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
