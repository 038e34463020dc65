"""Labels and scores of rows, from a saved model."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.app.counted import check_once
from sparcl.app.model import Model
from sparcl.base.errors import InputError
from sparcl.base.files import replacing
from sparcl.base.types import Array
from sparcl.extraction import arrays
from sparcl.features import matching, store

COLUMNS = ("file", "id", "label")  # before the scores
FEATURES = ".h5"


def predict(model: Model, paths: Sequence[Path], out: Path) -> int:
    """Write a CSV with a row a sample: file, id, label, and the score of each class; return the number of samples.

    Memory holds a block of rows of a feature file or an npy file, and the features of another array file.

    Parameters
    ----------
    paths : feature files of the model's kind, whose samples keep their ids, or arrays (n, d) that
        :func:`sparcl.extraction.arrays.read` takes, with the row, counted from 0, as id
    out : written whole or not at all

    Raises
    ------
    SparclError
        When a file is given twice, is damaged, or has features of another kind; nothing is written.
    """
    check_once(paths)
    sources = [_checked(model, path) for path in paths]
    names = model.labels
    written = 0
    with replacing(out) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*COLUMNS, *(f"score:{name}" for name in names)])
        for path, source in zip(paths, sources, strict=True):
            for ids, Phi in _blocks(path, source):
                scores = model.scores(Phi)
                labels = names[scores.argmax(axis=1)]
                table.writerows(
                    [path, *row, *own]
                    for *row, own in zip(ids, labels, scores.tolist(), strict=True)
                )
                written += len(labels)
    return written


def _checked(model: Model, path: Path) -> NDArray[Any] | None:
    """Return the features of an array file, None for a feature file; InputError for features of another kind."""
    if path.suffix == FEATURES:
        model.agree(matching.source(store.header(path)), str(path))
        return None
    features = arrays.read(path, "features")
    if features.dtype.kind not in "iuf" or features.shape[1] != model.learner.d:
        raise InputError(
            f"{path}: features are {features.dtype} of shape {features.shape}, and the model takes numbers of shape "
            f"(n, {model.learner.d}): give features of the network that it was fitted on."
        )
    return features


def _blocks(path: Path, features: NDArray[Any] | None) -> Iterator[tuple[list[str], Array]]:
    """Yield ids and features (b, d), block by block."""
    if features is None:
        ids, first = np.char.decode(store.ids(path), "utf-8").tolist(), 0
        for Phi, _ in store.blocks(path):
            yield ids[first : first + len(Phi)], Phi
            first += len(Phi)
        return
    for first in range(0, len(features), store.ROWS):
        Phi = features[first : first + store.ROWS]
        finite = np.isfinite(Phi).all(axis=1)
        if not finite.all():
            raise InputError(
                f"{path}: features of row {first + int(np.argmin(finite))} (the first is 0) are not finite. Usual "
                "cause: a gap in the table; correct the row or leave it out."
            )
        numbers = map(str, range(first, first + len(Phi)))
        yield list(numbers), Phi if Phi.dtype.kind == "f" else Phi.astype(np.float64)
