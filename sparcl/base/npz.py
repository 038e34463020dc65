"""npz files of this project: sealed when they are written, and read without running or believing anything in them."""

import hashlib
import io
import json
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, NDArray

from sparcl.base.errors import InputError
from sparcl.base.files import replacing

SEAL = "seal"  # the member with the sha256 of every other
HEADER = 65_536  # bytes of a member's header, at most
PART = 1 << 20  # bytes that are read at once


def write_npz(path: str | Path, arrays: Mapping[str, ArrayLike]) -> None:
    """Write arrays and texts as an npz file with a seal, whole or not at all; equal content gives equal bytes.

    :func:`numpy.load` reads it too.  The seal holds the sha256 of each member: it finds what was changed by hand or
    by accident, and does not name its author.
    """
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        seals = {name: _write(archive, name, array) for name, array in arrays.items()}
        _write(archive, SEAL, json.dumps(seals, sort_keys=True))


def names(path: str | Path) -> list[str]:
    """Return the names of the arrays of an npz file; InputError as :func:`read_npz`, but for the seal."""
    with _opened(path) as archive:
        return [name for member in archive.infolist() if (name := _name(member)) != SEAL]


def read_npz(path: str | Path, only: Container[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file that :func:`write_npz` wrote, by name.

    Members are stored as they are, not compressed. A member's header must claim the number of bytes that the archive
    holds of it, and the seal must hold their hash.

    Parameters
    ----------
    path : of the file
    only : names of the members to read; by default all

    Raises
    ------
    InputError
        When the file is absent, damaged, compressed, no npz, has no seal or was changed after it was written, or a
        member is no array of numbers or bytes or claims another size than it has.
    """
    with _opened(path) as archive:
        members = {_name(member): member for member in archive.infolist()}
        if SEAL not in members:
            raise InputError(
                f"{path}: has no seal. Usual cause: another tool wrote it, or this project before its files were "
                "sealed. Make the file again with the command that made it."
            )
        seals = json.loads(str(_read(archive, members.pop(SEAL))[0]))
        if not isinstance(seals, dict) or seals.keys() != members.keys():
            raise _changed(path, "its members are not those that were written")
        arrays = {}
        for name, member in members.items():
            if only is None or name in only:
                arrays[name], found = _read(archive, member)
                if seals[name] != found:
                    raise _changed(path, f"member {name!r} does not fit its seal")
        return arrays


def _changed(path: str | Path, what: str) -> InputError:
    return InputError(
        f"{path}: not as this project wrote it: {what}. Usual cause: the file was changed by hand. Make the file again."
    )


class _Hashing:
    """A file that is written, and the hash of what was."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.hash = file, hashlib.sha256()

    def write(self, part: bytes) -> int:
        """Write, as :meth:`io.RawIOBase.write`."""
        self.hash.update(part)
        return self.file.write(part)


def _write(archive: zipfile.ZipFile, name: str, array: ArrayLike) -> str:
    """Write one member as :func:`numpy.savez` does, and return its sha256."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        hashing = _Hashing(file)
        npy.write_array(hashing, np.asanyarray(array), allow_pickle=False)
    return hashing.hash.hexdigest()


def header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, whether columns come first, and dtype of an npy file; ValueError and others for what is none."""
    version = npy.read_magic(file)
    if version == (1, 0):
        return npy.read_array_header_1_0(file, max_header_size=HEADER)
    return npy.read_array_header_2_0(file, max_header_size=HEADER)


def check_letters(array: NDArray[Any]) -> None:
    """Raise ValueError for text with numbers that no letter has: numpy fails on it in ways of its own."""
    if array.dtype.kind == "U":
        numbers = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
        if np.ascontiguousarray(array).view(numbers).max(initial=0) > sys.maxunicode:
            raise ValueError("text with numbers that no letter has")


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


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[NDArray[Any], str]:
    """Return the array of a member, in the memory that its bytes are read into, and their sha256."""
    name = member.filename
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"member {name!r} is compressed")
    content, digest, filled = bytearray(member.file_size), hashlib.sha256(), 0
    with archive.open(member) as file:
        while part := file.read(PART):
            digest.update(part)
            content[filled : filled + len(part)] = part
            filled += len(part)
    head = io.BytesIO(content[: HEADER + 16])
    shape, fortran, dtype = header(head)
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if dtype.kind not in "biufcSU" or size != filled - head.tell():
        raise ValueError(
            f"member {name!r} claims {dtype} of shape {shape}, {size} bytes, and holds {filled - head.tell()}"
        )
    array = np.frombuffer(content, dtype=dtype, offset=head.tell())
    check_letters(array)
    return array.reshape(shape, order="F" if fortran else "C"), digest.hexdigest()
