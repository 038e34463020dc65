"""Import: arrays that somebody made with a network of their own become the feature files of a data set."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import InputError, OutputError
from sparcl.base.files import advice
from sparcl.extraction import arrays, splits
from sparcl.features import store
from sparcl.features.layout import Stream

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")  # as the settings want ids


@dataclass(frozen=True)
class Samples:
    """Rows of files, in their order.

    Attributes
    ----------
    features : (n, d) float16 or float32
    labels : (n,) whole numbers or text
    ids : (n,) fixed-length bytes, unique
    source : names and hashes of the files
    """

    features: Stream
    labels: np.ndarray
    ids: np.ndarray
    source: dict[str, Any]


def load(features: Path, labels: Path, ids: Path | None, float32: bool = False) -> Samples:
    """Read and check samples.

    Parameters
    ----------
    features, labels : files that `sparcl.extraction.arrays.read` takes
    ids : a file too; without one an id is the start of the hash of `features`, and the row
    float32 : see `sparcl.extraction.arrays.stream`

    Raises
    ------
    InputError : a file is refused, lengths differ, labels are neither whole numbers nor text, or an id comes twice
    """
    values = _text_or_numbers(labels, "labels")
    shape = arrays.read(features, "features").shape
    _fits(labels, "labels", len(values), features, shape)
    names = None if ids is None else _named(ids, features, shape)
    stream = arrays.stream(features, float32)
    digest = _sha256(features)
    if names is None:
        names = np.char.add(f"{digest[:12]}/".encode(), np.arange(shape[0]).astype("S"))
    source = {"features": features.name, "features_sha256": digest, "labels": labels.name}
    return Samples(stream, values, names, source | {"labels_sha256": _sha256(labels)})


def _text_or_numbers(path: Path, name: str) -> np.ndarray:
    """Return labels or ids (n,) as whole numbers or as text that a file can hold; InputError for others."""
    values = np.array(arrays.read(path, name))
    if values.dtype.kind not in "iuUS":
        raise InputError(
            f"{path}: {name} are {values.dtype}, and may be whole numbers or text. Convert them "
            f"({name}.astype(int)); a gap in a table makes floats of whole numbers."
        )
    try:
        text = np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values
        if text.dtype.kind == "U" and b"\0" in b"\n".join(np.char.encode(text, "utf-8").tolist()):
            raise ValueError("a zero byte")
    except ValueError as error:
        raise InputError(f"{path}: {name} are no UTF-8 text ({error}). Correct them.") from error
    return text


def _named(ids: Path, features: Path, shape: tuple[int, ...]) -> np.ndarray:
    found = _text_or_numbers(ids, "ids")
    _fits(ids, "ids", len(found), features, shape)
    encoded = np.char.encode(found.astype(str), "utf-8")
    unique, counts = np.unique(encoded, return_counts=True)
    if len(unique) != len(encoded):
        twice = unique[np.argmax(counts)].decode()
        raise InputError(
            f"{ids}: id {twice!r} occurs {counts.max()} times. Give each sample an id of its own."
        )
    return encoded


def _fits(path: Path, name: str, found: int, features: Path, shape: tuple[int, ...]) -> None:
    if found != shape[0]:
        raise InputError(
            f"{path}: {found} {name}, but {features} has {shape[0]} rows (shape {shape}). They come from different "
            "files or versions: name those that belong together."
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cut(samples: Samples, share: float) -> tuple[Samples, Samples]:
    """Return training and test samples; each class has at least one on either side (`splits.draw`).

    Parameters
    ----------
    share : of the samples, for testing

    Raises
    ------
    InputError : a class has a single sample
    """
    names, codes, counts = np.unique(samples.labels, return_inverse=True, return_counts=True)
    if counts.min() < 2:
        few = ", ".join(str(name) for name in names[counts < 2][:5])
        raise InputError(
            f"{samples.source['labels']}: {np.count_nonzero(counts < 2)} classes have one sample, and a split needs "
            f"two: {few}. Add samples, leave these classes out, or name test samples (--test-features, --test-labels)."
        )
    n, c = len(codes), len(names)
    total = min(max(round(share * n), c), n - c)
    tests = splits.allocate(counts.tolist(), total)
    test = np.zeros(n, dtype=bool)
    order = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
    for rows, number in zip(order, tests, strict=True):
        ids = [identifier.decode() for identifier in samples.ids[rows]]
        drawn = splits.draw([ids], number)
        test[rows] = [drawn[identifier] == "test" for identifier in ids]
    return _rows(samples, ~test), _rows(samples, test)


def _rows(samples: Samples, chosen: np.ndarray) -> Samples:
    """Return the samples at which `chosen` (n,) is true."""
    whole = samples.features

    def blocks() -> Iterator[np.ndarray]:
        first = 0
        for block in whole.blocks():
            part = block[chosen[first : first + len(block)]]
            first += len(block)
            if len(part):
                yield part

    shape = (int(np.count_nonzero(chosen)), *whole.shape[1:])
    features = Stream(shape, whole.dtype, blocks)
    return replace(
        samples, features=features, labels=samples.labels[chosen], ids=samples.ids[chosen]
    )


def check_pair(train: Samples, test: Samples) -> None:
    """Raise InputError unless test samples are of the training samples' kind and classes, and none is one of them."""
    one, other = train.source, test.source
    widths = train.features.shape[1], test.features.shape[1]
    if widths[0] != widths[1] or train.features.dtype != test.features.dtype:
        raise InputError(
            f"{other['features']} has rows of {widths[1]} {test.features.dtype}, {one['features']} of {widths[0]} "
            f"{train.features.dtype}. Features of one network and one type belong together."
        )
    if (train.labels.dtype.kind in "iu") != (test.labels.dtype.kind in "iu"):
        raise InputError(
            f"{other['labels']} holds {test.labels.dtype}, {one['labels']} {train.labels.dtype}: numbers here, text "
            "there. Name classes alike in both."
        )
    unknown = np.setdiff1d(test.labels, train.labels)
    if unknown.size:
        raise InputError(
            f"{other['labels']}: {unknown.size} classes have no training sample: {', '.join(map(str, unknown[:5]))}. "
            f"Add samples of them to {one['features']}, or leave them out of the test."
        )
    shared = test.ids[np.isin(test.ids, train.ids)]
    if shared.size:
        raise InputError(
            f"{other['features']}: {shared.size} test samples are training samples of {one['features']} too, first "
            f"{shared[0].decode()!r}. Leave them out on one side."
        )


def check_out(out: Path) -> tuple[str, str]:
    """Return data set and network, the last two names of a folder that does not exist.

    Raises
    ------
    OutputError : it exists
    InputError : a name is no id
    """
    if out.exists() or out.is_symlink():
        raise OutputError(f"--out {out} exists and stays as it is. Delete it, or name another.")
    dataset, network = out.absolute().parts[-2:]
    for name in (dataset, network):
        if not NAME.fullmatch(name):
            raise InputError(
                f"--out {out}: {name!r} is no name of a data set or network, which are a-z, 0-9 and single hyphens. "
                "Name the folder <...>/<data set>/<network>."
            )
    return dataset, network


def write(out: Path, train: Samples, test: Samples) -> list[str]:
    """Write both feature files into the folder `out`, whole or not at all; return the class names.

    Raises
    ------
    InputError : see `check_pair`
    OutputError : `out` exists or cannot be written
    """
    dataset, network = check_out(out)
    check_pair(train, test)
    names = np.unique(train.labels)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        name = f".{out.name}.{os.getpid()}-"  # as a file's, so that `make clean` finds it
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=name) as folder:
            for split, samples in (("train", train), ("test", test)):
                meta = {
                    "dataset": dataset,
                    "split": split,
                    "backbone": network,
                    "timm_id": "none",
                    "weights_sha256": "unknown",
                    "preprocessing": {},
                    "extraction": {"imported": samples.source},
                }
                labels = np.searchsorted(names, samples.labels)
                store.write(
                    Path(folder, network, f"{split}.h5"),
                    features=samples.features,
                    labels=labels,
                    ids=samples.ids,
                    class_names=[str(name) for name in names],
                    meta=meta,
                )
            Path(folder, network).rename(out)
    except OSError as error:
        raise OutputError(
            f"--out {out}: cannot be written ({error.strerror or error}). {advice(error)}, then run again."
        ) from error
    return [str(name) for name in names]
