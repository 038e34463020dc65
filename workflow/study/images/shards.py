"""Shards: a split of a data set, extracted by several jobs and read as one feature file.

Shard k of n, ``<split>.shards/<k>-of-<n>.h5``, is a feature file of consecutive images. All shards have the same number
of whole batches, give or take one, so on a CPU every forward pass is the one that a single job makes, and the features
are the same to the bit. Where there are more shards than batches, some have no images.

The attribute ``shard`` says where it belongs:

============ =============================================================================
index, of    k and n
first, stop  its images: those of the split with first <= i < stop
total        images of the whole split
ids_sha256   hash of the ids of the whole split, in order, each followed by a line feed
left_out     [i, id] of images that could not be read (``on_bad_image: skip``), if any
============ =============================================================================

The one file is a view: features stay in the shards, in the folder ``<name>.shards`` beside it. Labels and ids are
copied, the manifest is that of one file of all samples, and the attribute ``parts`` has the hashes of every shard.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import ConfigError, FeatureFileError
from sparcl.base.files import write_text
from sparcl.features import hdf5, manifest, store
from sparcl.features.layout import (
    ARRAYS,
    JSON_KEYS,
    KINDS,
    REQUIRED_ARRAYS,
    SHARD,
    TEXT_KEYS,
    FeatureSet,
    Header,
    PathLike,
    View,
    manifest_path,
)
from sparcl.features.matching import difference
from sparcl.features.required import check_content, check_shapes
from study import pairs

# What all shards of a split state alike.
COMMON = ("of", "total", "ids_sha256")
KEYS = (*COMMON, "index", "first", "stop")


def describe(ids: list[str], batch_size: int, index: int, of: int) -> dict[str, Any]:
    """Return the attribute ``shard`` of one shard.

    Shard k has the batches from B (k - 1) // n up to B k // n of the B batches of the split.

    Parameters
    ----------
    ids : of all images of the split, in order
    batch_size : images of a forward pass
    index, of : k, from 1 to n, and n
    """
    n = len(ids)
    batches = -(-n // batch_size)
    first, stop = (min(batches * k // of * batch_size, n) for k in (index - 1, index))
    common = {"of": of, "total": n, "ids_sha256": _sha256(ids)}
    return common | {"index": index, "first": first, "stop": stop}


def merge(path: str | os.PathLike[str], shards: Iterable[str | os.PathLike[str]]) -> dict[str, Any]:
    """Join the shards of a split into one feature file, as a view: the features are not copied.

    Array hashes, ids, their order and the manifest are those of a single job. Every shard is read once, one at a time,
    and compared with its manifest. Images that the shards leave out are listed in ``<split>.skipped.txt``.

    Parameters
    ----------
    path : of the HDF5 file
    shards : paths of all shards, in any order, in the folder ``<split>.shards`` beside `path`

    Returns
    -------
    dict : the manifest

    Raises
    ------
    FeatureFileError : a shard is damaged, missing, given twice or overlaps another; shards come from different images
        or settings (the message names files and difference); or `store.read` would refuse the view. Nothing is written
    """
    path = Path(path)
    headers = {Path(shard): store.header(shard) for shard in shards}
    for file, header in headers.items():
        stated = header.meta.get("shard")
        if not isinstance(stated, dict) or not all(key in stated for key in KEYS):
            raise FeatureFileError(
                f"{file}: not a shard but a feature file of its own. Take it out of the merge."
            )
    _agree(headers)
    files = _in_order(path, {file: header.meta["shard"] for file, header in headers.items()})
    stated = write_view(path, _contents(path, files))
    _list_skipped(path, files)
    return stated


def cut(source: str | os.PathLike[str], path: str | os.PathLike[str], of: int) -> dict[str, Any]:
    """Cut a feature file into shards and write the view of them at `path`, which may be the file itself.

    After an interruption the same call resumes: shards that it finds are kept if they are those of this cut.

    A shard has at most ceil(n / of) samples, and may have none. All features are in memory at once.

    Parameters
    ----------
    source : path of the feature file
    path : of the view; the shards get the folder ``<name>.shards`` beside it, which must hold nothing else
    of : number of shards

    Returns
    -------
    dict : the manifest, which is that of `source`

    Raises
    ------
    ConfigError : `of` is not from 1 to the number of samples, the folder of the shards holds something else, or its
        name cannot stand in a view
    FeatureFileError : `source` is damaged, or is itself a shard
    """
    path = Path(path)
    folder = path.with_suffix(".shards")
    if not SHARD.fullmatch(f"{folder.name}/1-of-1.h5"):
        raise ConfigError(
            f"{path}: the name of a view is letters without accents, digits, '_', '-' and '.', which the links to its "
            "shards take. Choose another name; the file that is cut keeps its own."
        )
    whole = store.read(source)
    stated = manifest.load(manifest_path(source))
    if "shard" in whole.meta:
        raise FeatureFileError(f"{source}: a shard is not cut again. Cut the view of all of them.")
    ids = [identifier.decode() for identifier in whole.ids]
    if not 1 <= of <= len(ids):
        raise ConfigError(
            f"{source}: its {len(ids)} samples cannot be cut into {of} shards. Choose from 1 to {len(ids)} shards."
        )
    meta = {key: whole.meta[key] for key in TEXT_KEYS + JSON_KEYS if key in whole.meta}
    size = -(-len(ids) // of)
    parts = [describe(ids, size, k, of) for k in range(1, of + 1)]
    files = [folder / f"{part['index']}-of-{of}.h5" for part in parts]
    _clear_to_cut(folder, dict(zip(files, parts, strict=True)), whole, meta)
    for file, part in zip(files, parts, strict=True):
        if file.exists() and manifest_path(file).exists():
            continue  # an interrupted cut has written it, and `merge` verifies it
        rows = slice(part["first"], part["stop"])
        tokens = [
            None if array is None else array[rows] for array in (whole.blocks, whole.blocks_mean)
        ]
        arrays = whole.features[rows], whole.labels[rows], whole.ids[rows], whole.class_names
        store.write(file, *arrays, meta | {"shard": part}, *tokens)
    merge(path, files)
    manifest.write(path, stated)  # an older one counts no duplicates
    return stated


def _clear_to_cut(
    folder: Path, parts: dict[Path, dict[str, Any]], whole: FeatureSet, meta: dict[str, Any]
) -> None:
    """Raise ConfigError if the folder of the shards holds anything but what an interrupted cut of the file left."""
    for file in sorted(folder.glob("[!.]*")):
        shard = file.with_suffix(".h5")
        if shard in parts and (file != shard or _is_part(shard, parts[shard], whole, meta)):
            continue
        raise ConfigError(
            f"{folder} exists and holds {file.name}, which is no shard of this cut. Delete the folder if nothing reads "
            "it, or cut into another one."
        )


def _is_part(file: Path, shard: dict[str, Any], whole: FeatureSet, meta: dict[str, Any]) -> bool:
    """Return whether a file, perhaps without manifest, is the shard that the cut would write."""
    found = store.read(file, verify=False)
    rows = slice(shard["first"], shard["stop"])
    pairs = [(getattr(found, name), getattr(whole, name)) for name in ARRAYS]
    same = all(
        one is None if other is None else np.array_equal(one, other[rows]) for one, other in pairs
    )
    stated = {key: found.meta[key] for key in TEXT_KEYS + JSON_KEYS if key in found.meta}
    return same and stated == meta | {"shard": shard} and found.class_names == whole.class_names


def _list_skipped(path: Path, files: list[Path]) -> None:
    """Join the shards' lists of files left out; each names the same files that are no images."""
    lists = [file.with_suffix(".skipped.txt") for file in files]
    texts = [file.read_text(encoding="utf-8") for file in lists if file.is_file()]
    lines = {line for text in texts for line in text.splitlines(keepends=True)}
    skipped = path.with_suffix(".skipped.txt")
    if lines:
        write_text(skipped, "".join(sorted(lines)))
    else:
        skipped.unlink(missing_ok=True)


def _sha256(ids: Iterable[str]) -> str:
    found = hashlib.sha256()
    for identifier in ids:
        found.update(f"{identifier}\n".encode())
    return found.hexdigest()


def _terms(header: Header) -> dict[str, Any]:
    """Return what all shards of a split have in common."""
    terms = {key: header.meta.get(key) for key in (*TEXT_KEYS, *JSON_KEYS)}
    terms["shard"] = {key: header.meta["shard"][key] for key in COMMON}
    terms |= {"dtype": header.dtype, "features": header.d}
    return terms | pairs.named(header.class_names)


def _agree(headers: dict[Path, Header]) -> None:
    """Raise FeatureFileError, naming the difference, unless all shards have the same `_terms`."""
    first, *others = headers
    for file in others:
        if found := difference(_terms(headers[file]), _terms(headers[first])):
            name, own, its = found
            raise FeatureFileError(
                f"{file} and {first} are not shards of the same features: {name} is {own!r} here, {its!r} there. "
                "Delete those of other settings or images and run snakemake: it makes the missing ones again."
            )


def _in_order(path: Path, shards: dict[Path, dict[str, Any]]) -> list[Path]:
    """Return the files in the order of their images, which they hold without gap or overlap."""
    files = sorted(shards, key=lambda file: shards[file]["index"])
    stated = [shards[file] for file in files]
    of, total = stated[0]["of"], stated[0]["total"]
    found = [shard["index"] for shard in stated]
    if found != [*range(1, of + 1)]:
        raise FeatureFileError(
            f"{path}: the shards are number {found}, and there are {of}, each once. Delete one that is a copy under "
            f"another name, and make those that are missing: snakemake --cores 1 {path}"
        )
    starts = [*(shard["first"] for shard in stated), total]
    ends = [0, *(shard["stop"] for shard in stated)]
    for file, start, end in zip([*files, path], starts, ends, strict=True):
        if start != end:
            raise FeatureFileError(
                f"{file}: the shards before it hold the images up to {end} of {total}, and it starts at {start}. "
                "Delete those that overlap or leave a gap, and run snakemake."
            )
    return files


def _contents(path: Path, files: list[Path]) -> Iterator[tuple[str, FeatureSet]]:
    """Yield what `write_view` takes; the ids, with those left out, must be those of the whole split."""
    ids: list[str] = []
    for file in files:
        part = store.read(file)
        shard = part.meta["shard"]
        left_out = dict(shard.get("left_out", []))
        count = shard["stop"] - shard["first"] - len(left_out)
        if len(part.ids) != count:
            raise FeatureFileError(
                f"{file}: {len(part.ids)} samples, but its images {shard['first']} to {shard['stop']} less "
                f"{len(left_out)} left out make {count}. Delete it and run snakemake."
            )
        kept = iter(part.ids)
        rows = range(shard["first"], shard["stop"])
        ids += [left_out[row] if row in left_out else next(kept).decode() for row in rows]
        yield os.path.relpath(file, path.parent), part
    if _sha256(ids) != shard["ids_sha256"]:
        raise FeatureFileError(
            f"{path}: the {len(ids)} ids of the shards are not those of the split that they were cut from (sha256 "
            f"{_sha256(ids)}, stated {shard['ids_sha256']}). Delete the shards and run snakemake."
        )


def write_view(path: PathLike, shards: Iterable[tuple[str, FeatureSet]]) -> dict[str, Any]:
    """Write the view of shards, and its manifest.

    Parameters
    ----------
    path : path of the HDF5 file
    shards : in order, the path of each shard relative to the folder of `path` (`layout.SHARD`) and its content; they
        are taken one by one, so one is in memory at a time, and differ in their rows alone (`merge` checks it)

    Returns
    -------
    dict : the manifest

    Raises
    ------
    FeatureFileError : `store.read` would refuse the view; nothing is written
    """
    path = Path(path)
    rows: list[tuple[str, int]] = []
    parts: list[list[str]] = []
    labels: list[np.ndarray] = []
    ids: list[np.ndarray] = []
    row_hashes: list[bytes] = []
    hashes = {name: hashlib.sha256() for name in KINDS.values()}
    for name, part in shards:
        if not SHARD.fullmatch(name):
            raise FeatureFileError(
                f"{path}: shard {name} is out of reach. Shards lie beside their view, as <name>.shards/<k>-of-<n>.h5: "
                "move it there."
            )
        rows.append((name, len(part.labels)))
        parts.append([part.meta[f"{array}_sha256"] for array in REQUIRED_ARRAYS])
        labels.append(part.labels)
        ids.append(part.ids)
        row_hashes += manifest.row_hashes(part.features)
        found = {kind: array for kind in hashes if (array := getattr(part, kind)) is not None}
        for kind, array in found.items():
            hashes[kind].update(np.ascontiguousarray(array).data)
        tails = {kind: (array.shape[1:], array.dtype) for kind, array in found.items()}
        class_names, meta = part.class_names, part.meta
    copied = {"labels": np.concatenate(labels), "ids": np.concatenate(ids)}
    n = len(copied["labels"])
    views = {kind: View((n, *tail), dtype, rows) for kind, (tail, dtype) in tails.items()}
    arrays: dict[str, np.ndarray | View] = {**copied, **views}
    meta = {key: meta[key] for key in (*TEXT_KEYS, *JSON_KEYS) if key in meta and key != "shard"}
    check_shapes(path, {name: (array.shape, array.dtype) for name, array in arrays.items()})
    check_content(path, arrays, class_names, meta)
    entries = manifest.entries(copied)
    entries |= {
        kind: manifest.entry(view, hashes[kind].hexdigest()) for kind, view in views.items()
    }
    duplicates = len(row_hashes) - len(set(row_hashes))
    stated = manifest.build(meta, class_names, entries, duplicates)
    hdf5.write(path, arrays, class_names, meta, parts)
    manifest.write(path, stated)
    return stated
