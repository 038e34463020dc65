"""The findings of a reader: classes, samples, and the files that are neither."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sparcl.extraction.storage.protocol import Storage
from study.images.split_lists import SPLITS


class Sample(NamedTuple):
    """One image: `file` is its name in the storage; `split` is train, test, or empty where the layout has none."""

    id: str
    file: str
    label: int
    split: str


@dataclass
class Listing:
    """The findings of a reader.

    Attributes
    ----------
    class_names : list of str
    samples : in the order in which features are stored
    skipped : name to reason, of files that are no images of this data set
    storage : where the images are, if not in the storage that the reader was given
    """

    class_names: list[str]
    samples: list[Sample]
    skipped: dict[str, str] = field(default_factory=dict)
    storage: Storage | None = None


def own(classes: list[str], train: list[tuple[str, int]], test: list[tuple[str, int]]) -> Listing:
    """Return the listing of a layout with its own split, from (file, label) pairs; the file's name is the id."""
    pairs = {"train": train, "test": test}
    samples = [Sample(n, n, label, split) for split in SPLITS for n, label in pairs[split]]
    return Listing(classes, samples)
