"""Fitting a model on feature files."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparcl.app.model import Model
from sparcl.app.samples import Files, opened, rows
from sparcl.base.errors import InputError
from sparcl.base.types import Array

# From the number of classes that the files name to the classes of each session.
SessionPlan = Callable[[int], Sequence[NDArray[np.integer]]]


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
    names = dict.fromkeys(name for header in files.values() for name in header.class_names)
    labels = model.meet(names)
    sessions = [np.arange(len(labels))] if plan is None else plan(len(labels))
    _check(sessions, model.learner.session + 1, len(labels))
    for classes in sessions:
        yield _fit_session(model, files, labels[classes])


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


def _fit_session(model: Model, files: Files, classes: NDArray[np.integer]) -> tuple[int, int]:
    for path, header in files.items():
        mine = np.intersect1d(classes, model.labels_of(header))
        model.count_once(header.meta["features_sha256"], mine, str(path))
    summed = model.summed()
    counts = np.zeros(len(model.class_names), dtype=np.int64)
    kept: list[tuple[Array, NDArray[np.integer]]] = []
    for Phi, y in rows(model, files, classes, model.counted):
        counts += np.bincount(y, minlength=len(counts))
        if summed is None:
            kept.append((Phi, y))
        else:
            summed.accumulate(Phi, y)
    if not counts.any():
        raise InputError(
            f"session {model.learner.session + 1}: the files have no sample of its {len(classes)} classes."
        )
    if summed is None:
        Phi, y = map(np.concatenate, zip(*kept, strict=True))
        model.learner.fit_session(Phi, y)
    else:
        summed.solve()
    return int(counts.sum()), int(np.count_nonzero(counts))
