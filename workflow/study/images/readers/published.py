"""CUB-200-2011, Grocery Store, Sketchy and scikit-learn's digits, as their publishers laid them out."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from sparcl.extraction.images import images
from sparcl.extraction.storage.protocol import ArrayStorage, Storage
from study.images.readers.folders import read_classes, split_folders
from study.images.readers.listing import Listing, Sample, own

TRAIN_SHARE = 0.7  # of Sketchy and the digits, whose publishers split nothing


def read_cub(storage: Storage, block: dict[str, Any]) -> Listing:
    """CUB-200-2011 as published, with its official split, or as ``{train,test}/<class>/<file>`` with that one.

    Ids are ``images/<class>/<file>`` either way. Class numbers, less one, are the labels.
    """
    if "images.txt" not in storage.names() and split_folders(images(storage)):
        listing = read_classes(storage, block)
        listing.samples = [s._replace(id=f"images/{s.id}") for s in listing.samples]
        return listing

    def table(name: str) -> list[list[str]]:
        return [
            line.split(" ", 1) for line in storage.read(name).decode("utf-8").splitlines() if line
        ]

    classes = table("classes.txt")
    if [int(number) for number, _ in classes] != list(range(1, len(classes) + 1)):
        raise ValueError("classes.txt is not numbered 1, 2, 3, ...")
    label = {image: int(number) - 1 for image, number in table("image_class_labels.txt")}
    training = {image: int(flag) for image, flag in table("train_test_split.txt")}
    present = set(storage.names())
    samples: list[Sample] = []
    for image, path in table("images.txt"):
        name = f"images/{path}"
        if name not in present:
            raise ValueError(f"image {path} of images.txt is missing")
        samples.append(Sample(name, name, label[image], ("test", "train")[training[image]]))
    return Listing([name for _, name in classes], samples)


def read_grocery(storage: Storage, block: dict[str, Any]) -> Listing:
    """Grocery Store with its lists: train and val are for training, the official test for testing; fine classes."""
    rows = list(csv.reader(io.StringIO(storage.read("classes.csv").decode("utf-8"))))[1:]
    names = {int(row[1]): row[0] for row in rows}
    if sorted(names) != list(range(len(names))):
        raise ValueError("classes.csv is not numbered 0, 1, 2, ...")
    present = set(storage.names())

    def samples(part: str) -> list[tuple[str, int]]:
        lines = storage.read(f"{part}.txt").decode("utf-8").splitlines()
        pairs = [
            (path.strip(), int(fine))
            for path, fine, _ in (line.split(",") for line in lines if line)
        ]
        missing = [path for path, _ in pairs if path not in present]
        if missing:
            raise ValueError(f"image {missing[0]} of {part}.txt is missing")
        return pairs

    return own(
        [names[i] for i in range(len(names))], samples("train") + samples("val"), samples("test")
    )


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
    photos: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in images(storage):
        if name.count("/") != 1:
            raise ValueError(f"{name} does not lie in a class folder, but beside or below it")
        photos[name.split("/")[0]][photo_id(name)].append(name)
    train: list[tuple[str, int]] = []
    test: list[tuple[str, int]] = []
    for label, category in enumerate(sorted(photos)):
        groups = [photos[category][photo] for photo in sorted(photos[category])]
        if len(groups) < 2:
            raise ValueError(
                f"category {category} has sketches of one photo only and cannot be split"
            )
        reached = np.cumsum([len(group) for group in groups])
        distance = np.abs(reached[:-1] - TRAIN_SHARE * reached[-1])
        m = int(np.flatnonzero(distance == distance.min())[-1]) + 1
        for number, group in enumerate(groups):
            (train if number < m else test).extend((name, label) for name in group)
    return own(sorted(photos), train, test)


def read_digits(storage: Storage, block: dict[str, Any]) -> Listing:
    """Return the 8x8 digits inside scikit-learn's wheel as images ``<digit>/<position in the data set>.png``.

    Of each digit the first 70% (rounded) in the order of the data set are for training.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    pixels = np.round(digits.images * (255 / 16)).astype(np.uint8)
    named: dict[str, np.ndarray] = {}
    train: list[tuple[str, int]] = []
    test: list[tuple[str, int]] = []
    for label in range(10):
        positions = np.flatnonzero(digits.target == label)
        pairs = [(f"{label}/{position:04d}.png", label) for position in positions]
        named |= {name: pixels[at] for (name, _), at in zip(pairs, positions, strict=True)}
        m = round(TRAIN_SHARE * len(pairs))
        train, test = train + pairs[:m], test + pairs[m:]
    listing = own([str(label) for label in range(10)], train, test)
    listing.storage = ArrayStorage(named)
    return listing
