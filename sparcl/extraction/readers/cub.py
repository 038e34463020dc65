"""CUB-200-2011."""

from __future__ import annotations

from typing import Any

from sparcl.extraction.readers.folders import is_split, read_classes
from sparcl.extraction.readers.listing import Listing, Sample, images
from sparcl.extraction.storage.protocol import Storage


def read_cub(storage: Storage, block: dict[str, Any]) -> Listing:
    """CUB-200-2011 as published, with its official split, or as ``{train,test}/<class>/<file>`` with that one.

    Ids are ``images/<class>/<file>`` either way. Class numbers, less one, are the labels.
    """
    if "images.txt" not in storage.names() and is_split(images(storage)):
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
