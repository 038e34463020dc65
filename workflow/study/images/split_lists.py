"""Lists of a split, written once where no publisher made one, and read from.

A list has one line an image, ``train <id>`` or ``test <id>``, in UTF-8. A list of one's own may take its place.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from sparcl.base.errors import DatasetError
from sparcl.base.files import write_text

SPLITS = ("train", "test")


def text(split: dict[str, str]) -> str:
    """Return the list of a split (id to ``train`` or ``test``), sorted by id."""
    return "".join(f"{split[identifier]} {identifier}\n" for identifier in sorted(split))


def sha256(split: dict[str, str]) -> str:
    """Return the hash of the list, whatever the order of its lines."""
    return hashlib.sha256(text(split).encode("utf-8")).hexdigest()


def write(path: str | Path, split: dict[str, str]) -> None:
    """Write the list, and beside it ``<name>.sha256`` in the format of sha256sum."""
    path = Path(path)
    write_text(path, text(split))
    write_text(path.with_name(f"{path.name}.sha256"), f"{sha256(split)}  {path.name}\n")


def read(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read a list.

    Raises
    ------
    DatasetError : missing, no UTF-8, a line of another form, or an image named twice
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{path}: cannot read the split list ({error}). Correct `split` of the data set."
        ) from error
    split: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line and number == len(lines):
            break
        kind, _, identifier = line.partition(" ")
        if kind not in SPLITS or not identifier or identifier in split:
            raise DatasetError(
                f"{path}, line {number}: {line!r} names no split, no image or an image named before; expected "
                "'train <id>' or 'test <id>'."
            )
        split[identifier] = kind
    return split
