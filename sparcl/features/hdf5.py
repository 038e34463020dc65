"""HDF5 on disk: writing arrays and attributes, and opening a file only after its storage has been checked.

The only module that imports h5py.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import FeatureFileError
from sparcl.base.files import replacing
from sparcl.features.layout import ARRAYS, FORMAT, JSON_KEYS, SHARD, TEXT_KEYS, Stream, View
from sparcl.features.required import check_shapes

# An HDF5 attribute holds 64 KB, 16 bytes of them a name: of more names it holds one text, JSON, which lies elsewhere.
NAMES = 4000
HEAP = b"GCOL\x01\0\0\0"  # how a global heap begins
# What h5py raises for a file that is damaged or of another kind.
UNREADABLE = (OSError, RuntimeError, ValueError, KeyError, TypeError, OverflowError)


class _Disk(io.FileIO):
    """A new file that keeps the system's first error for later: HDF5 may crash where its own writes fail."""

    error: OSError | None = None

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while left and self.error is None:
                left = left[super().write(left) :]
        except OSError as error:
            self.error = error
        return size

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return self.tell()


class _Heaps(io.FileIO):
    """A file whose global heaps, which hold texts, are checked first: on some damaged ones HDF5 loops for ever."""

    def readinto(self, buffer: Any) -> int:
        first = self.tell()
        count = super().readinto(buffer) or 0
        # a heap may begin in any part that is read
        first = max(first - len(HEAP) + 1, 0)
        seen = os.pread(self.fileno(), self.tell() - first, first)
        at = seen.find(HEAP)
        while at >= 0:
            self._follow(first + at)
            at = seen.find(HEAP, at + 1)
        return count

    def _follow(self, at: int) -> None:
        """Raise OSError unless the objects of a heap fill it, each with its header of 16 bytes."""
        size = int.from_bytes(os.pread(self.fileno(), 8, at + 8), "little")
        heap = os.pread(self.fileno(), min(size, os.fstat(self.fileno()).st_size), at)
        place = 16
        while place + 16 <= len(heap):
            free = heap[place : place + 2] == bytes(2)
            length = int.from_bytes(heap[place + 8 : place + 16], "little")
            place += length if free else 16 + -(-length // 8) * 8
            if (free and length < 16) or place > size:
                raise OSError(f"the heap at byte {at} holds an object of {length} bytes")


def write(
    path: Path,
    arrays: Mapping[str, np.ndarray | View | Stream],
    class_names: list[str],
    meta: dict[str, Any],
    parts: list[list[str]] | None = None,
) -> None:
    """Write checked arrays and attributes; `parts` are the hashes of a view's shards.

    Arrays are put together in memory, three times their size at most; streamed features go to the disk block by block.
    """
    import h5py

    # On a full disk or one without locks HDF5 fails while it closes a file, and may crash: it touches no disk itself.
    if isinstance(arrays["features"], Stream):
        with replacing(path) as temporary, _Disk(temporary, "x+") as disk:
            with h5py.File(disk, "w", track_order=False) as file:
                _fill(file, arrays, class_names, meta, parts)
            if disk.error is not None:
                raise disk.error
        return
    with h5py.File(
        path.name, "w", driver="core", backing_store=False, block_size=1 << 24, track_order=False
    ) as file:
        _fill(file, arrays, class_names, meta, parts)
        file.flush()
        image = file.id.get_file_image()
    with replacing(path) as temporary:
        temporary.write_bytes(image)


def _fill(
    file: Any,
    arrays: Mapping[str, np.ndarray | View | Stream],
    class_names: list[str],
    meta: dict[str, Any],
    parts: list[list[str]] | None,
) -> None:
    """Put arrays and attributes into an open file."""
    for name in ARRAYS:
        array = arrays.get(name)
        if isinstance(array, View):
            file.create_virtual_dataset(name, _virtual(name, array))
        elif isinstance(array, Stream):
            data = file.create_dataset(name, array.shape, array.dtype, track_times=False)
            first = 0
            for block in array.blocks():
                data[first : first + len(block)] = block
                first += len(block)
        elif array is not None:
            file.create_dataset(name, data=array, track_times=False)
    file.attrs["format"] = FORMAT
    names = list(class_names)
    file.attrs["class_names"] = names if len(names) <= NAMES else json.dumps(names)
    file.attrs["dtype"] = str(arrays["features"].dtype)
    for key in TEXT_KEYS:
        if key in meta:
            file.attrs[key] = str(meta[key])
    for key in JSON_KEYS:
        if key in meta:
            file.attrs[key] = json.dumps(meta[key], sort_keys=True)
    if parts is not None:
        file.attrs["parts"] = json.dumps(parts)


def _virtual(name: str, view: View) -> Any:
    """Return h5py's description of where the rows of a view lie."""
    import h5py

    layout = h5py.VirtualLayout(view.shape, view.dtype)
    layout.dcpl.set_obj_track_times(False)
    first = 0
    for shard, rows in view.shards:
        if rows:
            source = h5py.VirtualSource(shard, name, (rows, *view.shape[1:]), view.dtype)
            layout[first : first + rows] = source
        first += rows
    return layout


@contextmanager
def opened(path: Path, shard: bool = False) -> Iterator[tuple[Any, list[str], dict[str, Any]]]:
    """Yield the open file, its class names and its attributes.

    Parameters
    ----------
    shard : opened as part of a view, and so no view itself

    Raises
    ------
    FeatureFileError : the file is missing, damaged, foreign, or claims more than it holds
    """
    import h5py

    if not path.is_file():
        raise FeatureFileError(
            f"{path}: no such feature file. Extract it (snakemake features) or restore the bundled one "
            "(git checkout data/features)."
        )
    try:
        # No process writes a finished file, so readers need no lock; and locks fail on network file systems.
        with _Heaps(path) as disk, h5py.File(disk, "r") as file:
            _check_storage(path, file, shard)
            class_names, meta = _attributes(path, dict(file.attrs))
        with h5py.File(path, "r", locking=False) as file:
            yield file, class_names, meta
    except UNREADABLE as error:
        raise FeatureFileError(
            f"{path}: not a readable HDF5 file ({error}). It is truncated, damaged or another kind of file: "
            "restore the bundled one (git checkout) or extract again; `sparcl import` makes feature files of arrays."
        ) from error


def _attributes(path: Path, attrs: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    if attrs.get("format") != FORMAT or "class_names" not in attrs:
        raise FeatureFileError(
            f"{path}: an HDF5 file, but not a feature file of this project (attribute format is "
            f"{attrs.get('format')!r}, expected {FORMAT!r}). Extract it with this project's rule."
        )
    try:
        names = attrs["class_names"]
        names = json.loads(names) if isinstance(names, str) else names
        if isinstance(names, str) or np.ndim(names) != 1:
            raise ValueError("class_names is no list of names")
        class_names = [str(name) for name in names]
        meta = {key: str(attrs[key]) for key in TEXT_KEYS if key in attrs}
        meta |= {key: json.loads(attrs[key]) for key in JSON_KEYS if key in attrs}
    except (TypeError, ValueError, RecursionError) as error:
        raise FeatureFileError(
            f"{path}: attributes are damaged ({error}); extract again."
        ) from error
    return class_names, meta


def _check_storage(path: Path, file: Any, shard: bool) -> None:
    """Refuse links, external or chunked storage, views of anything but shards, and sizes beyond the file's."""
    import h5py

    size = path.stat().st_size
    claimed = {}
    for name in ARRAYS:
        link = file.get(name, getlink=True)
        if link is None:
            continue
        if not isinstance(link, h5py.HardLink) or not isinstance(file[name], h5py.Dataset):
            raise FeatureFileError(f"{path}: {name} is not a dataset of this file; extract again.")
        data = file[name]
        claimed[name] = (data.shape, data.dtype)
        if data.is_virtual and not data.dtype.hasobject and not shard:
            _check_view(path, name, data)
            continue
        if data.chunks or data.external or data.is_virtual or data.dtype.hasobject:
            raise FeatureFileError(
                f"{path}: {name} is not stored contiguously in this file. Not a feature file of this project: "
                "extract it with this project's rule."
            )
        nbytes = int(np.prod(data.shape, dtype=object)) * data.dtype.itemsize
        offset = data.id.get_offset()
        if nbytes and (offset is None or offset + nbytes > size):
            raise FeatureFileError(
                f"{path}: {name} claims shape {data.shape} ({nbytes} bytes), more than the file of {size} bytes "
                "holds. It is truncated or damaged: extract again."
            )
    check_shapes(path, claimed, "shard" in file.attrs)


def _check_view(path: Path, name: str, data: Any) -> None:
    """Refuse a view unless its rows lie in shards, one after the other, that hold what it claims.

    HDF5 itself reads zeros where a shard is missing, and looks for it in other folders too.
    """
    first = 0
    for source in data.virtual_sources():
        rows = _check_source(path, name, data, source, first)
        shard = path.parent / source.file_name
        if not shard.is_file():
            raise FeatureFileError(
                f"{path}: {shard} is missing, which holds {rows} of its samples. Bring it back, or make it again: "
                f"snakemake --cores 1 {shard}"
            )
        shape = (rows, *data.shape[1:])
        with opened(shard, shard=True) as (file, _, _):
            found = file[name] if name in file else None
            if found is None or (found.shape, found.dtype) != (shape, data.dtype):
                raise FeatureFileError(
                    f"{path}: {name} of {shard} are not the {shape} {data.dtype} that were merged. The shard is "
                    "another one: merge again (delete the merged file and run snakemake)."
                )
        first += rows
    if first != len(data):
        raise FeatureFileError(
            f"{path}: {name} claims {len(data)} rows, its shards hold {first}. Damaged: merge again (delete the merged "
            "file and run snakemake)."
        )


def _check_source(path: Path, name: str, data: Any, source: Any, first: int) -> int:
    """Return the rows that a source fills, all of its own array, from row `first` of the view on."""
    import h5py

    low, high = source.vspace.get_select_bounds()
    shape = (high[0] + 1 - low[0], *data.shape[1:])
    if (
        not SHARD.fullmatch(source.file_name)
        or source.dset_name != name
        or low != (first,) + (0,) * (len(shape) - 1)
        or source.vspace.get_select_npoints() != int(np.prod(shape, dtype=object))
        or source.src_space.get_select_type() != h5py.h5s.SEL_ALL
    ):
        raise FeatureFileError(
            f"{path}: {name} is a view of something else than shards, one after the other. Not a feature file of "
            "this project: extract it with this project's rule."
        )
    return shape[0]
