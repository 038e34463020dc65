"""A saved model forgets samples, and is compared with one that never saw them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparcl.app import model_files
from sparcl.app.counted import names_of
from sparcl.app.model import Model
from sparcl.base.errors import InputError
from sparcl.base.types import Array, host
from sparcl.features import store
from sparcl.learners.learner import Forgotten


def forget(
    model: Model,
    paths: Sequence[Path],
    classes: Sequence[str] = (),
    ids: Sequence[str] = (),
    refit_from_sums: bool = False,
) -> Forgotten:
    """Take samples of feature files out of a model, and their ids.

    Cost: that of :meth:`sparcl.learners.learner.Learner.forget`; memory holds their rows.

    Parameters
    ----------
    classes : names; all samples of each must be in the files
    ids : of samples; without classes and ids all samples of the files are meant

    Raises
    ------
    InputError
        For a sample that the model was not fitted on, a class of which the files lack samples, a name that
        no file has, where nothing would be left, and as the learner's own method.  The model is then to be thrown away.
    """
    unknown = {*classes} - {*model.labels.tolist()}
    if unknown:
        raise InputError(
            f"class {min(unknown)!r} is none that the model has learned. Correct the name."
        )
    files, asked = model_files.opened(model, paths), np.array(ids, dtype=str)
    Phi, y, names = [], [], []
    for path, header in files.items():
        named, labels = names_of(path, header), model.labels_of(header)
        by_class = np.isin(header.class_names, classes or header.class_names)
        by_id = np.isin(np.char.decode(store.ids(path), "utf-8"), asked) | (not ids)
        first = 0
        for rows, columns in store.blocks(path):
            here = slice(first, first + len(columns))
            chosen, first = by_class[columns] & by_id[here], here.stop
            Phi.append(rows[chosen])
            y.append(labels[columns[chosen]])
            names.append(named[here][chosen])
    chosen_ids = np.concatenate(names)
    if len(chosen_ids) < len({*ids}) or not len(chosen_ids):
        raise InputError(
            f"the files have {len(chosen_ids)} of the samples to be forgotten"
            + f", and {len({*ids})} ids were given." * bool(ids)
        )
    model.counted.remove(chosen_ids)
    if not len(model.counted.names):
        raise InputError("nothing would be left of the model: delete its file.")
    told = model.learner.forget(
        np.concatenate(Phi), np.concatenate(y), refit_from_sums=refit_from_sums
    )
    partly = sorted({*classes} - {model.class_names[label] for label in told.classes})
    if partly:
        raise InputError(
            f"the files lack samples of class {partly[0]!r} that the model was fitted on: give the other files too, or "
            "leave --classes out."
        )
    return told


@dataclass(frozen=True)
class Difference:
    """How far a model is from one that was fitted on the samples that stay, in one session.

    Attributes
    ----------
    samples : that stay
    weights : Frobenius norm of the difference of weights over that of the other's; None where a method has none
    scores : largest difference of scores of these samples, over the largest score
    """

    samples: int
    weights: float | None
    scores: float


def difference(model: Model, paths: Sequence[Path]) -> Difference:
    """Return how far a model is from one that never saw what this one forgot.

    Cost: that of a fit on the samples that stay, and of their scores.

    Raises
    ------
    InputError
        When the files do not have all samples that the model rests on.
    """
    files = model_files.opened(model, paths)
    known = {path: np.isin(names_of(path, h), model.counted.names) for path, h in files.items()}
    n, needed = sum(int(k.sum()) for k in known.values()), len(model.counted.names)
    if n < needed:
        raise InputError(
            f"{', '.join(map(str, files))}: {n} of the {needed} samples that the model rests on are there. Give all of "
            "their files, or leave the comparison out."
        )

    def rows() -> Iterator[tuple[Array, NDArray[np.int64]]]:
        for path, header in files.items():
            labels, first = model.labels_of(header), 0
            for Phi, y in store.blocks(path):
                chosen, first = known[path][first : first + len(y)], first + len(y)
                if chosen.any():
                    yield Phi[chosen], labels[y[chosen]]

    fresh = model.again()
    model_files.learn(fresh, rows(), "the samples that stay")
    own, other = model.learner, fresh.learner
    order = [other.classes.tolist().index(label) for label in own.classes]
    W, V = (getattr(learner, "weights", None) for learner in (own, other))
    weights = None
    if W is not None and V is not None and W.shape == V.shape and W.shape[1] == len(order):
        W, V = host(W), host(V)  # of which one may lie on a GPU
        weights = float(np.linalg.norm(W - V[:, order]) / np.linalg.norm(V))
    moved = largest = 0.0
    for Phi, _ in rows():
        wanted = other.logits(Phi)[:, order]
        moved = max(moved, float(np.abs(own.logits(Phi) - wanted).max()))
        largest = max(largest, float(np.abs(wanted).max()))
    return Difference(n, weights, moved / largest if largest else moved)
