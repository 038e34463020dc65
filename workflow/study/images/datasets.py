"""Image data sets: a reader lists the images, and a list, the layout or a draw splits them."""

from __future__ import annotations

import csv
import hashlib
import json
import logging
import os
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import DatasetError, listed
from sparcl.extraction import splits
from sparcl.extraction.images import FOREIGN, ImageSplit, hidden, images
from sparcl.extraction.storage.folder import FolderStorage
from sparcl.extraction.storage.protocol import ArrayStorage, Storage
from study.images import split_lists
from study.images.locate import local_place, open_storage
from study.images.readers import BY_NAME, READERS
from study.images.readers.listing import Listing

logger = logging.getLogger(__name__)

TEST_SHARE = 0.2  # of a folder without train/ and test/, unless its block says otherwise


def open_split(
    dataset: str,
    block: dict[str, Any],
    split: str,
    root: str = "",
    cache: str = "",
    split_list: str | os.PathLike[str] = "",
) -> ImageSplit:
    """Find the images of one split of a data set.

    Parameters
    ----------
    dataset : its id
    block : its settings: reader, and what `storage.locate.open_storage` and `split_of` read there
    split : train or test
    root : folder that holds `folder` or `archive`; by default $SPARCL_DATA
    cache : folder of downloads, see `weights.cache_folder`
    split_list : file that says which image is in which split (see `splits`); by default as in `split_of`

    Raises
    ------
    DatasetError : images missing, of another layout, or of other counts than the settings state
    """
    listing, storage = _listing(dataset, block, root, cache)
    assigned = split_of(dataset, block, listing, split_list)
    samples = [sample for sample in listing.samples if assigned.get(sample.id) == split]
    return ImageSplit(
        dataset=dataset,
        split=split,
        class_names=listing.class_names,
        ids=[sample.id for sample in samples],
        files=[sample.file for sample in samples],
        labels=np.array([sample.label for sample in samples], dtype=np.int32),
        storage=storage,
        upright=block["reader"] == "folder",
        split_sha256=split_lists.sha256(assigned) if how_split(block) != "own" else "",
        skipped=listing.skipped,
    )


def find_split(
    dataset: str, block: dict[str, Any], root: str = "", cache: str = ""
) -> dict[str, str]:
    """Return the split of a data set, train or test by id, as `open_split` finds it; log what is left out of it."""
    listing, _ = _listing(dataset, block, root, cache)
    left_out = {name: why for name, why in listing.skipped.items() if not hidden(name)}
    for why, number in sorted(Counter(left_out.values()).items()):
        first = min(name for name in left_out if left_out[name] == why)
        logger.warning("%s: left out, %s: %d, first %r.", dataset, why, number, first)
    return split_of(dataset, block, listing)


def how_split(block: dict[str, Any]) -> str:
    """Return how a data set is split, as its block says or by default: ``own``, ``draw`` or the path of a list."""
    return block.get("split", "draw" if block.get("reader") == "folder" else "own")


def split_of(
    dataset: str,
    block: dict[str, Any],
    listing: Listing,
    split_list: str | os.PathLike[str] = "",
) -> dict[str, str]:
    """Return the split of each image, by id.

    A list decides if there is one. Otherwise ``own`` takes the split of the layout. ``draw`` does so too where the
    images lie in train/ and test/ folders; elsewhere it draws (`splits.draw`) as many test images as `counts` states,
    by default the share `test_share`.

    Raises
    ------
    DatasetError : nothing says the split, a list names unknown images, the counts are not those of the settings, or a
        class has no training or no test image
    """
    how, counts = how_split(block), block.get("counts", {})
    split_list = split_list or (how if how not in ("own", "draw") else "")
    if split_list:
        assigned = split_lists.read(split_list)
        known = {sample.id for sample in listing.samples}
        unknown = [identifier for identifier in assigned if identifier not in known]
        if unknown:
            raise DatasetError(
                f"{dataset}: {len(unknown)} images of the split list {Path(split_list).name} are missing, first "
                f"{unknown[0]!r}. An id looks like {next(iter(sorted(known)), '')!r}. Correct the list, or complete "
                "the data set."
            )
    elif how == "own" or all(s.file.split("/")[0].lower() in splits.ROLES for s in listing.samples):
        assigned = {sample.id: sample.split for sample in listing.samples}
    else:
        pools: list[list[str]] = [[] for _ in listing.class_names]
        for sample in listing.samples:
            pools[sample.label].append(sample.id)
        sizes = dict(zip(listing.class_names, map(len, pools), strict=True))
        if few := [name for name, size in sizes.items() if size < 2]:
            raise DatasetError(
                f"{dataset}: a single image in {listed(few)}, and a class "
                "needs two or more: one for training and one for testing. Add images, take the folder out, or name the "
                "classes to use in `class_list`."
            )
        share = round(block.get("test_share", TEST_SHARE) * len(listing.samples))
        # a default that no setting asks for yields to one image of each class
        if "test_share" not in block:
            share = max(share, len(sizes))
        assigned = splits.draw(pools, counts.get("test", share))
    found = {split: list(assigned.values()).count(split) for split in split_lists.SPLITS}
    if any(found[key] != counts[key] for key in counts) or (
        len(listing.class_names) != block.get("classes", len(listing.class_names))
    ):
        raise DatasetError(
            f"{dataset}: found {len(listing.class_names)} classes and {found} images, and the settings "
            f"`datasets.{dataset}.classes` and `datasets.{dataset}.counts` state {block.get('classes', 'any number')} "
            f"and {counts}. The copy is incomplete or another version: "
            "fetch it again, or correct the counts of a data set of your own."
        )
    for split in split_lists.SPLITS:
        held = {sample.label for sample in listing.samples if assigned.get(sample.id) == split}
        names = listing.class_names
        if few := [name for label, name in enumerate(names) if label not in held]:
            raise DatasetError(
                f"{dataset}: no {split} image of {listed(few)}. Add images of them, take the classes out, or "
                "state `split: draw` or a split list."
            )
    return assigned


def _listing(dataset: str, block: dict[str, Any], root: str, cache: str) -> tuple[Listing, Storage]:
    reader = block["reader"]
    storage = ArrayStorage({}) if reader == "digits" else open_storage(dataset, block, root, cache)
    try:
        listing = READERS[reader](storage, block)
        number = len(listing.class_names)
        for sample in listing.samples:
            if not 0 <= sample.label < number:
                raise ValueError(f"{sample.id} is of class {sample.label}, beside 0..{number - 1}")
    except (KeyError, ValueError, IndexError, csv.Error, pickle.UnpicklingError) as error:
        raise DatasetError(
            f"{dataset}: the files do not have the layout of reader {reader!r} ({type(error).__name__}: {error}). "
            "docs/data.md shows the layout of every reader: compare, or choose another reader."
        ) from error
    listing.skipped = storage.skipped | listing.skipped
    if reader in BY_NAME and (unread := images(storage, FOREIGN)):
        if block.get("on_bad_image", "fail") == "fail":
            raise DatasetError(
                f"{dataset}: {len(unread)} files are images of a format that is not read here, first {unread[0]!r}. "
                "Convert them to JPEG or PNG; or set `on_bad_image: skip`, which leaves them out and lists them."
            )
        listing.skipped |= dict.fromkeys(unread, "an image of a format that is not read here")
    return listing, listing.storage or storage


def folder_stamp(block: dict[str, Any], root: str = "") -> str:
    """Return a hash of the names, sizes and times of a `folder` data set's files, so that new images are noticed.

    The folder is looked for as `storage.locate.open_storage` does. Empty for other readers, whose data sets do not
    change, and where there is no folder.
    """
    place = local_place(block, root)
    folder = place and place / block.get("folder", "")
    if block["reader"] != "folder" or not folder or not folder.is_dir():
        return ""
    storage = FolderStorage(folder)
    files = [[name, *storage.stamp(name)] for name in storage.names()]
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()
