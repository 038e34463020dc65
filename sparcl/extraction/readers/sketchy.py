"""Sketches of photos, split by photo."""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from sparcl.extraction.readers.listing import TRAIN_SHARE, Listing, by_class, images, own
from sparcl.extraction.storage.protocol import Storage


def photo_id(name: str) -> str:
    """Return the photo that a sketch ``<category>/<wnid>_<photo>-<k>.png`` was drawn from."""
    stem, dash, _ = PurePosixPath(name).stem.rpartition("-")
    if not dash:
        raise ValueError(f"{name} has no -k after the photo id")
    return stem


def read_sketchy(storage: Storage, block: dict[str, Any]) -> Listing:
    """``<category>/<wnid>_<photo>-<k>.png``, split by photo: several sketches show the same photo.

    In each category the photo ids are sorted, and the first m of them are for training, with the m that brings
    the number of training sketches closest to 70% (ties: the larger m; at least one photo on either side).
    """
    classes, files = by_class(images(storage))
    train: list[tuple[str, int]] = []
    test: list[tuple[str, int]] = []
    for label, category in enumerate(classes):
        photos = defaultdict(list)
        for name in files[category]:
            photos[photo_id(name)].append(name)
        groups = [photos[photo] for photo in sorted(photos)]
        if len(groups) < 2:
            raise ValueError(
                f"category {category} has sketches of one photo only and cannot be split"
            )
        reached = np.cumsum([len(group) for group in groups])[:-1]
        distance = np.abs(reached - TRAIN_SHARE * len(files[category]))
        m = int(np.flatnonzero(distance == distance.min())[-1]) + 1
        for number, group in enumerate(groups):
            (train if number < m else test).extend((name, label) for name in group)
    return own(classes, train, test)
