"""A model and feature files: it learns them, its hits on them are counted, and its labels of them are written."""

import csv
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.app.bars import shown
from sparcl.app.counted import Counted, check_once, names_of
from sparcl.app.model import Model
from sparcl.base.errors import InputError
from sparcl.base.files import replacing
from sparcl.base.types import Array
from sparcl.extraction import arrays, networks
from sparcl.features import layout, matching, store

logger = logging.getLogger(__name__)
Files = Mapping[Path, layout.Header]
# From the number of classes that the files name to the classes of each session.
SessionPlan = Callable[[int], Sequence[NDArray[np.integer]]]
COLUMNS = ("file", "id", "label")  # of a table of labels, before the scores


def opened(model: Model, paths: Sequence[str | Path]) -> Files:
    """Return the headers of feature files; InputError unless their features are of the model's kind."""
    check_once(paths)
    files = {Path(path): store.header(path) for path in paths}
    for path, header in files.items():
        model.agree(matching.source(header), str(path))
    return files


def _rows(
    model: Model, files: Files, classes: NDArray[np.integer], counted: Counted
) -> Iterator[tuple[Array, NDArray[np.int64]]]:
    """Yield features (b, d) and labels (b,), block by block, of some classes.

    Each sample is added to ``counted``, once the file that it lies in is read to its end.
    """
    for path, header in files.items():
        labels = model.labels_of(header)
        wanted = np.isin(labels, classes)
        taken = [np.zeros(0, dtype=bool)]
        for Phi, y in shown(store.blocks(path), header.n, path.name):
            chosen = wanted[y]
            taken.append(chosen)
            if chosen.any():
                yield Phi[chosen], labels[y[chosen]]
        counted.add(names_of(path, header)[np.concatenate(taken)], str(path))


def fit(
    model: Model, paths: Sequence[str | Path], plan: SessionPlan | None = None
) -> Iterator[tuple[int, int]]:
    """Learn session after session from feature files; yield samples and classes of each.

    Memory holds a block of rows where the learner's state is a sum over samples, and otherwise
    the rows of a session.

    Parameters
    ----------
    plan : from the number of classes that the files name to the classes of each session, as
        positions in the files' common class list; by default all classes are one session

    Raises
    ------
    SparclError
        For files that are damaged, of other features, or fitted before.  The model is then
        half-fitted: throw it away.
    """
    files = opened(model, paths)
    for path, header in files.items():
        model.extracted = model.extracted or networks.of(header, str(path))
    names = dict.fromkeys(name for header in files.values() for name in header.class_names)
    labels = model.meet(names)
    sessions = [np.arange(len(labels))] if plan is None else plan(len(labels))
    _check(sessions, model.learner.session + 1, len(labels))
    for classes in sessions:
        rows = _rows(model, files, labels[classes], model.counted)
        yield learn(model, rows, f"its {len(classes)} classes")


def _check(sessions: Sequence[NDArray[np.integer]], first: int, classes: int) -> None:
    """Refuse, before the first session is fitted, classes that there are not and classes in two sessions."""
    seen: set[int] = set()
    for number, session in enumerate(sessions, first):
        listed = list(map(int, session))
        if min(listed, default=0) < 0 or max(listed, default=0) >= classes:
            raise InputError(
                f"session {number}: classes {listed} reach beyond 0..{classes - 1}, the class list of the files. "
                "The order belongs to another data set."
            )
        if twice := sorted(seen & {*listed}):
            raise InputError(
                f"session {number}: classes {twice} come in an earlier session, and their samples would count twice. "
                "Name each class once."
            )
        seen |= {*listed}


def learn(
    model: Model, rows: Iterator[tuple[Array, NDArray[np.int64]]], wanted: str
) -> tuple[int, int]:
    """Learn one session of features (b, d) and labels (b,), which come in blocks; return its samples and classes.

    Raises
    ------
    InputError
        Where there is no row, of what is ``wanted``.
    """
    summed = model.summed()
    counts = np.zeros(len(model.class_names), dtype=np.int64)
    kept: list[tuple[Array, NDArray[np.integer]]] = []
    for Phi, y in rows:
        counts += np.bincount(y, minlength=len(counts))
        if summed is None:
            kept.append((Phi, y))
        else:
            summed.accumulate(Phi, y)
    if not counts.any():
        raise InputError(
            f"session {model.learner.session + 1}: the files have no sample of {wanted}."
        )
    if summed is None:
        Phi, y = map(np.concatenate, zip(*kept, strict=True))
        model.learner.fit_session(Phi, y)
    else:
        summed.solve()
    return int(counts.sum()), int(np.count_nonzero(counts))


def evaluate(model: Model, paths: Sequence[str | Path]) -> dict[str, Any]:
    """Return how many samples of each learned class in feature files are classified correctly.

    Memory holds a block of rows.  Samples of classes that were not learned are left out and
    counted.

    Returns
    -------
    Mapping with ``accuracy`` over samples, ``class_accuracy`` (mean over classes), ``correct``,
    ``samples``, ``left_out``, and ``classes``, a list of name, samples and correct.
    """
    files = opened(model, paths)
    correct, samples = np.zeros((2, len(model.class_names)), dtype=np.int64)
    for Phi, y in _rows(model, files, model.learner.classes, Counted()):
        samples += np.bincount(y, minlength=len(samples))
        correct += np.bincount(y[model.learner.predict(Phi) == y], minlength=len(samples))
    tested = np.flatnonzero(samples)
    if not len(tested):
        raise InputError(
            f"{', '.join(map(str, files))}: no sample of a class that the model has learned."
        )
    for path, header in files.items():
        if len(np.intersect1d(names_of(path, header), model.counted.names)):
            logger.warning(
                "%s: the model was fitted on samples of this file. Their accuracy says nothing about new images: give "
                "the test split.",
                path,
            )
    counts = zip(samples[tested].tolist(), correct[tested].tolist(), strict=True)
    return {
        "accuracy": float(correct.sum() / samples.sum()),
        "class_accuracy": float(np.mean(correct[tested] / samples[tested])),
        "correct": int(correct.sum()),
        "samples": int(samples.sum()),
        "left_out": sum(header.n for header in files.values()) - int(samples.sum()),
        "classes": [
            {"name": model.class_names[i], "samples": n, "correct": hits}
            for i, (n, hits) in zip(tested, counts, strict=True)
        ],
    }


def predict(model: Model, paths: Sequence[Path], out: Path) -> int:
    """Write a CSV with one row per sample: file, id, label, and the score of each class; return the number of samples.

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
    rows = (
        (zip(repeat(path), ids), model.scores(Phi))
        for path, source in zip(paths, sources, strict=True)
        for ids, Phi in _blocks(path, source)
    )
    return write_labels(out, model.labels, rows)


def write_labels(
    out: Path, names: NDArray[np.str_], blocks: Iterable[tuple[Iterable[Sequence[Any]], Array]]
) -> int:
    """Write the table of :func:`predict`; return the number of samples.

    Parameters
    ----------
    names : (c,) of the classes
    blocks : file and id of each sample, and scores (b, c)
    """
    written = 0
    form: Any = {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}
    with replacing(out) as temporary, open(temporary, "w", **form) as file:
        table = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        table.writerow([*COLUMNS, *(f"score:{name}" for name in names)])
        for samples, scores in blocks:
            labels = names[scores.argmax(axis=1)]
            table.writerows(
                [*sample, label, *own]
                for sample, label, own in zip(samples, labels, scores.tolist(), strict=True)
            )
            written += len(labels)
    return written


def _checked(model: Model, path: Path) -> NDArray[Any] | None:
    """Return the features of an array file, None for a feature file; InputError for features of another kind."""
    if path.suffix == ".h5":
        model.agree(matching.source(store.header(path)), str(path))
        return None
    features = arrays.read(path, "features")
    if features.shape[1] != model.learner.d:
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
        arrays.check_finite(path, Phi, first)
        numbers = map(str, range(first, first + len(Phi)))
        yield list(numbers), Phi if Phi.dtype.kind == "f" else Phi.astype(np.float64)
