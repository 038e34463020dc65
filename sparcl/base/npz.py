"""Reading npz files of this project: nothing in them runs, and no member takes more memory than it has bytes."""

import tokenize
import zipfile
import zlib
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from sparcl.base.errors import InputError

HEADER = 65_536  # bytes of a member's header, at most


def names(path: str | Path) -> list[str]:
    """Return the names of the arrays of an npz file; InputError as :func:`read_npz`."""
    with _opened(path) as archive:
        return [_name(member) for member in archive.infolist()]


def read_npz(path: str | Path, only: Container[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file that :func:`numpy.savez` wrote, by name.

    Members are stored as they are, not compressed. Before one is read, its header's shape and dtype must come to
    the number of bytes that the archive holds of it.

    Parameters
    ----------
    path : of the file
    only : names of the members to read; by default all

    Raises
    ------
    InputError
        When the file is absent, damaged, compressed, no npz, or a member is no array of numbers or bytes or claims
        another size than it has.
    """
    with _opened(path) as archive:
        return {
            _name(member): _read(archive, member)
            for member in archive.infolist()
            if only is None or _name(member) in only
        }


@contextmanager
def _opened(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """Open an npz file whose members differ in name and claim no more bytes than it has; see :func:`read_npz`."""
    if not Path(path).exists():
        raise InputError(f"{path}: no such file. Correct the path, or make the file.")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len({_name(member) for member in members}) < len(members):
                raise ValueError("a member is there twice")
            if sum(member.file_size for member in members) > Path(path).stat().st_size:
                raise ValueError("its members claim more bytes than the file has")
            yield archive
    except (
        *(OSError, EOFError, KeyError, NotImplementedError, RecursionError, RuntimeError),
        *(SyntaxError, TypeError, ValueError, tokenize.TokenError),
        *(zipfile.BadZipFile, zlib.error),
    ) as error:
        raise InputError(
            f"{path}: not an npz file of this project ({error}). It is damaged or another kind of file: "
            "correct the path, or make the file again."
        ) from error


def _name(member: zipfile.ZipInfo) -> str:
    return member.filename.removesuffix(".npy")


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    name = member.filename
    if not name.endswith(".npy") or member.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"member {name!r} is compressed or no array")
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version == (1, 0):
            shape, fortran, dtype = npy.read_array_header_1_0(file, max_header_size=HEADER)
        else:
            shape, fortran, dtype = npy.read_array_header_2_0(file, max_header_size=HEADER)
        size = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if dtype.kind not in "biufcSU" or size != member.file_size - file.tell():
            raise ValueError(
                f"member {name!r} claims {dtype} of shape {shape}, {size} bytes, and holds "
                f"{member.file_size - file.tell()}"
            )
        array = np.frombuffer(bytearray(file.read(size)), dtype=dtype)
    return array.reshape(shape, order="F" if fortran else "C")
