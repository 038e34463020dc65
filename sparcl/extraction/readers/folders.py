"""Images in one folder a class, perhaps below train/ and test/."""

from __future__ import annotations

from typing import Any

from sparcl.extraction.readers.listing import Listing, Sample, class_folder, hidden, images, own
from sparcl.extraction.splits import SPLITS
from sparcl.extraction.storage.protocol import Storage

HIDDEN = "hidden, or a system's own"


def read_folders(storage: Storage, block: dict[str, Any]) -> Listing:
    """``{train,test}/<class>/<file>``; classes in alphabetical order."""
    samples: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    for name in images(storage):
        samples[name.split("/")[0]].append((name, class_folder(name, above=1)))
    classes = sorted({folder for _, folder in samples["train"]})
    label = {folder: number for number, folder in enumerate(classes)}
    return own(classes, *([(n, label[c]) for n, c in samples[s]] for s in SPLITS))


def read_classes(storage: Storage, block: dict[str, Any]) -> Listing:
    """``<class>/<file>``, or the same below train/ and test/ (or val/, as in ImageNet); classes in alphabetical order.

    Ids are ``<class>/<file>`` either way. `class_list` of the block names the classes of the data set, by default all.
    A test/ without class folders (as in ImageNet) is ignored; val/ beside a test/ with class folders is for training.
    """
    return _classes(storage, block, keep_prefix=False)


def read_any_folder(storage: Storage, block: dict[str, Any]) -> Listing:
    """Read a folder of one's own, laid out as in `read_classes` or deeper; ids are the files' names below the root."""
    return _classes(storage, block, keep_prefix=True)


def is_split(names: list[str]) -> bool:
    """Return whether images lie as ``{train,test}/<class>/...`` or ``{train,val}/<class>/...``."""
    parts = [name.split("/") for name in names]
    tops = {part[0] for part in parts if len(part) >= 3}
    loose = {part[0] for part in parts if len(part) < 3}
    return {"train"} < tops <= {"train", "val", "test"} and loose <= {"val", "test"}


def _classes(storage: Storage, block: dict[str, Any], keep_prefix: bool) -> Listing:
    names = images(storage)
    others = set(storage.names()) - set(names)
    skipped = {name: HIDDEN if hidden(name) else "no image by its name" for name in others}
    split = is_split(names)
    depth = 1 if split else 0
    skipped |= {name: "in no class folder" for name in names if name.count("/") <= depth}
    names = [name for name in names if name.count("/") > depth]
    found = {name.split("/")[depth] for name in names}
    shown = [name for name in others if name.count("/") > depth and not hidden(name)]
    bare = {"/".join(name.split("/")[: depth + 1]) for name in shown}
    bare -= {"/".join(name.split("/")[: depth + 1]) for name in names}
    skipped |= {f"{folder}/": "a class folder without images" for folder in bare}
    classes = sorted(block.get("class_list") or found)
    if missing := [name for name in classes if name not in found]:
        raise ValueError(f"{len(missing)} of {len(classes)} classes have no image: {missing[0]}")
    label = {name: number for number, name in enumerate(classes)}
    test = "test" if any(name.startswith("test/") for name in names) else "val"
    samples = []
    for name in names:
        parts = name.split("/")
        if parts[depth] in label:
            part = ("test" if parts[0] == test else "train") if split else ""
            identifier = name if keep_prefix else "/".join(parts[depth:])
            samples.append(Sample(identifier, name, label[parts[depth]], part))
    twice = len(samples) - len({sample.id for sample in samples})
    if twice:
        raise ValueError(f"{twice} images of a class have the same name in two splits")
    return Listing(classes, sorted(samples), skipped)
