"""The rules that every feature file must satisfy, checked before it is written and when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from sparcl.base.errors import FeatureFileError, listed
from sparcl.features.layout import (
    FEATURE_DTYPES,
    JSON_KEYS,
    KINDS,
    REQUIRED_ARRAYS,
    REQUIRED_KEYS,
    SPLITS,
    TEXT_KEYS,
    Stream,
)

NO_TEXT = "is no UTF-8 text, or has a zero byte in it"


def check_meta(path: Path, meta: dict[str, Any]) -> None:
    """Raise FeatureFileError unless the attributes are complete, known, and name a split."""
    missing = [key for key in REQUIRED_KEYS if key not in meta]
    unknown = [key for key in meta if key not in TEXT_KEYS + JSON_KEYS]
    if missing or unknown:
        raise FeatureFileError(
            f"{path}: attributes missing {missing}, unknown {unknown}. "
            f"A feature file has {', '.join(REQUIRED_KEYS)}; write it with sparcl.features.store.write."
        )
    if meta["split"] not in SPLITS:
        raise FeatureFileError(f"{path}: split is {meta['split']!r}; allowed: {', '.join(SPLITS)}")


def check_shapes(
    path: Path, claimed: Mapping[str, tuple[tuple[int, ...], np.dtype]], shard: bool = False
) -> None:
    """Raise FeatureFileError unless shapes and dtypes, by array name, fit together. Only a shard may have no rows."""

    def fail(what: str) -> NoReturn:
        raise FeatureFileError(
            f"{path}: {what}. Not a feature file of this project, or damaged: extract it again."
        )

    if missing := [name for name in REQUIRED_ARRAYS if name not in claimed]:
        fail(f"datasets missing: {', '.join(missing)}")
    shape, dtype = claimed["features"]
    if len(shape) != 2 or 0 in shape[shard:]:
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


def check_class_names(path: Path, class_names: list[str]) -> None:
    """Raise FeatureFileError unless class names are text, each once."""
    if len(set(class_names)) != len(class_names):
        raise FeatureFileError(f"{path}: class names are not unique; rename the classes.")
    for name in class_names:
        if not _is_text(name.encode("utf-8", "surrogatepass")):
            raise FeatureFileError(f"{path}: class name {name!a} {NO_TEXT}; rename the class.")


def check_rows(
    path: Path, arrays: Mapping[str, Any], class_names: list[str], first: int = 0
) -> None:
    """Raise FeatureFileError unless features are finite, labels name classes and ids are text.

    The first of these rows is row `first` of the file.
    """
    ids, labels = arrays["ids"], arrays["labels"]
    for name in KINDS.values():
        if not isinstance(
            arrays.get(name), np.ndarray
        ):  # missing, a view of checked shards, or a stream
            continue
        finite = np.isfinite(arrays[name]).all(axis=tuple(range(1, arrays[name].ndim)))
        if not finite.all():
            row = int(np.argmin(finite))
            raise FeatureFileError(
                f"{path}: {name} of {np.count_nonzero(~finite)} samples are NaN or infinite, first row {first + row}, "
                f"sample {_text(ids[row])!r}. Usual cause: half precision overflows (float16 ends at 65504) "
                "or damaged weights. Extract again with extraction dtype and precision float32."
            )
    for row, identifier in enumerate(ids.tolist(), first):
        if not _is_text(identifier):
            raise FeatureFileError(
                f"{path}: the id {identifier!r} of row {row} {NO_TEXT}; give the sample another id."
            )
    outside = (labels < 0) | (labels >= len(class_names))
    if outside.any():
        row = int(np.argmax(outside))
        raise FeatureFileError(
            f"{path}: label {labels[row]} of sample {_text(ids[row])!r} (row {first + row}) is outside "
            f"0..{len(class_names) - 1}. The file has {len(class_names)} class names: the labels and the class "
            "list come from different data sets or versions; extract again."
        )


def check_content(
    path: Path, arrays: Mapping[str, Any], class_names: list[str], meta: dict[str, Any]
) -> None:
    """Raise FeatureFileError unless `check_rows` passes, ids are unique and no training class is empty."""
    ids, labels = arrays["ids"], arrays["labels"]
    check_rows(path, arrays, class_names)
    if isinstance(arrays["features"], Stream):
        _check_stream(path, arrays["features"], ids, labels, class_names)
    check_class_names(path, class_names)
    if meta["split"] == "train" and "shard" not in meta:
        empty = np.flatnonzero(np.bincount(labels, minlength=len(class_names)) == 0)
        if empty.size:
            names = listed([class_names[i] for i in empty])
            raise FeatureFileError(
                f"{path}: {empty.size} of {len(class_names)} classes have no training sample: {names}. "
                "Add samples or take the classes out of the data set."
            )
    unique, counts = np.unique(ids, return_counts=True)
    if unique.size != ids.size:
        raise FeatureFileError(
            f"{path}: sample id {_text(unique[np.argmax(counts)])!r} occurs {counts.max()} times; ids must be unique."
        )


def _check_stream(
    path: Path, features: Stream, ids: np.ndarray, labels: np.ndarray, class_names: list[str]
) -> None:
    """Raise FeatureFileError unless the blocks are of the stated kind and all their rows pass `check_rows`."""
    first = 0
    for block in features.blocks():
        if (block.shape[1:], block.dtype) != (features.shape[1:], features.dtype):
            raise FeatureFileError(
                f"{path}: the block of features at row {first} is {block.dtype} of shape {block.shape}, not "
                f"{features.dtype} of {features.shape[1]} numbers a row. Make all blocks alike."
            )
        rows = slice(first, first + len(block))
        if rows.stop <= len(ids):
            part = {"features": block, "ids": ids[rows], "labels": labels[rows]}
            check_rows(path, part, class_names, first)
        first = rows.stop
    if first != len(ids):
        raise FeatureFileError(
            f"{path}: the blocks of features hold {first} rows, not the {len(ids)} stated. State what they hold."
        )


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _text(identifier: bytes) -> str:
    return bytes(identifier).decode("utf-8", errors="replace")
