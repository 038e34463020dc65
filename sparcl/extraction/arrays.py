"""Arrays in files of other tools: npy, npz, pt, safetensors, csv and parquet. No file can run code.

A file with several arrays or columns holds the wanted one under its name: ``features``, ``labels`` or ``ids``.
"""

from __future__ import annotations

import math
import pickle
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base import npz
from sparcl.base.errors import InputError
from sparcl.features.layout import FEATURE_DTYPES, Stream

BLOCK = 1 << 24  # bytes of a block
DEFLATED = 1032  # bytes, at most, that a compressed byte of a zip file stands for
# What readers raise for a file that is damaged or of another kind.
UNREADABLE = (
    *(OSError, ValueError, TypeError, KeyError, EOFError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError, pickle.UnpicklingError),
)


def read(path: Path, name: str) -> np.ndarray:
    """Return an array of a file; that of an npy file is a memory map.

    Parameters
    ----------
    path : its suffix names the kind of file, one of `READERS`
    name : ``features`` (n, d), ``labels`` (n,) or ``ids`` (n,)

    Raises
    ------
    InputError : missing, of an unknown or damaged kind, holds objects, or several arrays and none of this name
    """
    if path.suffix not in READERS:
        raise InputError(
            f"{path}: files ending in {path.suffix!r} are unknown. Save the {name} as one of {', '.join(READERS)}."
        )
    if not path.is_file():
        raise InputError(f"{path}: no such file of {name}. Correct the path.")
    try:
        array = READERS[path.suffix](path, name)
        npz.check_letters(array)
    except UNREADABLE as error:
        raise InputError(
            f"{path}: cannot be read as {path.suffix[1:]} ({error}). It is damaged, of another kind, or holds objects: "
            "save plain numbers or text, without pickle."
        ) from error
    dimensions = 2 if name == "features" else 1
    if array.ndim != dimensions:
        expected = "(n, d), a row a sample" if dimensions == 2 else "(n,), one a sample"
        raise InputError(f"{path}: {name} have shape {array.shape}, expected {expected}. Reshape.")
    if array.dtype.kind not in "iufUS":
        raise InputError(
            f"{path}: {name} are {array.dtype}, and may be numbers or text. Save them as such, without gaps."
        )
    return array


def stream(path: Path, float32: bool = False) -> Stream:
    """Return the features of a file as finite rows of float16 or float32.

    An npy file is read block by block, others are in memory.

    Parameters
    ----------
    path : see `read`
    float32 : store numbers of another type as float32

    Raises
    ------
    InputError : as `read`; an empty array, numbers of another type, or a row that is not finite
    """
    array = read(path, "features")
    shape, dtype = array.shape, array.dtype.newbyteorder("=")
    if 0 in shape:
        raise InputError(
            f"{path}: features have shape {shape}, and so no numbers. Name a full file."
        )
    if dtype.name not in FEATURE_DTYPES:
        if dtype.kind not in "iuf" or not float32:
            raise InputError(
                f"{path}: features are {dtype}, and feature files hold {' or '.join(FEATURE_DTYPES)}. Add --float32 to "
                "round numbers to float32, or save another type."
            )
        dtype = np.dtype(np.float32)

    def blocks() -> Iterator[np.ndarray]:
        rows = max(1, BLOCK // (shape[1] * dtype.itemsize))
        for first in range(0, shape[0], rows):
            # A map that is opened again gives the pages of earlier blocks back.
            whole = read(path, "features") if path.suffix == ".npy" else array
            with np.errstate(over="ignore"):
                yield np.ascontiguousarray(whole[first : first + rows], dtype=dtype)

    first = 0
    for block in blocks():
        finite = np.isfinite(block).all(axis=1)
        if not finite.all():
            raise InputError(
                f"{path}: features of row {first + int(np.argmin(finite))} (the first is 0) are NaN, infinite or too "
                f"large for {dtype}. Usual cause: a gap in the table, or half precision that overflows at 65504. "
                "Correct the row or leave it out."
            )
        first += len(block)
    return Stream(shape, dtype, blocks)


def _npy(path: Path, name: str) -> np.ndarray:
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _npz(path: Path, name: str) -> np.ndarray:
    with np.load(path, allow_pickle=False) as file:
        chosen = _chosen(path, file.files, name)
        members = {member.filename.removesuffix(".npy"): member for member in file.zip.infolist()}
        member = members[chosen]
        with file.zip.open(member) as content:
            shape, _, dtype = npz.header(content)
            claimed = math.prod(shape) * dtype.itemsize + content.tell()
        most = DEFLATED * min(member.compress_size, path.stat().st_size)
        # numpy reserves what the header claims, before it has read a byte
        if claimed != member.file_size or claimed > most:
            raise ValueError(f"{chosen!r} claims {claimed} bytes, and the file has others")
        return file[chosen]


def _pt(path: Path, name: str) -> np.ndarray:
    torch = _needed("torch", path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a damaged file
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if isinstance(content, dict):
        content = content[_chosen(path, list(content), name)]
    if not isinstance(content, torch.Tensor):
        return np.asarray(content)
    if content.numel() * content.element_size() > path.stat().st_size:  # one number for many
        raise ValueError(f"it claims {content.numel()} numbers, more than the file has")
    return content.detach().numpy()


def _safetensors(path: Path, name: str) -> np.ndarray:
    library = _needed("safetensors", path)
    try:
        with library.safe_open(path, framework="numpy") as file:
            return file.get_tensor(_chosen(path, list(file.keys()), name))
    except library.SafetensorError as error:
        raise ValueError(error) from error


def _csv(path: Path, name: str) -> np.ndarray:
    pandas = _needed("pandas", path)
    header = list(pandas.read_csv(path, nrows=0))
    if any(map(_is_number, header)):
        raise InputError(
            f"{path}: the first line holds numbers ({header[0]}, ...), and so would be lost as names of columns. "
            "Add a first line that names the columns."
        )
    if name == "features":
        return _columns(path, pandas.read_csv(path), name)
    kind = {"dtype": str} if name == "ids" else {}
    # NA and null may be names; only a gap is one
    frame = pandas.read_csv(path, keep_default_na=False, na_values=[""], **kind)
    return _columns(path, frame, name)


def _parquet(path: Path, name: str) -> np.ndarray:
    pandas = _needed("pandas", path)
    _needed("pyarrow", path)
    return _columns(path, pandas.read_parquet(path), name)


def _columns(path: Path, frame: Any, name: str) -> np.ndarray:
    """Return all columns of a table of features, or the one of labels or ids."""
    if name == "features":
        return frame.to_numpy()
    column = frame[_chosen(path, list(frame.columns), name)]
    if column.isna().any():
        raise InputError(
            f"{path}: row {int(column.isna().argmax())} (the first is 0) has no {name[:-1]}. Fill the gap, or leave "
            "the row out here and in the features."
        )
    text = all(isinstance(value, str) for value in column)
    return column.to_numpy(dtype=str) if text else column.to_numpy()


def _chosen(path: Path, names: Sequence[str], wanted: str) -> str:
    """Return the only name, or the wanted one."""
    if len(names) == 1:
        return names[0]
    if wanted in names:
        return wanted
    shown = ", ".join(map(str, names[:10])) or "nothing"
    raise InputError(f"{path}: it holds {shown}. Name one of them {wanted!r}, or save it alone.")


def _needed(package: str, path: Path) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise InputError(
            f"{path}: files ending in {path.suffix} are read with {package}, which is not installed. Install it "
            f"(pip install {package}), or save the array as npy."
        ) from error


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


READERS: dict[str, Callable[[Path, str], np.ndarray]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".pt": _pt,
    ".safetensors": _safetensors,
    ".csv": _csv,
    ".parquet": _parquet,
}
