"""Feature files: one HDF5 file per data set, backbone and split, with a JSON manifest beside it.

This is the only module that imports h5py, and every run job imports this one: numpy and h5py, nothing else.

Layout of a file (everything contiguous or a view, no timestamps, so equal content means equal bytes):

=========== ======= ===================== ==========================================================
dataset     shape   dtype                 meaning
=========== ======= ===================== ==========================================================
features    (n, d)  float16 or float32    output of the frozen backbone, not normalised
labels      (n,)    int32                 0..K-1, the position of the class in ``class_names``
ids         (n,)    fixed-length bytes    UTF-8, unique and stable over re-extraction
blocks      (n,L,d) as features, optional CLS token after each of L transformer blocks
blocks_mean (n, d)  as features, optional mean of these tokens before the final norm, through it
=========== ======= ===================== ==========================================================

Attributes hold what is needed to make the file again (`TEXT_KEYS`, `JSON_KEYS`, ``class_names``).

The rows of a view (`write_view`) lie in other feature files, its shards, in a folder ``<name>.shards`` beside it; its
attribute ``parts`` has the hashes of each (`parts`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import FeatureFileError
from sparcl.base.files import replacing, write_text

FORMAT = "sparcl-features-1"
SPLITS = ("train", "test")
TEXT_KEYS = (
    "dataset",
    "split",
    "backbone",
    "timm_id",
    "weights_sha256",
    "torch_version",
    "timm_version",
    "split_sha256",
)
JSON_KEYS = ("preprocessing", "extraction", "block_indices", "shard")
REQUIRED_KEYS = ("dataset", "split", "backbone", "timm_id", "weights_sha256", "preprocessing")
# Features that agree in these may be mixed.
SOURCE = ("backbone", "timm_id", "weights_sha256", "preprocessing")
ARRAYS = ("features", "labels", "ids", "blocks", "blocks_mean")
FEATURE_DTYPES = ("float16", "float32")
ROWS = 4096  # samples that `blocks` reads at a time
# Where the shards of a view lie, seen from the view: nothing else is ever opened.
SHARD = re.compile(r"[\w.-]+\.shards/[0-9]+-of-[0-9]+\.h5", re.ASCII)
# What a method may read: the array that its features are made of.
KINDS = {"last": "features", "blocks": "blocks", "blocks-mean": "blocks_mean"}


@dataclass
class FeatureSet:
    """The content of one feature file.

    Attributes
    ----------
    features : array of shape (n, d), float16 or float32
    labels : array of shape (n,), int32 in 0..K-1
    ids : array of shape (n,), fixed-length bytes (UTF-8)
    class_names : list of K str
    meta : dict
        The attributes, and ``<array>_sha256`` of the raw C-order bytes of each array.
    blocks : array of shape (n, L, d) or None
    blocks_mean : array of shape (n, d) or None
    """

    features: np.ndarray
    labels: np.ndarray
    ids: np.ndarray
    class_names: list[str]
    meta: dict[str, Any] = field(default_factory=dict)
    blocks: np.ndarray | None = None
    blocks_mean: np.ndarray | None = None

    def using(self, kind: str) -> FeatureSet:
        """Return the set with the features that a method reads.

        Parameters
        ----------
        kind : ``last``, as they are; ``blocks``, the L blocks side by side (n, L d); ``blocks-mean`` (n, d)

        Returns
        -------
        FeatureSet : its ``features_sha256`` is that of the array they are made of

        Raises
        ------
        FeatureFileError : the kind is unknown, or the backbone kept no blocks
        """
        if kind not in KINDS:
            raise FeatureFileError(f"Features {kind!r} are unknown; allowed: {', '.join(KINDS)}.")
        array = getattr(self, KINDS[kind])
        if array is None:
            raise FeatureFileError(
                f"{self.meta['dataset']}, {self.meta['split']}: the features of {self.meta['backbone']} hold no "
                f"{KINDS[kind]}, but the method reads {kind!r}. Name `blocks` in the backbone's block of params.yaml "
                "and extract again, or run the method on a backbone that keeps them."
            )
        sha256 = {"features_sha256": self.meta[f"{KINDS[kind]}_sha256"]}
        return replace(self, features=array.reshape(len(array), -1), meta=self.meta | sha256)


@dataclass(frozen=True)
class Header:
    """What a feature file says of itself: n samples of d features, the rest as in `FeatureSet`."""

    n: int
    d: int
    class_names: list[str]
    meta: dict[str, Any]
    dtype: str


@dataclass(frozen=True)
class View:
    """An array that lies in shards, one behind the other: (name of the file, rows) of each."""

    shape: tuple[int, ...]
    dtype: np.dtype
    shards: list[tuple[str, int]]


def manifest_path(path: str | os.PathLike[str]) -> Path:
    """Return the manifest that belongs to a feature file: the same name with the suffix .json."""
    return Path(path).with_suffix(".json")


def write(
    path: str | os.PathLike[str],
    features: np.ndarray,
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
    features, labels, ids, class_names, blocks, blocks_mean : see `FeatureSet`; ids may be text
    meta : dict with `REQUIRED_KEYS` and any other of `TEXT_KEYS` and `JSON_KEYS`; with ``shard`` (see `shards`) the
        file may have no samples at all, and training classes may lack some

    Returns
    -------
    dict : the manifest

    Raises
    ------
    FeatureFileError : the content would not pass the checks of `read`; nothing is written
    """
    path = Path(path)
    _check_meta(path, meta)
    arrays: dict[str, np.ndarray] = {
        "features": np.ascontiguousarray(features),
        "labels": np.ascontiguousarray(labels, dtype=np.int32),
        "ids": _encode_ids(ids),
    }
    optional = {"blocks": blocks, "blocks_mean": blocks_mean}
    arrays |= {k: np.ascontiguousarray(a) for k, a in optional.items() if a is not None}
    _check_shapes(path, {k: (a.shape, a.dtype) for k, a in arrays.items()}, "shard" in meta)
    if not np.array_equal(labels, arrays["labels"]):
        raise FeatureFileError(f"{path}: labels must be whole numbers that fit int32; got {labels}")
    _check_content(path, arrays, class_names, meta)
    return _write(path, arrays, _entries(arrays), class_names, meta)


def write_view(
    path: str | os.PathLike[str], shards: Iterable[tuple[str, FeatureSet]]
) -> dict[str, Any]:
    """Write a feature file whose features stay in its shards, and its manifest.

    `read` gives what it would give for one file of all samples, and the manifest is that of this file. Labels and ids
    are copied. The shards must stay where they are, as seen from the view.

    Parameters
    ----------
    path : path of the HDF5 file
    shards : in order, the path of each shard relative to the folder of `path`, as `SHARD` says, and its content;
        taken one by one, so that one is in memory at a time. They agree in all but rows (`shards.merge` sees to it)

    Returns
    -------
    dict : the manifest

    Raises
    ------
    FeatureFileError : the content would not pass the checks of `read`; nothing is written
    """
    path = Path(path)
    rows: list[tuple[str, int]] = []
    parts: list[list[str]] = []
    listed: dict[str, list[np.ndarray]] = {"labels": [], "ids": []}
    hashes = {name: hashlib.sha256() for name in KINDS.values()}
    for name, part in shards:
        if not SHARD.fullmatch(name):
            raise FeatureFileError(
                f"{path}: shard {name} is out of reach. Shards lie beside their view, as <name>.shards/<k>-of-<n>.h5: "
                "move it there."
            )
        rows.append((name, len(part.labels)))
        parts.append([part.meta[f"{array}_sha256"] for array in ARRAYS[:3]])
        listed["labels"].append(part.labels)
        listed["ids"].append(part.ids)
        found = {kind: array for kind in hashes if (array := getattr(part, kind)) is not None}
        for kind, array in found.items():
            hashes[kind].update(np.ascontiguousarray(array).data)
        tails = {kind: (array.shape[1:], array.dtype) for kind, array in found.items()}
        class_names, meta = part.class_names, part.meta
    small = {name: np.concatenate(arrays) for name, arrays in listed.items()}
    meta = {key: meta[key] for key in (*TEXT_KEYS, *JSON_KEYS) if key in meta and key != "shard"}
    n = sum(count for _, count in rows)
    views = {kind: View((n, *tail), dtype, rows) for kind, (tail, dtype) in tails.items()}
    arrays = small | views
    _check_shapes(path, {k: (a.shape, a.dtype) for k, a in arrays.items()})
    _check_content(path, small, class_names, meta)
    entries = _entries(small) | {k: _entry(a, hashes[k].hexdigest()) for k, a in views.items()}
    return _write(path, arrays, entries, class_names, meta, parts)


def read(
    path: str | os.PathLike[str],
    manifest: str | os.PathLike[str] | None = None,
    verify: bool = True,
) -> FeatureSet:
    """Read and check a feature file.

    Parameters
    ----------
    path : path of the HDF5 file
    manifest : path of its manifest; by default the .json file beside it
    verify : compare with the manifest; False only for a file that has none

    Returns
    -------
    FeatureSet

    Raises
    ------
    FeatureFileError : the file is missing, truncated, foreign, claims more than it holds, holds values
        that are not finite or labels outside the classes, a training class has no sample, or the
        manifest does not match. Sizes are checked before anything is allocated.
    """
    path = Path(path)
    arrays, class_names, meta = _read_hdf5(path)
    _check_meta(path, meta)
    _check_content(path, arrays, class_names, meta)
    found = _manifest(meta, class_names, _entries(arrays))
    if verify:
        _compare(path, found, _load_manifest(Path(manifest or manifest_path(path))))
    meta |= {f"{name}_sha256": entry["sha256"] for name, entry in found["arrays"].items()}
    return FeatureSet(
        features=arrays["features"],
        labels=arrays["labels"],
        ids=arrays["ids"],
        class_names=class_names,
        meta=meta,
        blocks=arrays.get("blocks"),
        blocks_mean=arrays.get("blocks_mean"),
    )


def header(path: str | os.PathLike[str], manifest: str | os.PathLike[str] | None = None) -> Header:
    """Check a feature file against its manifest (see `read`) as far as that goes without its arrays.

    ``meta`` has the hashes that the manifest states; `blocks` finds out whether they are true.

    Raises
    ------
    FeatureFileError : as `read`, and for what the arrays hold never
    """
    path = Path(path)
    with _opened(path) as (file, class_names, meta):
        stated = _load_manifest(Path(manifest or manifest_path(path)))
        _check_header(path, file, class_names, meta, stated)
        (n, d), dtype = file["features"].shape, file["features"].dtype.name
    hashes = {f"{name}_sha256": entry["sha256"] for name, entry in stated["arrays"].items()}
    return Header(n, d, class_names, meta | hashes, dtype)


def blocks(
    path: str | os.PathLike[str],
    rows: int = ROWS,
    manifest: str | os.PathLike[str] | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield features (b, d) and labels (b,) of a feature file in file order, b <= ``rows`` at a time.

    One pass, in memory for ``rows`` samples. Features, labels and ids are compared with the manifest's hashes on the
    way, so a damaged file is known as such only after its last block: what was made of the earlier ones must then be
    thrown away. Unlike `read`, a training class may lack samples (a file may be a part of a data set), and that no two
    ids are equal rests on the hash.

    Raises
    ------
    FeatureFileError : as `read`
    """
    path = Path(path)
    with _opened(path) as (file, class_names, meta):
        stated = _load_manifest(Path(manifest or manifest_path(path)))
        entries = _check_header(path, file, class_names, meta, stated)
        hashes = {name: hashlib.sha256() for name in ARRAYS[:3]}
        for first in range(0, len(file["labels"]), rows):
            part = {name: file[name][first : first + rows] for name in hashes}
            for name, array in part.items():
                hashes[name].update(np.ascontiguousarray(array).data)
            _check_rows(path, part, class_names, first)
            yield part["features"], part["labels"]
    for name, found in hashes.items():
        entries[name]["sha256"] = found.hexdigest()
    _compare(path, _manifest(meta, class_names, entries), stated)


def parts(
    path: str | os.PathLike[str], manifest: str | os.PathLike[str] | None = None
) -> list[list[str]]:
    """Return the hashes of features, labels and ids of each shard of a view, as they were merged; else of the file.

    Raises
    ------
    FeatureFileError : as `header`
    """
    meta = header(path, manifest).meta
    with _opened(Path(path)) as (file, _, _):
        if "parts" not in file.attrs:
            return [[meta[f"{array}_sha256"] for array in ARRAYS[:3]]]
        return json.loads(file.attrs["parts"])


def ids(path: str | os.PathLike[str], manifest: str | os.PathLike[str] | None = None) -> np.ndarray:
    """Return the ids (n,) of a feature file in file order, as plain fixed-length bytes.

    Raises
    ------
    FeatureFileError : as `header`, or when they are not those of the manifest
    """
    path = Path(path)
    with _opened(path) as (file, class_names, meta):
        stated = _load_manifest(Path(manifest or manifest_path(path)))
        entries = _check_header(path, file, class_names, meta, stated)
        # h5py's note on the dtype would not go into an npz file
        found = file["ids"][()].astype(f"S{file['ids'].dtype.itemsize}")
    entries["ids"]["sha256"] = _sha256(found)
    _compare(path, _manifest(meta, class_names, entries), stated)
    return found


def verify(
    path: str | os.PathLike[str], manifest: str | os.PathLike[str] | None = None
) -> dict[str, Any]:
    """Check a feature file against its manifest (see `read`) and return the manifest."""
    read(path, manifest)
    return _load_manifest(Path(manifest or manifest_path(path)))


def _encode_ids(ids: np.ndarray | list[str]) -> np.ndarray:
    encoded = [i if isinstance(i, bytes) else str(i).encode("utf-8") for i in ids]
    return np.array(encoded, dtype=np.bytes_)


def _text(identifier: bytes) -> str:
    return bytes(identifier).decode("utf-8", errors="replace")


def _sha256(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def _entry(array: Any, sha256: str) -> dict[str, Any]:
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": sha256}


def _entries(arrays: dict[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    return {name: _entry(array, _sha256(array)) for name, array in arrays.items()}


def _manifest(
    meta: dict[str, Any], class_names: list[str], entries: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    n, d = entries["features"]["shape"]
    return {
        "format": FORMAT,
        **{key: meta[key] for key in (*TEXT_KEYS, *JSON_KEYS) if key in meta},
        "class_names": list(class_names),
        "classes": len(class_names),
        "n": n,
        "d": d,
        "dtype": str(np.dtype(entries["features"]["dtype"])),
        "arrays": entries,
    }


def _check_meta(path: Path, meta: dict[str, Any]) -> None:
    missing = [key for key in REQUIRED_KEYS if key not in meta]
    unknown = [key for key in meta if key not in TEXT_KEYS + JSON_KEYS]
    if missing or unknown:
        raise FeatureFileError(
            f"{path}: attributes missing {missing}, unknown {unknown}. "
            f"A feature file has {', '.join(REQUIRED_KEYS)}; write it with sparcl.features.store.write."
        )
    if meta["split"] not in SPLITS:
        raise FeatureFileError(f"{path}: split is {meta['split']!r}; allowed: {', '.join(SPLITS)}")


def _check_shapes(
    path: Path, claimed: dict[str, tuple[tuple[int, ...], np.dtype]], shard: bool = False
) -> None:
    """Shapes and dtypes agree with each other; `claimed` maps array name to (shape, dtype)."""

    def fail(what: str) -> None:
        raise FeatureFileError(
            f"{path}: {what}. Not a feature file of this project, or damaged: extract it again."
        )

    missing = [name for name in ARRAYS[:3] if name not in claimed]
    if missing:
        fail(f"datasets missing: {', '.join(missing)}")
    shape, dtype = claimed["features"]
    if len(shape) != 2 or 0 in shape[shard:]:  # a shard may have no rows
        fail(f"features have shape {shape}, expected (n, d) with n, d >= 1")
    if dtype.name not in FEATURE_DTYPES:
        fail(f"features are {dtype.name}, expected {' or '.join(FEATURE_DTYPES)}")
    n, d = shape
    for name in ("labels", "ids"):
        if claimed[name][0] != (n,):
            fail(f"{name} have shape {claimed[name][0]}, but there are {n} feature rows")
    if claimed["labels"][1] != np.dtype(np.int32):
        fail(f"labels are {claimed['labels'][1].name}, expected int32")
    if claimed["ids"][1].kind != "S":
        fail(f"ids are {claimed['ids'][1]}, expected fixed-length bytes")
    for name, dimensions, expected in (("blocks", 3, f"({n}, L, {d})"), ("blocks_mean", 2, shape)):
        if name in claimed:
            found, of_type = claimed[name]
            if len(found) != dimensions or (found[0], found[-1]) != (n, d):
                fail(f"{name} have shape {found}, expected {expected}")
            if of_type != dtype:
                fail(f"{name} are {of_type.name}, features {dtype.name}")


def _check_header(
    path: Path, file: Any, class_names: list[str], meta: dict[str, Any], manifest: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Compare all but the arrays' content with the manifest; return its entries, hashes unproven."""
    _check_meta(path, meta)
    _check_names(path, class_names)
    entries = {
        name: _entry(file[name], manifest["arrays"].get(name, {}).get("sha256", ""))
        for name in ARRAYS
        if name in file
    }
    _compare(path, _manifest(meta, class_names, entries), manifest)
    return entries


def _check_rows(
    path: Path, arrays: dict[str, np.ndarray], class_names: list[str], first: int = 0
) -> None:
    """Features are finite and labels name classes, in rows of which the file's row ``first`` is the first."""
    ids, labels = arrays["ids"], arrays["labels"]
    for name in KINDS.values():
        if name not in arrays:
            continue
        finite = np.isfinite(arrays[name]).all(axis=tuple(range(1, arrays[name].ndim)))
        if not finite.all():
            row = int(np.argmin(finite))
            raise FeatureFileError(
                f"{path}: {name} of {np.count_nonzero(~finite)} samples are NaN or infinite, first row {first + row}, "
                f"sample {_text(ids[row])!r}. Usual cause: half precision overflows (float16 ends at 65504) "
                "or damaged weights. Extract again with extraction dtype and precision float32."
            )
    outside = (labels < 0) | (labels >= len(class_names))
    if outside.any():
        row = int(np.argmax(outside))
        raise FeatureFileError(
            f"{path}: label {labels[row]} of sample {_text(ids[row])!r} (row {first + row}) is outside "
            f"0..{len(class_names) - 1}. The file has {len(class_names)} class names: the labels and the class "
            "list come from different data sets or versions; extract again."
        )


def _check_names(path: Path, class_names: list[str]) -> None:
    if len(set(class_names)) != len(class_names):
        raise FeatureFileError(f"{path}: class names are not unique; rename the classes.")


def _check_content(
    path: Path, arrays: dict[str, np.ndarray], class_names: list[str], meta: dict[str, Any]
) -> None:
    ids, labels = arrays["ids"], arrays["labels"]
    _check_rows(path, arrays, class_names)
    _check_names(path, class_names)
    if meta["split"] == "train" and "shard" not in meta:
        empty = np.flatnonzero(np.bincount(labels, minlength=len(class_names)) == 0)
        if empty.size:
            names = ", ".join(class_names[i] for i in empty[:5])
            raise FeatureFileError(
                f"{path}: {empty.size} of {len(class_names)} classes have no training sample: {names}. "
                "Add samples or take the classes out of the data set."
            )
    unique, counts = np.unique(ids, return_counts=True)
    if unique.size != ids.size:
        raise FeatureFileError(
            f"{path}: sample id {_text(unique[np.argmax(counts)])!r} occurs {counts.max()} times; ids must be unique."
        )


def _write(
    path: Path,
    arrays: dict[str, np.ndarray | View],
    entries: dict[str, dict[str, Any]],
    class_names: list[str],
    meta: dict[str, Any],
    parts: list[list[str]] | None = None,
) -> dict[str, Any]:
    manifest = _manifest(meta, class_names, entries)
    _write_hdf5(path, arrays, class_names, meta, parts)
    text = json.dumps(manifest, sort_keys=True, indent=2, ensure_ascii=False)
    write_text(manifest_path(path), text + "\n")
    return manifest


def _write_hdf5(
    path: Path,
    arrays: dict[str, np.ndarray | View],
    class_names: list[str],
    meta: dict[str, Any],
    parts: list[list[str]] | None,
) -> None:
    import h5py

    with replacing(path) as temporary, h5py.File(temporary, "w", track_order=False) as file:
        for name in ARRAYS:
            if isinstance(arrays.get(name), View):
                file.create_virtual_dataset(name, _layout(name, arrays[name]))
            elif name in arrays:
                file.create_dataset(name, data=arrays[name], track_times=False)
        file.attrs["format"] = FORMAT
        file.attrs["class_names"] = list(class_names)
        file.attrs["dtype"] = str(arrays["features"].dtype)
        for key in TEXT_KEYS:
            if key in meta:
                file.attrs[key] = str(meta[key])
        for key in JSON_KEYS:
            if key in meta:
                file.attrs[key] = json.dumps(meta[key], sort_keys=True)
        if parts is not None:
            file.attrs["parts"] = json.dumps(parts)


def _layout(name: str, view: View) -> Any:
    """Return which rows of a view lie where, as h5py wants it."""
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


def _read_hdf5(path: Path) -> tuple[dict[str, np.ndarray], list[str], dict[str, Any]]:
    with _opened(path) as (file, class_names, meta):
        arrays = {name: file[name][()] for name in ARRAYS if name in file}
    return arrays, class_names, meta


@contextmanager
def _opened(path: Path, shard: bool = False) -> Iterator[tuple[Any, list[str], dict[str, Any]]]:
    """Yield the open HDF5 file, whose storage is checked, its class names and its attributes; no view as a `shard`."""
    import h5py

    if not path.is_file():
        raise FeatureFileError(
            f"{path}: no such feature file. Extract it (snakemake features) or restore the bundled one "
            "(git checkout data/features)."
        )
    try:
        # Readers of a file that nobody writes need no lock, and locks fail on network file systems.
        with h5py.File(path, "r", locking=False) as file:
            _check_storage(path, file, shard)
            yield file, *_attributes(path, dict(file.attrs))
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise FeatureFileError(
            f"{path}: not a readable HDF5 file ({error}). It is truncated, damaged or another kind of file: "
            "restore the bundled one (git checkout) or extract again."
        ) from error


def _attributes(path: Path, attrs: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    if attrs.get("format") != FORMAT or "class_names" not in attrs:
        raise FeatureFileError(
            f"{path}: an HDF5 file, but not a feature file of this project (attribute format is "
            f"{attrs.get('format')!r}, expected {FORMAT!r}). Extract it with this project's rule."
        )
    try:
        class_names = [str(name) for name in np.atleast_1d(attrs["class_names"])]
        meta = {key: str(attrs[key]) for key in TEXT_KEYS if key in attrs}
        meta |= {key: json.loads(attrs[key]) for key in JSON_KEYS if key in attrs}
    except (TypeError, ValueError) as error:
        raise FeatureFileError(
            f"{path}: attributes are damaged ({error}); extract again."
        ) from error
    return class_names, meta


def _check_storage(path: Path, file: Any, shard: bool) -> None:
    """Refuse links, external or chunked storage, views of anything but shards, and sizes that no file holds."""
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
        if data.is_virtual and not data.dtype.hasobject and not shard:
            _check_view(path, name, data)
            claimed[name] = (data.shape, data.dtype)
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
        claimed[name] = (data.shape, data.dtype)
    _check_shapes(path, claimed, "shard" in file.attrs)


def _check_view(path: Path, name: str, data: Any) -> None:
    """Every row of a view lies in one shard, shard behind shard, and the shards hold what the view claims.

    HDF5 reads zeros where a shard is missing, and would look for it in other folders too.
    """
    import h5py

    first = 0
    for part in data.virtual_sources():
        low, high = part.vspace.get_select_bounds()
        shape = (high[0] + 1 - low[0], *data.shape[1:])
        if (
            not SHARD.fullmatch(part.file_name)
            or part.dset_name != name
            or low != (first,) + (0,) * (len(shape) - 1)
            or part.vspace.get_select_npoints() != int(np.prod(shape, dtype=object))
            or part.src_space.get_select_type() != h5py.h5s.SEL_ALL
        ):
            raise FeatureFileError(
                f"{path}: {name} is a view of something else than shards, one behind the other. Not a feature file of "
                "this project: extract it with this project's rule."
            )
        source = path.parent / part.file_name
        if not source.is_file():
            raise FeatureFileError(
                f"{path}: {source} is missing, which holds {shape[0]} of its samples. Bring it back, or make it again: "
                f"snakemake --cores 1 {source}"
            )
        with _opened(source, shard=True) as (file, _, _):
            found = file[name] if name in file else None
            if found is None or (found.shape, found.dtype) != (shape, data.dtype):
                raise FeatureFileError(
                    f"{path}: {name} of {source} are not the {shape} {data.dtype} that were merged. The shard is "
                    "another one: merge again (delete the merged file and run snakemake)."
                )
        first += shape[0]
    if first != len(data):
        raise FeatureFileError(
            f"{path}: {name} claims {len(data)} rows, its shards hold {first}. Damaged: merge again (delete the merged "
            "file and run snakemake)."
        )


def _load_manifest(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FeatureFileError(
            f"{path}: the manifest of the feature file is missing. Restore it (git checkout) or extract again."
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FeatureFileError(f"{path}: the manifest is no JSON ({error}); restore it.") from error
    arrays = manifest.get("arrays") if isinstance(manifest, dict) else None
    if not isinstance(arrays, dict) or not all(isinstance(e, dict) for e in arrays.values()):
        raise FeatureFileError(f"{path}: not a manifest of a feature file; restore it.")
    return manifest


def _compare(path: Path, found: dict[str, Any], manifest: dict[str, Any]) -> None:
    wrong = [
        f"array {name}"
        for name in sorted(found["arrays"].keys() | manifest["arrays"].keys())
        if found["arrays"].get(name) != manifest["arrays"].get(name)
    ]
    wrong += [
        f"attribute {key}"
        for key in sorted((found.keys() | manifest.keys()) - {"arrays"})
        if found.get(key) != manifest.get(key)
    ]
    if wrong:
        raise FeatureFileError(
            f"{path}: does not match its manifest in {', '.join(wrong)}. One of the two was changed alone: "
            "restore both (git checkout) or extract again."
        )
