"""A learner that is fitted from feature files, in one npz file with what it was fitted on."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparcl import methods
from sparcl.base.errors import InputError
from sparcl.base.rows import NORMALISATION, prepared
from sparcl.features import store
from sparcl.learners.learner import Array, Learner, read_state

Files = Mapping[Path, store.Header]
Split = Callable[[int], Sequence[NDArray[np.integer]]]


@dataclass
class Model:
    """A learner and what must agree before it meets more features or another model.

    Attributes
    ----------
    learner : its labels are positions in ``class_names``
    terms : method and all its hyper-parameters, normalisation and, once there are features,
        :data:`store.SOURCE`
    class_names : of all files seen, in order of appearance; files are matched by these names
    fitted : labels that were fitted from each file, by the sha256 of its features
    """

    learner: Learner
    terms: dict[str, Any]
    class_names: list[str] = field(default_factory=list)
    fitted: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def build(cls, method: str, hyper: dict[str, Any], normalize: bool) -> Self:
        """Return a model that has seen nothing; InputError as :func:`sparcl.methods.build`."""
        learner = methods.build(method, **hyper)
        return cls(learner, terms(method, methods.hyperparameters(method) | hyper, normalize))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote; InputError when the file is no such model."""
        state = read_state(path)
        try:
            card = json.loads(str(state.pop("card")))
            own = card["terms"]
            kind = type(methods.build(own["method"], **own["hyper"]))
            return cls(kind.from_state(state), own, card["class_names"], card["fitted"])
        except (KeyError, TypeError, ValueError, InputError) as error:
            raise InputError(
                f"{path}: not a model that `python -m sparcl fit` wrote ({error})."
            ) from error

    def save(self, path: str | Path) -> None:
        """Write learner and card as an npz file, whole or not at all."""
        card = {key: getattr(self, key) for key in ("terms", "class_names", "fitted")}
        self.learner.save(path, card=json.dumps(card))

    def agree(self, given: Mapping[str, Any], where: str) -> None:
        """Take over terms that the model lacks; raise InputError, which names it, where one differs."""
        self.terms = {**given, **self.terms}
        mine = _flat(self.terms)
        for name, value in _flat(given).items():
            if mine.get(name) != value:
                raise InputError(
                    f"{where}: {name} is {value!r}, but {mine.get(name)!r} in the model. Sums add up, and "
                    "scores make sense, only where both are the same."
                )

    def fit(
        self, paths: Sequence[str | Path], split: Split | None = None
    ) -> Iterator[tuple[int, int]]:
        """Learn session after session from feature files; yield samples and classes of each.

        Memory holds a block of rows where the learner's state is a sum over samples, and otherwise
        the rows of a session.

        Parameters
        ----------
        split : takes the number of classes that the files name and returns each session's classes,
            as positions in the files' common class list; by default one session of them all

        Raises
        ------
        SparclError
            For files that are damaged, of other features, or fitted before.  The model is then
            half-fitted: throw it away.
        """
        files = self._open(paths)
        names = dict.fromkeys(name for header in files.values() for name in header.class_names)
        labels = self._meet(names)
        for classes in [np.arange(len(labels))] if split is None else split(len(labels)):
            if np.min(classes, initial=0) < 0 or np.max(classes, initial=0) >= len(labels):
                raise InputError(
                    f"session {self.learner.session + 1}: classes {list(map(int, classes))} reach beyond "
                    f"0..{len(labels) - 1}, the class list of the files. The order belongs to another data set."
                )
            yield self._fit_session(files, labels[classes])

    def _fit_session(self, files: Files, classes: NDArray[np.integer]) -> tuple[int, int]:
        for path, header in files.items():
            mine = np.intersect1d(classes, self._labels(header))
            self._count_once(header.meta["features_sha256"], mine, str(path))
        counts = np.zeros(len(self.class_names), dtype=np.int64)
        kept: list[tuple[Array, NDArray[np.integer]]] = []
        for Phi, y in self._rows(files, classes):
            counts += np.bincount(y, minlength=len(counts))
            if self.learner.undivided:
                kept.append((Phi, y))
            else:
                self.learner.accumulate(Phi, y)
        if not counts.any():
            raise InputError(
                f"session {self.learner.session + 1}: the files have no sample of its {len(classes)} classes."
            )
        if self.learner.undivided:
            Phi, y = map(np.concatenate, zip(*kept, strict=True))
            self.learner.fit_session(Phi, y)
        else:
            self.learner.solve()
        return int(counts.sum()), np.count_nonzero(counts)

    def evaluate(self, paths: Sequence[str | Path]) -> dict[str, Any]:
        """Return how many samples of each learned class in feature files are classified rightly.

        In memory for a block of rows.  Samples of classes that were not learned are left out and
        counted.

        Returns
        -------
        Mapping with ``accuracy`` over samples, ``class_accuracy`` (mean over classes), ``correct``,
        ``samples``, ``left_out``, and ``classes``, a list of name, samples and correct.
        """
        files = self._open(paths)
        correct, samples = np.zeros((2, len(self.class_names)), dtype=np.int64)
        for Phi, y in self._rows(files, self.learner.classes):
            samples += np.bincount(y, minlength=len(samples))
            correct += np.bincount(y[self.learner.predict(Phi) == y], minlength=len(samples))
        tested = np.flatnonzero(samples)
        if not len(tested):
            raise InputError(
                f"{', '.join(map(str, files))}: no sample of a class that the model has learned."
            )
        return {
            "accuracy": float(correct.sum() / samples.sum()),
            "class_accuracy": float(np.mean(correct[tested] / samples[tested])),
            "correct": int(correct.sum()),
            "samples": int(samples.sum()),
            "left_out": sum(header.n for header in files.values()) - int(samples.sum()),
            "classes": [
                {
                    "name": self.class_names[i],
                    "samples": int(samples[i]),
                    "correct": int(correct[i]),
                }
                for i in tested
            ],
        }

    def merge(self, others: Sequence[tuple[str, "Model"]]) -> None:
        """Add what other models (with their names) were fitted on, as one more session.

        Raises
        ------
        InputError
            When a model differs in a term (the message names it), was fitted on the same samples,
            or its method is not a sum.
        """
        for name, other in others:
            self.agree(other.terms, name)
            labels = self._meet(other.class_names)
            for sha256, fitted in other.fitted.items():
                self._count_once(sha256, labels[fitted], name)
            renamed = copy.copy(other.learner)
            renamed.classes = labels[renamed.classes]
            self.learner.merge(renamed)
        self.learner.solve()

    def _open(self, paths: Sequence[str | Path]) -> Files:
        """Return the files' headers; their features must be the model's."""
        files = {Path(path): store.header(path) for path in paths}
        for path, header in files.items():
            source = {key: header.meta[key] for key in store.SOURCE}
            self.agree({"features": header.d} | source, str(path))
        return files

    def _meet(self, names: Sequence[str] | Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the label of each class name; a new name gets the next one."""
        known = set(self.class_names)
        self.class_names = self.class_names + [name for name in names if name not in known]
        place = {name: label for label, name in enumerate(self.class_names)}
        return np.array([place[name] for name in names], dtype=np.int64)

    def _labels(self, header: store.Header) -> NDArray[np.int64]:
        """Return the model's label of each class of a file, -1 where it has none."""
        place = {name: label for label, name in enumerate(self.class_names)}
        return np.array([place.get(name, -1) for name in header.class_names], dtype=np.int64)

    def _rows(
        self, files: Files, classes: NDArray[np.integer]
    ) -> Iterator[tuple[Array, NDArray[np.int64]]]:
        """Yield features as the learner sees them and labels, block by block, of some classes."""
        unit = self.terms["normalisation"] == NORMALISATION[True]
        for path, header in files.items():
            labels = self._labels(header)
            wanted = np.isin(labels, classes)
            for Phi, y in store.blocks(path):
                rows = wanted[y]
                if rows.any():
                    yield prepared(Phi[rows], unit), labels[y[rows]]

    def _count_once(self, sha256: str, labels: NDArray[np.int64], where: str) -> None:
        """Note that classes were fitted from a file; refuse if they were before."""
        before = self.fitted.get(sha256, [])
        twice = np.intersect1d(labels, before)
        if len(twice):
            raise InputError(
                f"{where}: its samples of {len(twice)} classes (first: {self.class_names[twice[0]]!r}) are in "
                f"the model already (features sha256 {sha256[:12]}), and would count twice."
            )
        self.fitted[sha256] = sorted(before + labels.tolist())


def terms(method: str, hyper: Mapping[str, Any], normalize: bool) -> dict[str, Any]:
    """Return the terms that the user chooses, as JSON would give them back."""
    normalisation = NORMALISATION[normalize]
    chosen = {"method": method, "hyper": dict(hyper), "normalisation": normalisation}
    return json.loads(json.dumps(chosen))


def _flat(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Return terms with the hyper-parameters among them."""
    return {key: terms[key] for key in terms if key != "hyper"} | terms.get("hyper", {})
