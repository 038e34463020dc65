"""A model and images: it labels them and learns them, through the network that its features came from."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparcl.app.bars import shown
from sparcl.app.model import Model
from sparcl.app.model_files import learn as learn_rows
from sparcl.base.errors import DatasetError, InputError, listed
from sparcl.base.types import Array
from sparcl.extraction import backbones, networks, passes
from sparcl.extraction.images import FOREIGN, SUFFIXES, ImageSplit, images
from sparcl.extraction.storage.folder import FolderStorage

DEVICES = ("cpu", "cuda", "auto")
THREADS = os.cpu_count() or 1
WORKERS = 8  # that decode for a GPU, at most
STORED = FolderStorage(Path())  # reads files by their whole paths


@dataclass(frozen=True)
class Labels:
    """Labels of n images, with one score for each of the c classes of a model.

    Attributes
    ----------
    paths, ids : of each image, and its name below the folder that was given
    class_names : (c,)
    scores : (n, c) as the method gives them; no probabilities
    unreadable : of images without an answer, the path and the reason
    """

    paths: list[str]
    ids: list[str]
    class_names: NDArray[np.str_]
    scores: NDArray[np.floating]
    unreadable: dict[str, str]

    @property
    def labels(self) -> NDArray[np.str_]:
        """Return the class name (n,) with the highest score of each image."""
        return self.class_names[np.argmax(self.scores, axis=1)]


def label(
    model: Model,
    paths: Sequence[str | Path],
    weights: str | Path | None = None,
    device: str = "cpu",
) -> Labels:
    """See :meth:`sparcl.app.model.Model.label`."""
    network = _network(model, weights, device)
    found, unreadable = _images(paths)
    files = list(found)
    scores: list[Array] = [np.zeros((0, len(model.labels)))]
    answered: list[str] = []
    for rows, Phi in _features(model, network, files, unreadable):
        scores.append(model.scores(Phi))
        answered += [files[row] for row in rows]
    ids = [found[path] for path in answered]
    return Labels(answered, ids, model.labels, np.concatenate(scores), unreadable)


def learn(
    model: Model,
    folders: Sequence[str | Path],
    weights: str | Path | None = None,
    device: str = "cpu",
) -> tuple[int, int]:
    """Learn one more session from folders of images; return its images and classes.

    Parameters
    ----------
    folders : of one class each, with its name; or of several, which are the folders in it
    weights, device : see :meth:`sparcl.app.model.Model.label`

    Raises
    ------
    SparclError
        For images that cannot be read or were learned before, and as :meth:`sparcl.app.model.Model.label`.  The model
        is then half-fitted: throw it away.
    """
    network = _network(model, weights, device)
    found, unreadable = _images(folders)
    files, names = list(found), _classes(found)
    known = dict.fromkeys(names)
    place = dict(zip(known, model.meet(known), strict=True))
    labels = np.array([place[name] for name in names], dtype=np.int64)
    _count(model, files)

    def rows() -> Iterator[tuple[Array, NDArray[np.int64]]]:
        for chosen, Phi in _features(model, network, files, unreadable):
            yield Phi, labels[chosen]
        if unreadable:
            why = next(iter(unreadable.values()))
            raise DatasetError(
                f"{listed([*unreadable])}: cannot be read (the first: {why}), and nothing was learned. Remove or "
                "replace them."
            )

    return learn_rows(model, rows(), "an image")


def _classes(found: dict[str, str]) -> list[str]:
    """Return the class of each image: the upper folder that it lies in, below what was given, else its own folder."""
    mixed = {path[: -len(name)]: path for path, name in found.items() if "/" not in name}
    for path, name in found.items():
        if "/" in name and (other := mixed.get(path[: -len(name)])):
            raise InputError(
                f"{other} lies beside a folder with images, {os.path.dirname(path)}: either the folder of both is a "
                "class, or the folders in it are. Name each class folder."
            )
    return [
        name.split("/")[0]
        if "/" in name
        else os.path.basename(os.path.dirname(os.path.abspath(path)))
        for path, name in found.items()
    ]


def _count(model: Model, files: list[str]) -> None:
    """Count images as samples of the model, each known by its content; InputError where one was learned before."""
    contents = (STORED.read(os.path.abspath(file)) for file in files)
    digests = [hashlib.sha256(content).hexdigest() for content in contents]
    names = np.strings.add(b"images\nlearned\n", np.array(digests, dtype="S64"))
    twice = np.flatnonzero(np.isin(names, model.counted.names))
    if len(twice):
        raise InputError(
            f"{files[twice[0]]}: this image, and {len(twice) - 1} others, were learned before, and would count twice. "
            "Leave them out."
        )
    model.counted.add(np.unique(names), "images")


def _network(model: Model, weights: str | Path | None, device: str) -> backbones.Backbone:
    """Return the network that the model's features came through."""
    if "backbone" not in model.terms:
        raise InputError("The model has learned nothing yet: fit it on feature files first.")
    block = networks.settings(model.terms, model.extracted, os.fspath(weights or ""))
    backbones.check_installed("Labels of images")
    precision = model.terms["precision"] or "float32"
    return backbones.build(
        block, model.terms["preprocessing"], backbones.device_of(device), precision
    )


def _images(paths: Sequence[str | Path]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the path of each image and its name below what was given; and of those that are none, path and reason."""
    found: dict[str, str] = {}
    unreadable: dict[str, str] = {}
    for path in [os.fspath(path) for path in paths]:
        if not os.path.isdir(path):
            if os.path.exists(path):
                found[path] = os.path.basename(path)
            else:
                unreadable[path] = "no such image or folder"
            continue
        storage = FolderStorage(Path(path))
        found |= {os.path.join(path, name): name for name in images(storage)}
        odd = {n: why for n, why in storage.skipped.items() if n.lower().endswith(SUFFIXES)}
        odd |= dict.fromkeys(images(storage, FOREIGN), "an image of a format that is not read here")
        unreadable |= {os.path.join(path, name): why for name, why in odd.items()}
    if not found and not unreadable:
        raise InputError(
            f"{listed([*map(str, paths)])}: no image lies there. Images are {', '.join(SUFFIXES)}."
        )
    return found, unreadable


def _features(
    model: Model, network: backbones.Backbone, files: list[str], unreadable: dict[str, str]
) -> Iterator[tuple[list[int], Array]]:
    """Yield positions and features (b, d) of images that can be read, batch by batch; others become unreadable.

    With as many images as one extraction takes at once on each core, features have the bits of that extraction.
    """
    made = model.extracted or {}
    dtype, n = np.dtype(made["dtype"]), len(files)
    size = max(1, min(made["batch_size"], -(-n // THREADS)))
    places = [os.path.abspath(file) for file in files]
    whole = ImageSplit(*("images", "", [], files, places, np.zeros(n), STORED), upright=True)
    batches = passes.Batches(whole, network, range(0, n, size), size, tolerant=True)
    chunks = passes.chunks(batches, THREADS, min(THREADS, WORKERS), dtype)
    blocks = (
        (range(first, first + used), np.frombuffer(chunk, dtype).reshape(used, -1))
        for first, (chunk, used) in zip(batches.firsts, chunks, strict=True)
    )
    for rows, Phi in shown(blocks, n, "images", "images"):
        empty = np.isnan(Phi).all(axis=1)
        bad = {row: whole.fault(row) for row in np.array(rows)[empty].tolist()}
        unreadable |= {files[row]: why for row, why in bad.items() if why}
        kept = [row for row in rows if not bad.get(row)]
        if kept:
            yield kept, Phi[np.array(kept) - rows.start]
