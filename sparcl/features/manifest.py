"""Manifests: what a feature file holds, with the hash of every array, as JSON beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import FeatureFileError
from sparcl.base.files import write_text
from sparcl.features.layout import FORMAT, JSON_KEYS, TEXT_KEYS, Stream, manifest_path

Entry = dict[str, Any]  # dtype, shape and sha256 of an array


def sha256(array: np.ndarray | Stream) -> str:
    """Return the hash of an array's raw bytes in C order."""
    found = hashlib.sha256()
    for block in array.blocks() if isinstance(array, Stream) else [array]:
        found.update(np.ascontiguousarray(block).data)
    return found.hexdigest()


def entry(array: Any, digest: str) -> Entry:
    """Return what a manifest says about an array (anything with a dtype and a shape)."""
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest}


def entries(arrays: Mapping[str, np.ndarray | Stream]) -> dict[str, Entry]:
    """Return the entry of every array."""
    return {name: entry(array, sha256(array)) for name, array in arrays.items()}


def row_hashes(features: np.ndarray | Stream) -> list[bytes]:
    """Return a hash of every row (d,): samples with equal ones have equal features, to the bit."""
    blocks = features.blocks() if isinstance(features, Stream) else [features]
    return [
        hashlib.blake2b(row.data, digest_size=16).digest()
        for block in blocks
        for row in np.ascontiguousarray(block)
    ]


def build(
    meta: dict[str, Any], class_names: list[str], arrays: dict[str, Entry], duplicates: int | None
) -> dict[str, Any]:
    """Return the manifest of a file with these attributes, classes and array entries.

    ``duplicates`` counts the samples whose features an earlier sample has; None leaves it out.
    """
    n, d = arrays["features"]["shape"]
    return {
        "format": FORMAT,
        **{key: meta[key] for key in (*TEXT_KEYS, *JSON_KEYS) if key in meta},
        "class_names": list(class_names),
        "classes": len(class_names),
        "n": n,
        "d": d,
        "dtype": str(np.dtype(arrays["features"]["dtype"])),
        "arrays": arrays,
        **({} if duplicates is None else {"duplicates": duplicates}),
    }


def write(path: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest beside the feature file `path`."""
    text = json.dumps(manifest, sort_keys=True, indent=2, ensure_ascii=False)
    write_text(manifest_path(path), text + "\n")


def load(path: Path) -> dict[str, Any]:
    """Read a manifest.

    Raises
    ------
    FeatureFileError : it is missing, or something else than a manifest
    """
    if not path.is_file():
        raise FeatureFileError(
            f"{path}: the manifest of the feature file is missing. Restore it (git checkout) or extract again."
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FeatureFileError(f"{path}: the manifest is no JSON ({error}); restore it.") from error
    arrays = manifest.get("arrays") if isinstance(manifest, dict) else None
    if not isinstance(arrays, dict) or not all(isinstance(e, dict) for e in arrays.values()):
        raise FeatureFileError(f"{path}: not a manifest of a feature file; restore it.")
    return manifest


def compare(path: Path, found: dict[str, Any], stated: dict[str, Any]) -> None:
    """Raise FeatureFileError, naming every difference, unless the file `path` is what its manifest states.

    Older manifests, those of the bundle among them, count no ``duplicates``; and a reader of no features finds none.
    """
    wrong = [
        f"array {name}"
        for name in sorted(found["arrays"].keys() | stated["arrays"].keys())
        if found["arrays"].get(name) != stated["arrays"].get(name)
    ]
    wrong += [
        f"attribute {key}"
        for key in sorted((found.keys() | stated.keys()) - {"arrays"})
        if found.get(key) != stated.get(key)
        and not (key == "duplicates" and (key not in found or key not in stated))
    ]
    if wrong:
        raise FeatureFileError(
            f"{path}: does not match its manifest in {', '.join(wrong)}. One of the two was changed alone: "
            "restore both (git checkout) or extract again."
        )
