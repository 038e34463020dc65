"""Whether feature files are those that a job is about, have samples of each class, and belong together."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sparcl.base.errors import FeatureFileError, listed
from sparcl.features import equal
from sparcl.features.layout import ARRAYS, FeatureSet, Header, PathLike
from sparcl.features.matching import MADE, difference, source

logger = logging.getLogger(__name__)

# Published test sets hold a few copies of training images; a larger share of the test samples is no such slip.
TOLERATED = 0.01

# What is said of the data set that features are of, with its type.
ORIGIN = MADE | {
    "dataset": str,
    "split_sha256": str | None,
    "dtype": str,
    "arrays": list[str],
    "block_indices": list[Any] | None,
}


def origin(data: FeatureSet | Header) -> dict[str, Any]:
    """Return what the training and the test file of a data set have in common, class names aside."""
    return source(data) | {
        "dataset": data.meta["dataset"],
        "split_sha256": data.meta.get("split_sha256"),
        "dtype": data.dtype,
        "arrays": [name for name in ARRAYS if f"{name}_sha256" in data.meta],
        "block_indices": data.meta.get("block_indices"),
    }


def named(class_names: Sequence[str]) -> dict[str, Any]:
    """Return what labels mean, as attributes for :func:`difference`."""
    classes = {f"class {label}": name for label, name in enumerate(class_names)}
    return {"number of classes": len(class_names)} | classes


def check_path(
    path: PathLike, stated: Mapping[str, Any], names: Mapping[str, str], split: str
) -> None:
    """Raise FeatureFileError unless a file is that of the data set, backbone and split that its job is about.

    Parameters
    ----------
    path : of the feature file, or of its manifest
    stated : the file's attributes, or its manifest
    names : of the job, as its wildcards have them: ``dataset``, and ``backbone`` if it is about one
    split : the split that the job reads it as
    """
    promised = {key: names[key] for key in ("dataset", "backbone") if key in names}
    promised |= {"split": split}
    if found := difference(promised, {key: stated.get(key) for key in promised}):
        name, wanted, actual = found
        raise FeatureFileError(
            f"{path}: {name} is {actual!r}, but its path stands for {wanted!r}. Usual cause: a file that was copied "
            "over another. Bring back the bundled one (git checkout data/features), or delete it and extract again."
        )


def check_pair(
    train_path: PathLike, train: FeatureSet, test_path: PathLike, test: FeatureSet
) -> None:
    """Raise FeatureFileError unless one file is the training set and the other the test set of the same features.

    They must agree in :func:`origin` and in their classes and their order, and share no id. Equal rows of features
    under different ids are logged up to a share of `TOLERATED` of the test samples, and refused beyond it.
    Cost: one pass over all features.
    """
    pair = f"{train_path} and {test_path}"
    for path, data, split in ((train_path, train, "train"), (test_path, test, "test")):
        if data.meta["split"] != split:
            raise FeatureFileError(
                f"{pair} do not belong together: split of {path} is {data.meta['split']!r}, but it stands for "
                f"{split!r}. Give the training file first and the test file second."
            )
    attributes = [origin(data) | named(data.class_names) for data in (train, test)]
    if found := difference(*attributes):
        name, mine, its = found
        raise FeatureFileError(
            f"{pair} do not belong together: {name} is {mine!r} in the first, but {its!r} in the second. One of them "
            "is of another data set or extraction: bring back the bundled ones (git checkout data/features), or delete "
            "both and extract them with the same settings."
        )
    if shared := set(train.ids.tolist()).intersection(test.ids.tolist()):
        raise FeatureFileError(
            f"{pair} share {len(shared)} samples by id (first: {_text(min(shared))!r}). A test on what was learned "
            "measures nothing: take them out of one of the splits and extract it again, or give other images other ids."
        )
    _check_copies(pair, train, test)


def copies(train: FeatureSet, test: FeatureSet) -> list[tuple[str, str]]:
    """Return the ids of the test samples whose features are, to the bit, those of a training sample, and its id."""
    pairs = equal.shared(train.features, test.features)
    return [(_text(test.ids[own]), _text(train.ids[learned])) for own, learned in pairs]


def _check_copies(pair: str, train: FeatureSet, test: FeatureSet) -> None:
    found = copies(train, test)
    if not found:
        return
    said = (
        f"{pair}: {len(found)} of {len(test.ids)} test samples have the features of a training sample (first: "
        f"{found[0][0]!r} those of {found[0][1]!r})"
    )
    if len(found) > TOLERATED * len(test.ids):
        raise FeatureFileError(
            f"{said}, more than {TOLERATED:.0%}. Usual cause: the test images are training images under other names. "
            "Take them out of one of the splits and extract it again."
        )
    logger.warning("%s. They stay in: a few such copies come with a published split.", said)


def _text(identifier: bytes) -> str:
    return bytes(identifier).decode("utf-8", errors="replace")


def check_counts(path: PathLike, data: FeatureSet) -> None:
    """Log classes with a single training sample, once, by name: later a class would be an index in each job's message.

    Raises
    ------
    FeatureFileError
        For classes without a sample; the message names them.
    """
    counts = np.bincount(data.labels, minlength=len(data.class_names))
    few = {n: [data.class_names[c] for c in np.flatnonzero(counts == n)] for n in (0, 1)}
    split = data.meta["split"]
    if few[0]:
        raise FeatureFileError(
            f"{path}: {len(few[0])} of {len(counts)} classes have no {split} sample: {listed(few[0])}. Add samples, or "
            "take the classes out of both splits."
        )
    if few[1] and split == "train":
        logger.warning(
            "%s: %d classes have one training sample, where a selection on the first session needs two: %s.",
            path, len(few[1]), listed(few[1]),
        )  # fmt: skip
