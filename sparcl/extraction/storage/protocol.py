"""What every storage of a data set's files offers."""

from __future__ import annotations

from typing import Protocol

EMPTY = "an empty folder"


def odd(name: str) -> str:
    """Return why a file of this name has no place in lists and ids, or nothing."""
    if "\n" in name:
        return "a line break in its name: rename it"
    if "\0" in name:
        return "a zero byte in its name: rename it"
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return "the name is not UTF-8: rename it"
    return ""


def printed(name: str) -> str:
    """Return a name that can be printed, whatever bytes it has."""
    return name.encode("utf-8", "backslashreplace").decode()


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
