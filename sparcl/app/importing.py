"""Import: convert arrays of features to the feature files of a data set."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np

from sparcl.base.errors import InputError, OutputError, listed
from sparcl.base.files import advice
from sparcl.extraction import arrays, splits
from sparcl.features import store
from sparcl.features.layout import Stream

logger = logging.getLogger(__name__)

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")  # as the settings want ids


class Files(NamedTuple):
    """Files that `sparcl.extraction.arrays.read` takes; several of a kind are parts of one array, in their order.

    Without ids an id is the start of the hash of the features' file, and the row in it.
    """

    features: Sequence[Path]
    labels: Sequence[Path]
    ids: Sequence[Path] = ()


@dataclass(frozen=True)
class Samples:
    """Rows of files, in their order.

    Attributes
    ----------
    features : (n, d) float16 or float32
    labels : (n,) positions in `classes`
    classes : whole numbers or text, ascending
    ids : (n,) fixed-length bytes, unique
    group : (n,) position of the group of files
    files, source : of each group, the files, and their names and hashes
    """

    features: Stream
    labels: np.ndarray
    classes: list[Any]
    ids: np.ndarray
    group: np.ndarray
    files: list[Files]
    source: list[dict[str, list[str]]]


def load(
    groups: Sequence[Files],
    float32: bool = False,
    columns: arrays.Columns = {},  # noqa: B006 (it is only read)
) -> Samples:
    """Read and check samples.

    Parameters
    ----------
    groups : training and test samples, or samples alone
    float32 : see `sparcl.extraction.arrays.stream`
    columns : see `sparcl.extraction.arrays.read`

    Raises
    ------
    InputError : a file is refused, lengths or files differ, labels are neither whole numbers nor text, or two differ by
        spaces at their ends alone, or an id comes twice
    """
    streams, labels, ids, source, group = [], [], [], [], []
    for position, files in enumerate(groups):
        found = [_text_or_numbers(path, "labels", columns) for path in files.labels]
        parts = [arrays.stream(path, float32, columns) for path in files.features]
        digests = [[_sha256(path) for path in paths] for paths in files[:2]]
        names = [_text_or_numbers(path, "ids", columns).astype(str) for path in files.ids]
        n = sum(part.shape[0] for part in parts)
        for paths, what, values in ((files.labels, "labels", found), (files.ids, "ids", names)):
            if paths and sum(map(len, values)) != n:
                raise InputError(
                    f"{listed(paths)}: {sum(map(len, values))} {what}, but {listed(files.features)} has {n} rows. They "
                    "come from different files or versions: name those that belong together."
                )
        ids += [np.char.encode(part, "utf-8") for part in names] or [
            np.char.add(f"{digest[:12]}/".encode(), np.arange(part.shape[0]).astype("S"))
            for digest, part in zip(digests[0], parts, strict=True)
        ]
        streams += parts
        labels += found
        group += [np.full(n, position)]
        read = {"features": files.features, "labels": files.labels}
        source.append({name: [path.name for path in paths] for name, paths in read.items()})
        source[-1] |= {f"{name}_sha256": those for name, those in zip(read, digests, strict=True)}
    kinds = [f"rows of {part.shape[1]} {part.dtype}" for part in streams]
    _check_alike([path for files in groups for path in files.features], kinds)
    kinds = ["labels of text" if part.dtype.kind == "U" else "labels of numbers" for part in labels]
    _check_alike([path for files in groups for path in files.labels], kinds)
    whole = np.concatenate(ids)
    unique, counts = np.unique(whole, return_counts=True)
    if len(unique) != len(whole):
        places = listed([path for files in groups for path in files.ids or files.features])
        raise InputError(
            f"{places}: id {unique[np.argmax(counts)].decode()!r} occurs {counts.max()} times. Give each sample an id "
            "of its own, and name each file once: no test sample is a training sample."
        )
    shape = (len(whole), streams[0].shape[1])
    features = Stream(
        shape, streams[0].dtype, lambda: chain.from_iterable(part.blocks() for part in streams)
    )
    return Samples(features, *_coded(labels), whole, np.concatenate(group), [*groups], source)


def _check_alike(paths: list[Path], kinds: list[str]) -> None:
    """Raise InputError unless all files hold arrays of one kind."""
    for path, kind in zip(paths, kinds, strict=True):
        if kind != kinds[0]:
            raise InputError(
                f"{path} has {kind}, {paths[0]} {kinds[0]}. Features of one network and type, and classes that are "
                "named alike, belong together."
            )


def _coded(parts: list[np.ndarray]) -> tuple[np.ndarray, list[Any]]:
    """Return labels of one kind as positions (n,) in the classes, and the classes."""
    # Integers of two types would be joined as floats, which hold whole numbers up to 2^53 alone.
    own = [np.unique(part, return_inverse=True) for part in parts]
    classes = sorted({name for names, _ in own for name in names.tolist()})
    bare: dict[str, Any] = {}
    for name in classes:
        if (other := bare.setdefault(normalize("NFC", str(name)).strip(), name)) != name:
            raise InputError(
                f"Labels {other!r} and {name!r} differ by spaces at their ends, or in the code of a letter, alone. "
                "Write a class in one way."
            )
    at = {name: position for position, name in enumerate(classes)}
    codes = [np.array([at[name] for name in names.tolist()])[rows] for names, rows in own]
    return np.concatenate(codes), classes


def _text_or_numbers(path: Path, name: str, columns: arrays.Columns) -> np.ndarray:
    """Return labels or ids (n,) as whole numbers or as text that a file can hold; InputError for others."""
    values = np.array(arrays.read(path, name, columns))
    try:
        text = np.char.decode(values, "utf-8") if values.dtype.kind == "S" else values
        if text.dtype.kind == "U" and b"\0" in b"\n".join(np.char.encode(text, "utf-8").tolist()):
            raise ValueError("a zero byte")
    except ValueError as error:
        raise InputError(f"{path}: {name} are no UTF-8 text ({error}). Correct them.") from error
    return text


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stated(files: Files, columns: arrays.Columns) -> np.ndarray | None:
    """Return which rows (n,) a column of the labels' files, or the features', names for testing; None without one.

    Raises
    ------
    InputError : the column holds something else than train and test, or not both; or it is named, and not there
    """
    for paths in (files.labels, files.features):
        try:
            found = np.concatenate([arrays.read(path, "split", columns) for path in paths])
        except arrays.Absent:
            if "split" in columns and paths is files.features:
                raise
            continue
        words = np.char.lower(np.char.strip(found.astype(str)))
        test, train = np.isin(words, ("test", "testing")), np.isin(words, ("train", "training"))
        if not (train.any() and test.any() and (train | test).all()):
            raise InputError(
                f"{listed(paths)}: the split is {listed(np.unique(found).tolist())}. It must be train or test in every "
                "row, and each at least once: leave other rows out, or draw test samples (--test-share)."
            )
        return test
    return None


def cut(samples: Samples, share: float) -> np.ndarray:
    """Return which rows (n,) are drawn for testing; each class has at least one on either side (`splits.draw`).

    Parameters
    ----------
    share : of the samples, for testing

    Raises
    ------
    InputError : a class has a single sample
    """
    counts = np.bincount(samples.labels)
    if counts.min() < 2:
        raise InputError(
            f"{listed(samples.files[0].labels)}: {np.count_nonzero(counts < 2)} classes have one sample, and a split "
            f"needs two: {_some(samples, counts < 2)}. Add samples, leave these classes out, or name test samples "
            "(--test-features, --test-labels)."
        )
    n, c = len(samples.labels), len(counts)
    total = min(max(round(share * n), c), n - c)
    tests = splits.allocate(counts.tolist(), total)
    test = np.zeros(n, dtype=bool)
    order = np.split(np.argsort(samples.labels, kind="stable"), np.cumsum(counts)[:-1])
    for rows, number in zip(order, tests, strict=True):
        ids = [identifier.decode() for identifier in samples.ids[rows]]
        drawn = splits.draw([ids], number)
        test[rows] = [drawn[identifier] == "test" for identifier in ids]
    return test


def _some(samples: Samples, chosen: np.ndarray) -> str:
    """Name the first classes at which `chosen` (c,) is true."""
    return listed([name for name, yes in zip(samples.classes, chosen, strict=True) if yes])


def check_split(samples: Samples, test: np.ndarray) -> None:
    """Raise InputError for classes without a training sample.

    Classes with one, classes without a test sample, and a class -1 are logged.
    """
    counts, tests = (
        np.bincount(samples.labels[rows], minlength=len(samples.classes)) for rows in (~test, test)
    )
    one, other = (listed(samples.files[place].labels) for place in (0, -1))
    if not counts.all():
        raise InputError(
            f"{other}: {np.count_nonzero(counts == 0)} classes have no training sample: {_some(samples, counts == 0)}. "
            f"Add samples of them to {listed(samples.files[0].features)}, or leave them out of the test."
        )
    if 1 in counts:
        logger.warning(
            "%s: one training sample in each of these classes: %s. Selecting settings on a class takes two.",
            *(one, _some(samples, counts == 1)),
        )
    if 0 in tests:
        logger.warning(
            "%s: no test sample of these classes: %s.", other, _some(samples, tests == 0)
        )
    if {-1, "-1"} & set(samples.classes):
        logger.warning("%s: -1 is a class. If it means 'unlabelled', leave its rows out.", one)


def _rows(whole: Stream, chosen: np.ndarray) -> Stream:
    """Return the rows at which `chosen` (n,) is true."""

    def blocks() -> Iterator[np.ndarray]:
        first = 0
        for block in whole.blocks():
            part = block[chosen[first : first + len(block)]]
            first += len(block)
            if len(part):
                yield part

    return Stream((int(np.count_nonzero(chosen)), *whole.shape[1:]), whole.dtype, blocks)


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


def write(out: Path, samples: Samples, test: np.ndarray) -> list[str]:
    """Write both feature files into the folder `out`, whole or not at all; return the class names.

    Parameters
    ----------
    test : (n,) true for the rows that are for testing

    Raises
    ------
    InputError : see `check_split`
    OutputError : `out` exists or cannot be written
    """
    dataset, network = check_out(out)
    check_split(samples, test)
    names = [str(name) for name in samples.classes]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        name = f".{out.name}.{os.getpid()}-"  # as a file's, so that `make clean` finds it
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=name) as folder:
            for split, rows, place in (("train", ~test, 0), ("test", test, -1)):
                meta = {
                    "dataset": dataset,
                    "split": split,
                    "backbone": network,
                    "timm_id": "none",
                    "weights_sha256": "unknown",
                    "preprocessing": {},
                    "extraction": {"imported": samples.source[place]},
                }
                store.write(
                    Path(folder, network, f"{split}.h5"),
                    features=_rows(samples.features, rows),
                    labels=samples.labels[rows],
                    ids=samples.ids[rows],
                    class_names=names,
                    meta=meta,
                )
            Path(folder, network).rename(out)
    except OSError as error:
        raise OutputError(
            f"--out {out}: cannot be written ({error.strerror or error}). {advice(error)}, then run again."
        ) from error
    return names
