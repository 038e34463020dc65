"""Which feature files belong together: models and sums, which outlive their files, keep what they were made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sparcl.features.layout import ARRAYS, SOURCE, FeatureSet, Header

# What is said of the network behind features, and of the data set that they are of, with its type.
MADE: dict[str, Any] = dict.fromkeys(SOURCE, str) | {
    "preprocessing": dict[str, Any],
    "features": int,
    "precision": str | None,
}
ORIGIN = MADE | {
    "dataset": str,
    "split_sha256": str | None,
    "dtype": str,
    "arrays": list[str],
    "block_indices": list[Any] | None,
}

Difference = tuple[str, Any, Any]  # the attribute and its two values


def source(data: FeatureSet | Header) -> dict[str, Any]:
    """Return what features are made with: a model learns and classifies features of one source."""
    made = {key: data.meta[key] for key in SOURCE}
    return made | {
        "features": data.d,
        "precision": data.meta.get("extraction", {}).get("precision"),
    }


def origin(data: FeatureSet | Header) -> dict[str, Any]:
    """Return what the training and the test file of a data set have in common, class names aside."""
    return source(data) | {
        "dataset": data.meta["dataset"],
        "split_sha256": data.meta.get("split_sha256"),
        "dtype": data.dtype,
        "arrays": [name for name in ARRAYS if f"{name}_sha256" in data.meta],
        "block_indices": data.meta.get("block_indices"),
    }


def named(class_names: Sequence[str]) -> dict[str, Any]:
    """Return what labels mean, as attributes for :func:`difference`."""
    classes = {f"class {label}": name for label, name in enumerate(class_names)}
    return {"number of classes": len(class_names)} | classes


def difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> Difference | None:
    """Return the first attribute in which two files differ, of a mapping the key below it; None if they agree."""
    for key in [*one, *(key for key in other if key not in one)]:
        mine, its = one.get(key), other.get(key)
        if isinstance(mine, Mapping) and isinstance(its, Mapping):
            if found := difference(mine, its):
                return f"{key}.{found[0]}", *found[1:]
        elif mine != its:
            return key, mine, its
    return None
