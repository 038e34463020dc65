"""Which feature files belong together: models and sums, which outlive their files, keep what they were made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparcl.features.layout import SOURCE, FeatureSet, Header

# What is said of the network behind features, with its type.
MADE: dict[str, Any] = dict.fromkeys(SOURCE, str) | {
    "preprocessing": dict[str, Any],
    "features": int,
    "precision": str | None,
}
Difference = tuple[str, Any, Any]  # the attribute and its two values


def source(data: FeatureSet | Header) -> dict[str, Any]:
    """Return what features are made with: a model learns and classifies features of one source."""
    made = {key: data.meta[key] for key in SOURCE}
    return made | {
        "features": data.d,
        "precision": data.meta.get("extraction", {}).get("precision"),
    }


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
