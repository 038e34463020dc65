"""Feature files as the other folders use them: write one, and read it whole, in blocks, or its header alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import FeatureFileError
from sparcl.features import equal, hdf5, manifest
from sparcl.features.layout import (
    ARRAYS,
    REQUIRED_ARRAYS,
    FeatureSet,
    Header,
    PathLike,
    Stream,
    manifest_path,
)
from sparcl.features.required import (
    check_class_names,
    check_content,
    check_meta,
    check_rows,
    check_shapes,
)

ROWS = 4096  # samples that `blocks` reads at a time


def write(
    path: PathLike,
    features: np.ndarray | Stream,
    labels: np.ndarray,
    ids: np.ndarray | list[str],
    class_names: list[str],
    meta: dict[str, Any],
    blocks: np.ndarray | None = None,
    blocks_mean: np.ndarray | None = None,
) -> dict[str, Any]:
    """Write a feature file and its manifest, each to a temporary name that is then renamed.

    Parameters
    ----------
    path : path of the HDF5 file; the manifest gets the same name with the suffix .json
    features, labels, ids, class_names, blocks, blocks_mean : see `FeatureSet`; ids may be text, and features a stream,
        of which one block is in memory at a time
    meta : dict with `REQUIRED_KEYS` and any other of `TEXT_KEYS` and `JSON_KEYS`; a file with the attribute ``shard``
        (see `shards`) may lack samples of some training classes, or have none at all

    Returns
    -------
    dict : the manifest

    Raises
    ------
    FeatureFileError : `read` would refuse the content; nothing is written
    """
    path = Path(path)
    check_meta(path, meta)
    arrays: dict[str, Any] = {
        "features": features if isinstance(features, Stream) else np.ascontiguousarray(features),
        "labels": np.ascontiguousarray(labels, dtype=np.int32),
        "ids": _encode_ids(ids),
    }
    optional = {"blocks": blocks, "blocks_mean": blocks_mean}
    arrays |= {k: np.ascontiguousarray(a) for k, a in optional.items() if a is not None}
    check_shapes(path, {k: (a.shape, a.dtype) for k, a in arrays.items()}, "shard" in meta)
    if not np.array_equal(labels, arrays["labels"]):
        raise FeatureFileError(f"{path}: labels must be whole numbers that fit int32; got {labels}")
    check_content(path, arrays, class_names, meta)
    hashes = manifest.row_hashes(arrays["features"])
    duplicates = len(hashes) - len(set(hashes))
    stated = manifest.build(meta, class_names, manifest.entries(arrays), duplicates)
    hdf5.write(path, arrays, class_names, meta)
    manifest.write(path, stated)
    return stated


def _encode_ids(ids: np.ndarray | list[str]) -> np.ndarray:
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "S":
        return ids.astype(f"S{np.char.str_len(ids).max(initial=1)}")
    # what is no text comes out as no UTF-8, which the check of the content names
    encoded = [i if isinstance(i, bytes) else str(i).encode("utf-8", "surrogatepass") for i in ids]
    return np.array(encoded, dtype=np.bytes_)


def read(path: PathLike, manifest_file: PathLike | None = None, verify: bool = True) -> FeatureSet:
    """Read and check a feature file.

    Parameters
    ----------
    path : path of the HDF5 file
    manifest_file : path of its manifest; by default the .json file beside it
    verify : compare with the manifest; False only for a file that has none

    Raises
    ------
    FeatureFileError : the file is missing, truncated, foreign, claims more than it holds, holds values
        that are not finite or labels outside the classes, a training class has no sample, or the
        manifest does not match. Sizes are checked before anything is allocated.
    """
    path = Path(path)
    with hdf5.opened(path) as (file, class_names, meta):
        arrays = {name: file[name][()] for name in ARRAYS if name in file}
    check_meta(path, meta)
    check_content(path, arrays, class_names, meta)
    stated = _stated(path, manifest_file) if verify else {}
    duplicates = equal.repeated(arrays["features"]) if "duplicates" in stated else None
    found = manifest.build(meta, class_names, manifest.entries(arrays), duplicates)
    if verify:
        manifest.compare(path, found, stated)
    return FeatureSet(class_names=class_names, meta=meta | _hashes(found), **arrays)


def header(path: PathLike, manifest_file: PathLike | None = None) -> Header:
    """Check a feature file against its manifest, but for the content of its arrays, which is not read.

    ``meta`` has the hashes that the manifest states; `blocks` and `read` find out whether they are true.

    Raises
    ------
    FeatureFileError : as `read`, but for what the arrays hold
    """
    path = Path(path)
    with hdf5.opened(path) as (file, class_names, meta):
        stated = _stated(path, manifest_file)
        _checked_entries(path, file, class_names, meta, stated)
        (n, d), dtype = file["features"].shape, file["features"].dtype.name
    return Header(n, d, class_names, meta | _hashes(stated), dtype)


def blocks(
    path: PathLike, rows: int | None = None, manifest_file: PathLike | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield features (b, d) and labels (b,) of a feature file in file order, b <= ``rows`` (`ROWS`) at a time.

    One pass, with ``rows`` samples in memory. Features, labels and ids are hashed on the way, so damage shows only
    after the last block: throw away then what was made of the earlier ones. Unlike in `read`, a training class may
    lack samples (the file may be a part of a data set), and only the hash proves that ids are unique.

    Raises
    ------
    FeatureFileError : as `read`
    """
    path, rows = Path(path), rows or ROWS
    with hdf5.opened(path) as (file, class_names, meta):
        stated = _stated(path, manifest_file)
        entries = _checked_entries(path, file, class_names, meta, stated)
        hashes = {name: hashlib.sha256() for name in REQUIRED_ARRAYS}
        for first in range(0, len(file["labels"]), rows):
            part = {name: file[name][first : first + rows] for name in hashes}
            for name, array in part.items():
                hashes[name].update(np.ascontiguousarray(array).data)
            check_rows(path, part, class_names, first)
            yield part["features"], part["labels"]
    for name, found in hashes.items():
        entries[name]["sha256"] = found.hexdigest()
    manifest.compare(path, manifest.build(meta, class_names, entries, None), stated)


def ids(path: PathLike, manifest_file: PathLike | None = None) -> np.ndarray:
    """Return the ids (n,) of a feature file in file order, as fixed-length bytes.

    Raises
    ------
    FeatureFileError : as `header`, or when the ids are not those of the manifest
    """
    path = Path(path)
    with hdf5.opened(path) as (file, class_names, meta):
        stated = _stated(path, manifest_file)
        entries = _checked_entries(path, file, class_names, meta, stated)
        # h5py notes its own type in the dtype, which an npz file cannot hold
        found = file["ids"][()].astype(f"S{file['ids'].dtype.itemsize}")
    entries["ids"]["sha256"] = manifest.sha256(found)
    manifest.compare(path, manifest.build(meta, class_names, entries, None), stated)
    return found


def sources(path: PathLike) -> list[Path]:
    """Return the files that reading a feature file reads: it, its manifest, and those of the shards of a view.

    Raises
    ------
    FeatureFileError : the file is missing, damaged or foreign, or lacks a shard
    """
    path = Path(path)
    with hdf5.opened(path) as (file, _, _):
        shards = {
            path.parent / source.file_name
            for name in ARRAYS
            if name in file and file[name].is_virtual
            for source in file[name].virtual_sources()
        }
    return [name for one in (path, *sorted(shards)) for name in (one, manifest_path(one))]


def _stated(path: Path, manifest_file: PathLike | None) -> dict[str, Any]:
    return manifest.load(Path(manifest_file or manifest_path(path)))


def _hashes(stated: dict[str, Any]) -> dict[str, str]:
    return {f"{name}_sha256": entry["sha256"] for name, entry in stated["arrays"].items()}


def _checked_entries(
    path: Path, file: Any, class_names: list[str], meta: dict[str, Any], stated: dict[str, Any]
) -> dict[str, manifest.Entry]:
    """Compare all but the arrays' content with the manifest; return its entries, whose hashes are still unproven."""
    check_meta(path, meta)
    check_class_names(path, class_names)
    entries = {
        name: manifest.entry(file[name], stated["arrays"].get(name, {}).get("sha256", ""))
        for name in ARRAYS
        if name in file
    }
    manifest.compare(path, manifest.build(meta, class_names, entries, None), stated)
    return entries
