"""Arrays in files of other tools: npy, npz, pt, safetensors, csv and parquet. No file can run code.

A file with several arrays or columns holds the wanted one under a name of `ROLES`, or one that the caller states.
"""

from __future__ import annotations

import csv
import io
import logging
import math
import pickle
import re
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from sparcl.base import npz
from sparcl.base.checks import unusable
from sparcl.base.errors import InputError, listed
from sparcl.features.layout import FEATURE_DTYPES, Stream

logger = logging.getLogger(__name__)

# The names of arrays and columns, in any case. One that is named for another use is never a feature.
ROLES = {
    "features": ("features",),
    "labels": ("labels", "label"),
    "ids": ("ids", "id"),
    "split": ("split",),
}
Columns = Mapping[str, str]  # the names that stand for `ROLES` in the files at hand

BLOCK = 1 << 24  # bytes of a block
DEFLATED = 1032  # bytes, at most, that a compressed byte of a zip file stands for
INDEX = re.compile(r"\s*|Unnamed: [0-9]+|__index_level_[0-9]+__")  # names of what pandas added
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # the one way to write a number of 64 bits
NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?\s*", re.IGNORECASE)
FIELDS = "Separate fields by commas, not by ';', and write decimals with a point."
NO_NUMBERS = "Leave columns of text out, or name them labels or ids if they hold these."
# Errors of readers for a file that is damaged or of another kind.
UNREADABLE = (
    *(OSError, ValueError, TypeError, KeyError, EOFError, RuntimeError, SyntaxError, OverflowError),
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError, pickle.UnpicklingError, csv.Error),
)


class Absent(InputError):
    """A file without the wanted array or column."""


def read(path: Path, name: str, columns: Columns = {}) -> np.ndarray:  # noqa: B006 (it is only read)
    """Return an array of a file; that of an npy file is a memory map.

    Parameters
    ----------
    path : its suffix names the kind of file, one of `READERS`
    name : ``features`` (n, d), or ``labels``, ``ids`` or ``split`` (n,)
    columns : the names of arrays or columns that hold labels, ids or the split, where they are not those of `ROLES`

    Raises
    ------
    InputError : missing, of an unknown or damaged kind, holds objects or values of another kind
    Absent : holds several arrays and not exactly one of this name
    """
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise InputError(
            f"{path}: files ending in {path.suffix!r} are unknown. Save the {name} as one of {', '.join(READERS)}."
        )
    if not path.is_file():
        raise InputError(f"{path}: no such file of {name}. Correct the path.")
    try:
        array = READERS[suffix](path, name, columns)
        npz.check_letters(array)
    except UNREADABLE as error:
        raise InputError(
            f"{path}: cannot be read as {suffix[1:]} ({error}). It is damaged, of another kind, or holds objects: "
            "save plain numbers or text, without pickle."
        ) from error
    features = name == "features"
    if array.ndim != 1 + features:
        expected = "(n, d), one row per sample" if features else "(n,), one value per sample"
        raise InputError(f"{path}: {name} have shape {array.shape}, expected {expected}. Reshape.")
    if array.dtype.kind not in ("iuf" if features else "iuUS"):
        raise InputError(
            f"{path}: {name} are {array.dtype}, and may be {'numbers' if features else 'whole numbers or text'}. "
            "Convert them; a gap in a table makes floats of whole numbers."
        )
    return array


def stream(path: Path, float32: bool = False, columns: Columns = {}) -> Stream:  # noqa: B006
    """Return the features of a file as finite rows of float16 or float32.

    An npy file is read block by block, others are in memory.

    Parameters
    ----------
    path, columns : see `read`
    float32 : store numbers of another type as float32

    Raises
    ------
    InputError : as `read`; an empty array, numbers of another type, a row that is not finite, or a row or column that
        float32 would keep as zeros
    """
    array = read(path, "features", columns)
    shape, dtype = array.shape, array.dtype.newbyteorder("=")
    if 0 in shape:
        raise InputError(
            f"{path}: features have shape {shape}, and so no numbers. Name a full file."
        )
    if dtype.name not in FEATURE_DTYPES:
        if not float32:
            raise InputError(
                f"{path}: features are {dtype}, and feature files hold {' or '.join(FEATURE_DTYPES)}. Add --float32 to "
                "round numbers to float32, or save another type."
            )
        dtype = np.dtype(np.float32)

    def stored() -> Iterator[np.ndarray]:
        rows = max(1, BLOCK // (shape[1] * dtype.itemsize))
        for first in range(0, shape[0], rows):
            # A map that is opened again gives the pages of earlier blocks back.
            whole = _npy(path, "features", {}) if isinstance(array, np.memmap) else array
            yield whole[first : first + rows]

    def rounded(block: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            return np.ascontiguousarray(block, dtype=dtype)

    first, largest = 0, np.zeros(shape[1])
    for block in stored():
        check_finite(path, rounded(block), first)
        if array.dtype.kind == "f" and array.dtype.itemsize > dtype.itemsize:
            size = np.abs(block)
            _check_faint(path, "row", size.max(axis=1), first)
            largest = np.maximum(largest, size.max(axis=0))
        first += len(block)
    _check_faint(path, "column", largest)
    return Stream(shape, dtype, lambda: map(rounded, stored()))


def check_finite(path: Path, rows: np.ndarray, first: int) -> None:
    """Raise InputError unless rows of features, the first of which is row `first` of the file, are finite."""
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise InputError(
            f"{path}: features of row {first + int(np.argmin(finite))} (the first is 0) are NaN, infinite or too large "
            f"for {rows.dtype}. Usual cause: a gap in the table, or half precision that overflows at 65504. Correct "
            "the row or leave it out."
        )


def _check_faint(path: Path, place: str, largest: np.ndarray, first: int = 0) -> None:
    """Raise InputError where the largest number of a row or column is not 0 and below the range of float32."""
    faint = np.flatnonzero((largest > 0) & (largest < np.finfo(np.float32).tiny))
    if faint.size:
        raise InputError(
            f"{path}: features of {place} {first + faint[0]} (the first is 0) are at most {largest[faint[0]]:.3g}, too "
            f"small for float32, which would keep zeros. Multiply the features by a constant, or leave the {place} out."
        )


def _npy(path: Path, name: str, columns: Columns) -> np.ndarray:
    _wanted(path, None, name, columns)
    with path.open("rb") as file:
        _check_claim(file, path.stat().st_size)
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _npz(path: Path, name: str, columns: Columns) -> np.ndarray:
    with np.load(path, allow_pickle=False) as file:
        chosen = file.files[_wanted(path, file.files, name, columns)]
        member = file.zip.getinfo(f"{chosen}.npy")
        # numpy reserves what the header claims, before it has read a byte
        if member.file_size > DEFLATED * min(member.compress_size, path.stat().st_size):
            raise ValueError(f"{chosen!r} claims {member.file_size} bytes, more than the file has")
        with file.zip.open(member) as content:
            _check_claim(content, member.file_size)
        return file[chosen]


def _check_claim(file: IO[bytes], size: int) -> None:
    """Raise ValueError unless a shape that an npy header claims takes the bytes that are there."""
    head = io.BytesIO(file.read(npz.HEADER + 16))  # its own length is a claim too
    shape, _, dtype = npz.header(head)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize + head.tell() != size:
        raise ValueError(f"its header claims another number of bytes than the {size} that it has")


def _pt(path: Path, name: str, columns: Columns) -> np.ndarray:
    torch = _needed("torch", path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a damaged file
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if isinstance(content, dict):
        names = list(map(str, content))
        content = list(content.values())[_wanted(path, names, name, columns)]
    else:
        _wanted(path, None, name, columns)
    if not isinstance(content, torch.Tensor):
        return np.asarray(content)
    if content.numel() * content.element_size() > path.stat().st_size:  # one number for many
        raise ValueError(f"it claims {content.numel()} numbers, more than the file has")
    return (content.float() if content.dtype is torch.bfloat16 else content).detach().numpy()


def _safetensors(path: Path, name: str, columns: Columns) -> np.ndarray:
    library = _needed("safetensors", path)
    try:
        with library.safe_open(path, framework="numpy") as file:
            names = list(file.keys())
            chosen = names[_wanted(path, names, name, columns)]
            about = file.get_slice(chosen)
            if about.get_dtype() == "BF16":  # the upper half of a float32
                halves = dict(library.deserialize(path.read_bytes()))[chosen]["data"]
                bits = np.frombuffer(halves, "<u2").astype(np.uint32) << 16
                return bits.view(np.float32).reshape(about.get_shape())
            if about.get_dtype().startswith("F8"):
                raise ValueError(f"{chosen!r} is {about.get_dtype()}, which numpy lacks")
            return file.get_tensor(chosen)
    except library.SafetensorError as error:
        raise ValueError(error) from error


def _csv(path: Path, name: str, columns: Columns) -> np.ndarray:
    """Read columns of a csv, whose rows have a field for each name, and at most an empty one more.

    Rows that are shifted would be read under other names. A first column without a name numbers the rows, as pandas'
    index does.
    """
    rows: list[Any] = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        table = csv.reader(file, strict=True)
        names = _header(path, next(table, []))
        places = _places(path, names, name, columns)
        width, indexed = len(names), INDEX.fullmatch(names[0])
        for row, fields in enumerate(filter(None, table)):
            where = f"{path}, line {table.line_num}"
            width = width if row else len(fields)
            more = fields[len(names) :]
            if len(fields) != width or width - len(names) not in (0, 1) or any(more):
                raise InputError(
                    f"{where}: {len(fields)} fields, and the first line names {len(names)} columns. {FIELDS}"
                )
            if indexed and fields[0] != str(row):
                raise InputError(
                    f"{where}: column 1 has no name, and does not number the rows 0, 1, 2, ... Name it, or leave it "
                    "out: to_csv(..., index=False)."
                )
            chosen = [fields[place] for place in places]
            if name != "features":
                rows += chosen
                continue
            try:
                rows.append(np.array([float(text or "nan") for text in chosen]))
            except ValueError as error:
                raise InputError(f"{where}: {error}. {NO_NUMBERS}") from error
    if name != "features" and "" in rows:
        raise _gap(path, rows.index(""), names[places[0]])
    if name == "labels" and all(map(WHOLE.fullmatch, rows)):  # 007 and 7 are two classes
        return np.array(rows, dtype=np.int64)
    return np.array(rows)


def _header(path: Path, names: list[str]) -> list[str]:
    """Return the names of a csv's columns from its first line; InputError where it has none."""
    if len(names) > 1 and not names[-1]:
        names = names[:-1]
    digits = list(filter(NUMBER.fullmatch, names))
    if digits != [str(number) for number in range(len(digits))]:  # as pandas names them
        raise InputError(
            f"{path}: the first line holds numbers ({digits[0]}, ...), and so would be lost as names of columns. Add "
            "a first line that names the columns."
        )
    alone = len(names) == 1 and re.search(r"[;\t]", names[0])
    if not names or alone or any(map(INDEX.fullmatch, names[1:])):
        raise InputError(f"{path}: the first line, {names}, names no columns. {FIELDS}")
    return names


def _parquet(path: Path, name: str, columns: Columns) -> np.ndarray:
    pandas = _needed("pandas", path)
    _needed("pyarrow", path)
    frame = pandas.read_parquet(path)
    firsts = [frame.iloc[:1, place].tolist() for place in range(frame.shape[1])]
    lists = [place for place, first in enumerate(firsts) if np.ndim(first) > 1]
    places = _places(path, [str(text) for text in frame.columns], name, columns, lists)
    frame = frame.iloc[:, places]
    column = frame.iloc[:, 0]
    if name == "features":
        if places[0] in lists:
            return np.stack(column.tolist())
        if other := [text for text, kind in frame.dtypes.items() if kind.kind not in "iuf"]:
            raise InputError(f"{path}: column {other[0]!r} holds no numbers. {NO_NUMBERS}")
        return frame.to_numpy()
    if column.isna().any():
        raise _gap(path, int(column.isna().argmax()), column.name)
    text = all(isinstance(value, str) for value in column)
    return column.to_numpy(dtype=str) if text else column.to_numpy()


def _gap(path: Path, row: int, column: str) -> InputError:
    return InputError(
        f"{path}: row {row} (the first is 0) has a gap in {column!r}. Fill it, or leave the row out here and in the "
        "other files."
    )


def _role(text: str, columns: Columns) -> str | None:
    """Return which of `ROLES` an array or column of a name has; "index" without a name."""
    for role, known in ROLES.items():
        if text == columns.get(role) or text.strip().casefold() in known:
            return role
    return "index" if INDEX.fullmatch(text) else None


def _wanted(path: Path, names: Sequence[str] | None, name: str, columns: Columns) -> int:
    """Return the position of the one that is named for a role, or else of the only one that is named for none.

    Without names there is a single array, which is no split and has no stated name.
    """
    wanted = columns.get(name, name)
    if names is None:
        if name == "split" or name in columns:
            raise Absent(f"{path}: it holds one array without a name, and no {wanted!r}.")
        return 0
    roles = [_role(text, columns) for text in names]
    if name in columns:
        found = [place for place, text in enumerate(names) if text == wanted]
    else:
        found = [place for place, role in enumerate(roles) if role == name]
        if not found and name != "split":
            found = [place for place, role in enumerate(roles) if role is None]
    if len(found) != 1:
        shown = listed(names, 10) or "nothing"
        raise Absent(f"{path}: it holds {shown}. Name one of them {wanted!r}, or save it alone.")
    return found[0]


def _places(
    path: Path, names: list[str], name: str, columns: Columns, lists: Sequence[int] = ()
) -> list[int]:
    """Return where the columns of features stand in a table, or the one of labels, ids or the split.

    Features are all columns without another role, or one that holds `lists`. Columns that are left out are logged.
    """
    if name != "features":
        return [_wanted(path, names, name, columns)]
    places = [place for place, text in enumerate(names) if _role(text, columns) in (None, name)]
    if wide := [place for place in places if place in lists]:
        places = [wide[_wanted(path, [names[place] for place in wide], name, columns)]]
    if not places:
        raise Absent(f"{path}: it holds {listed(names, 10)}, and no features. Name the right file.")
    if out := [text or "the index" for place, text in enumerate(names) if place not in places]:
        logger.warning("%s: %d columns of features; left out: %s", path, len(places), listed(out))
    return places


def _needed(package: str, path: Path) -> Any:
    if why := unusable(package):
        raise InputError(
            f"{path}: files ending in {path.suffix} are read with {package}, which {why}. Install it "
            f"(pip install {package}), or save the array as npy."
        )
    return import_module(package)


READERS: dict[str, Callable[[Path, str, Columns], np.ndarray]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".pt": _pt,
    ".pth": _pt,
    ".safetensors": _safetensors,
    ".csv": _csv,
    ".parquet": _parquet,
}
