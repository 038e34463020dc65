"""A learner that is fitted from feature files, saved in one npz file with a record of what it was fitted on."""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sparcl import methods
from sparcl.algebra import backend
from sparcl.app.building import build, check_built
from sparcl.app.counted import Counted
from sparcl.app.kinds import MODEL, opened
from sparcl.base import typed
from sparcl.base.errors import InputError
from sparcl.base.rows import NORMALISATION
from sparcl.base.types import Array
from sparcl.extraction import networks
from sparcl.features import layout, matching
from sparcl.learners.learner import Learner
from sparcl.learners.summed import Summed

if TYPE_CHECKING:
    from sparcl.app import pictures

CARD = {"terms": dict[str, Any], "class_names": list[str]}
CHOSEN = {"method": str, "hyper": dict[str, Any], "normalisation": Literal[*NORMALISATION.values()]}


@dataclass
class Model:
    """A learner, and what must agree before it meets more features or another model.

    Attributes
    ----------
    learner : its labels are positions in ``class_names``
    terms : method and all its hyper-parameters, normalisation and, once there are features,
        :func:`matching.source`
    class_names : of all files seen, in order of appearance; files are matched by these names
    counted : all samples that were fitted; none counts twice
    extracted : how features were extracted (:func:`sparcl.extraction.networks.of`); None where nothing says it
    """

    learner: Learner
    terms: dict[str, Any]
    class_names: list[str] = field(default_factory=list)
    counted: Counted = field(default_factory=Counted)
    extracted: dict[str, Any] | None = None

    @classmethod
    def build(cls, method: str, hyper: dict[str, Any], normalize: bool) -> Self:
        """Return a model that has seen nothing; InputError as :func:`sparcl.build`."""
        learner = build(method, normalize=normalize, **hyper)
        return cls(learner, terms(method, methods.hyperparameters(method) | hyper, normalize))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote; InputError when the file is no such model."""
        with opened(path, MODEL, CARD) as (card, state):
            own, names = card["terms"], card["class_names"]
            counted = Counted(state.pop("samples"))
            extracted = None  # of models that were saved before it was kept
            if "extracted" in state:
                extracted = typed.read(state.pop("extracted"), networks.RECORD, "extracted")
            typed.check(
                own, CHOSEN if own.keys() == CHOSEN.keys() else CHOSEN | matching.MADE, "terms"
            )
            defaults = methods.hyperparameters(own["method"])
            if own["hyper"].keys() != defaults.keys():
                raise ValueError("hyper-parameters of another method")
            made = _built(own)  # which imports the classes that the state names
            learner = Learner.from_state(state)
            check_built(made, learner)
            labels = learner.all_classes
            if len(labels) and not 0 <= labels.min() <= labels.max() < len(names):
                raise ValueError("a class without a name")
            if len({*names}) < len(names) or own.get("features", learner.d) != learner.d:
                raise ValueError("names of classes or features that the learner does not have")
            return cls(learner, own, names, counted, extracted)

    def save(self, path: str | Path) -> None:
        """Write learner and card as an npz file, whole or not at all."""
        card = {"terms": self.terms, "class_names": self.class_names}
        beside = {} if self.extracted is None else {"extracted": json.dumps(self.extracted)}
        self.learner.save(path, card=json.dumps(card), samples=self.counted.names, **beside)

    def again(self) -> Self:
        """Return a model of the same terms and class names that has seen nothing."""
        return type(self)(_built(self.terms), self.terms, self.class_names)

    @property
    def labels(self) -> NDArray[np.str_]:
        """Names (c,) of the classes learned, in the order of the columns of :meth:`scores`."""
        return np.array(self.class_names)[self.learner.classes]

    def scores(self, Phi: Array) -> Array:
        """Return scores (n, c) of features Phi (n, d) as they come from the network."""
        return self.learner.logits(Phi)

    def predict(self, Phi: Array) -> NDArray[np.str_]:
        """Return the class name (n,) with the highest score of features Phi (n, d)."""
        return self.labels[np.argmax(self.scores(Phi), axis=1)]

    def label(
        self,
        paths: str | Path | Sequence[str | Path],
        weights: str | Path | None = None,
        device: str = "cpu",
    ) -> "pictures.Labels":
        """Return what the model says of images, which go through the network that its features came from.

        Parameters
        ----------
        paths : images, and folders, of which all images below are meant
        weights : a copy of the network's weights, with the hash that the features state; by default they are read, or
            fetched, from where the extraction had them
        device : of the network: cpu, cuda, or auto, cuda where there is a card

        Raises
        ------
        InputError
            When the model does not know the network, the message says what is missing; or no image is there.
        WeightsError, ConfigError
            When the weights are not available or others, or a library of the extra ``extract`` is missing.
        """
        from sparcl.app import pictures  # most models never meet an image

        given = [paths] if isinstance(paths, (str, Path)) else paths
        return pictures.label(self, given, weights, device)

    def move(self, device: str) -> None:
        """Compute on a device (:func:`sparcl.algebra.backend.named`); InputError where the method cannot."""
        try:
            self.learner.move(backend.named(device))
        except InputError as error:
            raise InputError(f"Method {self.terms['method']!r}: {error}") from error

    def described(self, path: Path) -> str:
        """Return one line that says what was saved at `path`."""
        learner = self.learner
        sessions = "1 session" if learner.session == 1 else f"{learner.session} sessions"
        return (
            f"{path}: {self.terms['method']}, {sessions}, {len(learner.classes)} classes, "
            f"{self.terms['features']} features"
        )

    def agree(self, given: Mapping[str, Any], where: str) -> None:
        """Take over terms that the model lacks; raise InputError where one differs, and name it."""
        self.terms = {**given, **self.terms}
        asked, mine = _flat(given), _flat(self.terms)
        if found := matching.difference(asked, {key: mine[key] for key in asked}):
            name, value, own = found
            raise InputError(
                f"{where}: {name} is {value!r}, but {own!r} in the model. Sums add up, and scores make sense, only "
                "where both are the same."
            )

    def summed(self) -> Summed | None:
        """Return the learner if it takes a session in parts."""
        learner = self.learner
        return learner if isinstance(learner, Summed) and not learner.undivided else None

    def merge(self, others: Sequence[tuple[str, "Model"]]) -> None:
        """Add what other models (with their names) were fitted on, as one more session.

        Raises
        ------
        InputError
            When a model differs in a term (the message names it), was fitted on the same samples,
            or its method is not a sum.
        """
        summed = self.summed()
        if summed is None:
            raise InputError(
                f"{self.terms['method']} cannot be merged: {self.learner.undivided}. "
                "Fit one model on all feature files."
            )
        for name, other in others:
            self.agree(other.terms, name)
            self.extracted = self.extracted or other.extracted
            labels = self.meet(other.class_names)
            self.counted.add(other.counted.names, name)
            renamed = copy.copy(other.learner)
            renamed.classes = labels[renamed.classes]
            summed.merge(renamed)
        summed.solve()

    def meet(self, names: Sequence[str] | Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the label of each class name; a new name gets the next free label."""
        known = set(self.class_names)
        self.class_names = self.class_names + [name for name in names if name not in known]
        place = {name: label for label, name in enumerate(self.class_names)}
        return np.array([place[name] for name in names], dtype=np.int64)

    def labels_of(self, header: layout.Header) -> NDArray[np.int64]:
        """Return the label of each class of a file, -1 for a class that the model does not know."""
        place = {name: label for label, name in enumerate(self.class_names)}
        return np.array([place.get(name, -1) for name in header.class_names], dtype=np.int64)


def terms(method: str, hyper: Mapping[str, Any], normalize: bool) -> dict[str, Any]:
    """Return the terms that the user chooses, as JSON gives them back."""
    normalisation = NORMALISATION[normalize]
    chosen = {"method": method, "hyper": dict(hyper), "normalisation": normalisation}
    return json.loads(json.dumps(chosen))


def _built(terms: Mapping[str, Any]) -> Learner:
    """Return a new learner of these terms, built without defaults, of which some exclude each other."""
    defaults = methods.hyperparameters(terms["method"])
    chosen = {k: v for k, v in terms["hyper"].items() if v != defaults[k]}
    normalize = terms["normalisation"] == NORMALISATION[True]
    return build(terms["method"], normalize=normalize, **chosen)


def _flat(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Return terms with the hyper-parameters among them."""
    return {key: terms[key] for key in terms if key != "hyper"} | terms.get("hyper", {})
