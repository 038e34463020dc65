"""Views: a feature file whose features stay where they are, in its shards.

The shards are feature files in the folder ``<name>.shards`` beside the view. Labels and ids are copied, the manifest is
that of one file of all samples, and the attribute ``parts`` has the hashes of every shard (`store.parts`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import FeatureFileError
from sparcl.features import hdf5, manifest
from sparcl.features.layout import (
    JSON_KEYS,
    KINDS,
    REQUIRED_ARRAYS,
    SHARD,
    TEXT_KEYS,
    FeatureSet,
    PathLike,
    View,
)
from sparcl.features.required import check_content, check_shapes


def write(path: PathLike, shards: Iterable[tuple[str, FeatureSet]]) -> dict[str, Any]:
    """Write the view of shards, and its manifest.

    Parameters
    ----------
    path : path of the HDF5 file
    shards : in order, the path of each shard relative to the folder of `path` (`layout.SHARD`) and its content; they
        are taken one by one, so one is in memory at a time, and differ in their rows alone (`shards.merge` checks it)

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
