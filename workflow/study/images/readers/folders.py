"""Images in one folder a class, perhaps below train/ and test/."""

from __future__ import annotations

from typing import Any

from sparcl.base.errors import listed
from sparcl.extraction.images import hidden, images
from sparcl.extraction.splits import ROLES
from sparcl.extraction.storage.protocol import Storage
from study.images.readers.listing import Listing, Sample

HIDDEN = "hidden, or a system's own"


def read_classes(storage: Storage, block: dict[str, Any], keep_prefix: bool = False) -> Listing:
    """``<class>/<file>``, or the same below folders of splits (see `split_folders`); classes in alphabetical order.

    Ids are ``<class>/<file>`` either way. Without test/, val/ is for testing; beside it, for training. Of the block:

    - `class_depth`: level of the folders that are classes, from 1 for the upper ones, below those of splits
    - `domains`: of the folders right above the classes, those to use; by default all
    - `class_list`: the classes to use; by default all

    Raises
    ------
    ValueError : classes or domains without images, ids that are there twice, or two readings of the same folders
    """
    names = images(storage)
    others = set(storage.names()) - set(names)
    skipped = {name: HIDDEN if hidden(name) else "no image by its name" for name in others}
    split = split_folders(names)
    depth = bool(split) + block.get("class_depth", 1) - 1
    if "class_depth" not in block:
        _check_depth(_below(names, depth))
    shown = [name for name in others if name.count("/") > depth and not hidden(name)]
    placed = [n for n in names if n.count("/") > depth and (not split or n.split("/")[0] in split)]
    skipped |= dict.fromkeys(set(names).difference(placed), "in no class folder")
    bare, filled = ({"/".join(n.split("/")[: depth + 1]) for n in part} for part in (shown, placed))
    skipped |= {f"{folder}/": "a class folder without images" for folder in bare - filled}
    if "domains" in block:
        found = {name.split("/")[depth - 1] for name in placed}
        if missing := [name for name in block["domains"] if name not in found]:
            raise ValueError(f"domain {missing[0]} has no image, but {listed(sorted(found))} have")
        placed = [name for name in placed if name.split("/")[depth - 1] in block["domains"]]
    found = {name.split("/")[depth] for name in placed}
    if not (classes := sorted(block.get("class_list") or found)):
        raise ValueError("no image lies in a folder")
    if missing := [name for name in classes if name not in found]:
        raise ValueError(f"{len(missing)} of {len(classes)} classes have no image: {missing[0]}")
    label = {name: number for number, name in enumerate(classes)}
    test = "test" if "test" in split.values() else "val"
    samples = []
    for name in placed:
        top, *_ = parts = name.split("/")
        if parts[depth] in label:
            part = ("test" if split[top] == test else "train") if split else ""
            identifier = name if keep_prefix or not split else name.partition("/")[2]
            samples.append(Sample(identifier, name, label[parts[depth]], part))
    twice = len(samples) - len({sample.id for sample in samples})
    if twice:
        raise ValueError(f"{twice} images of a class have the same name in two splits")
    return Listing(classes, sorted(samples), skipped)


def read_folder(storage: Storage, block: dict[str, Any]) -> Listing:
    """Read what `read_classes` does; ids are the files' names below the root."""
    return read_classes(storage, block, keep_prefix=True)


def split_folders(names: list[str]) -> dict[str, str]:
    """Return what each top folder holds (train, val or test) if images lie as ``<split>/<class>/...``; else nothing.

    A folder that holds none of the training classes, such as ImageNet's test/, is left out.

    Raises
    ------
    ValueError : folders have names of splits (`ROLES`), and there is no such layout
    """
    below = _below(names, 0)
    roles = {top: ROLES.get(top.lower(), "") for top in below}
    if not (named := [top for top in roles if roles[top]]):
        return {}
    if other := [top for top in roles if not roles[top]]:
        if len({roles[top] for top in named}) == 1:  # a class that is called so
            return {}
        raise ValueError(
            f"{listed(named)} are names of splits, and {listed(other)} beside them are not. Take the others out, or "
            "give classes other names"
        )
    classes = set().union(*(below[top] for top in named if roles[top] == "train"))
    found = {top: roles[top] for top in named if below[top] & classes}
    if not {"train"} < set(found.values()):
        raise ValueError(
            f"{listed(named)} are names of splits, but not of a training folder and another one with the same class "
            "folders in it. Name the folder that holds the class folders as `root`, and test images are drawn from it; "
            "images without class folders have no labels here"
        )
    return found


def _below(names: list[str], level: int) -> dict[str, set[str]]:
    """Return the folders of a level, from 0, each with the names of those in it that have images."""
    below: dict[str, set[str]] = {}
    for name in names:
        if len(parts := name.split("/")) > level + 1:
            below.setdefault(parts[level], set()).update(parts[level + 1 : -1][:1])
    return below


def _check_depth(below: dict[str, set[str]]) -> None:
    """Raise ValueError where the folders within the folders may as well be the classes."""
    shared = set.intersection(*below.values()) if below else set()
    if len(shared) > 1:
        raise ValueError(
            f"{listed(sorted(below))} all hold {listed(sorted(shared))}: either the first are the classes, or they are "
            "domains, sessions or splits, and the second are. State `class_depth: 1` or `class_depth: 2` in the block "
            "(and in `domains` which of the first to use), or name the folder that holds the classes as `root`"
        )
