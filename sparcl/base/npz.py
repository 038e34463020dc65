"""Reading npz files of this project: nothing in them runs, and no member takes more memory than it has bytes."""

import tokenize
import zipfile
import zlib
from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from sparcl.base.errors import InputError

HEADER = 65_536  # bytes of a member's header, at most


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
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            names = [member.filename.removesuffix(".npy") for member in members]
            if len(set(names)) < len(names):
                raise ValueError("a member is there twice")
            if sum(member.file_size for member in members) > Path(path).stat().st_size:
                raise ValueError("its members claim more bytes than the file has")
            chosen = [only is None or name in only for name in names]
            return {
                name: _read(archive, member)
                for name, member, wanted in zip(names, members, chosen, strict=True)
                if wanted
            }
    except (
        *(OSError, EOFError, KeyError, NotImplementedError, RecursionError, RuntimeError),
        *(SyntaxError, TypeError, ValueError, tokenize.TokenError),
        *(zipfile.BadZipFile, zlib.error),
    ) as error:
        raise InputError(
            f"{path}: not an npz file of this project ({error}). It is absent, damaged or another kind of file: "
            "correct the path, or make the file again."
        ) from error


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
