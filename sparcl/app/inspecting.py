"""Inspection of a saved file: classes, sums, spectrum, core, and the paper's diagnostic protocol."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from sparcl import methods
from sparcl.algebra.spectra import descending_eigh, energy_rank
from sparcl.algebra.sums import Sums
from sparcl.app.building import load
from sparcl.app.kinds import MODEL
from sparcl.app.model import Model
from sparcl.base.checks import check_fraction, check_positive
from sparcl.base.errors import InputError
from sparcl.base.rows import NORMALISATION
from sparcl.base.state import pack
from sparcl.base.types import Array, Ints, host
from sparcl.learners.learner import Learner
from sparcl.methods.ncm import NearestClassMean
from sparcl.protocol import diagnostics
from sparcl.protocol.diagnostics import prototype_cosine

# The paper's settings of the spectrum.
RIDGE, TAU, MODES = 1.0, 0.95, 64
LARGE = {"overlap": 0.5, "drift": 0.05, "cosine": 0.5}


@dataclass
class Inspection:
    """Contents of a file, and quantities computed from its sums.

    Attributes
    ----------
    title, facts : what was saved, and lines (name, text) about it
    class_names : c names
    counts, prototypes : samples (c,) and mean row (D, c) of each class, or None
    sums : R, C and counts of all sessions, or None; values : (D,) eigenvalues of R, descending
    lacks : what is not there, in sentences
    report : what the learner chose and measured in its last session
    ridge, tau : of the protocol; k : rank of the core at tau
    sessions : rows of :func:`sparcl.protocol.diagnostics.trace_sums`
    advice : of :func:`sparcl.protocol.diagnostics.recommend`, empty where no session comes after another
    """

    title: str
    facts: list[tuple[str, str]]
    class_names: list[str]
    counts: Array | None = None
    prototypes: Array | None = None
    sums: Sums | None = None
    lacks: list[str] = field(default_factory=list)
    report: Mapping[str, Any] = field(default_factory=dict)
    ridge: float = RIDGE
    tau: float = TAU
    values: Array = field(default_factory=lambda: np.zeros(0))
    k: int = 0
    sessions: list[dict[str, Any]] = field(default_factory=list)
    advice: dict[str, Any] = field(default_factory=dict)

    @property
    def energy(self) -> Array:
        """Share (D,) of the trace that the leading modes hold together."""
        positive = np.maximum(self.values, 0)
        return np.cumsum(positive) / positive.sum()

    @property
    def cosine(self) -> float | None:
        """Mean cosine between different prototypes; None for one class, or without prototypes."""
        few = self.prototypes is None or self.prototypes.shape[1] < 2
        return None if few else prototype_cosine(cast(Array, self.prototypes))


def inspect(
    path: Path,
    since: Sequence[Path] = (),
    ridge: float = RIDGE,
    tau: float = TAU,
) -> Inspection:
    """Return what a saved file holds and what the diagnostic protocol makes of it.

    Cost: for each session that is seen, one eigendecomposition of R (D, D) and as much again.

    Parameters
    ----------
    path : of ``sparcl fit``, ``Learner.save`` or ``Classifier.save``
    since : the same model as it was after earlier sessions
    ridge, tau : of the protocol, the paper's by default

    Raises
    ------
    InputError
        When a file is none of these, or ``since`` does not belong to it.
    """
    saved = load(path)
    if isinstance(saved, Model):
        models = _in_order(saved, [(str(other), Model.load(other)) for other in since])
        learners = [model.learner for model in models]
        found = _of_model(saved)
    elif since:
        raise InputError(f"{path}: --since goes with {MODEL}, and this is none. Leave it out.")
    else:
        learner, labels = (
            (saved, saved.classes)
            if isinstance(saved, Learner)
            else (saved.learner_, saved.labels_)
        )
        learners, found = [learner], _of_learner(learner, [*map(str, labels)])
    check_positive("ridge", ridge)
    check_fraction("tau", tau)
    found.ridge, found.tau = ridge, tau
    found.sessions = diagnostics.trace_sums(_saves(learners), ridge, tau, MODES)["sessions"]
    if len(found.sessions) > 1:
        found.advice = diagnostics.recommend(found.sessions, LARGE)
    if found.sums is not None:
        found.values = host(descending_eigh(found.sums.R.copy(order="F"))[0])
        found.k = energy_rank(found.values, float(np.maximum(found.values, 0).sum()), tau)
    return found


def sums_of(learner: Learner) -> Sums | None:
    """Return the sums R, C and n of a learner, or None where it keeps none."""
    own = getattr(learner, "sums", None)
    return own if isinstance(own, Sums) and own.D and own.n else None


# --- what a file holds -----------------------------------------------------------------------


def _of_learner(learner: Learner, class_names: list[str]) -> Inspection:
    title = f"{type(learner).__name__}, {_sessions(learner.session)}, {len(class_names)} classes"
    rows = NORMALISATION[True] if learner.normalize else "as they are"
    facts = [("features", f"{learner.d}, {rows}")]
    found = Inspection(title, facts, class_names, report=learner.report(), sums=sums_of(learner))
    if found.sums is not None:
        found.prototypes, found.counts = found.sums.means(), found.sums.counts
        return found
    found.lacks.append(
        "This learner keeps no second moments R: there is no spectrum, no core and no advice."
    )
    if isinstance(learner, NearestClassMean):
        found.prototypes, found.counts = learner.sums / learner.counts, learner.counts
    else:
        found.lacks.append(
            "It keeps no sums of classes either: counts and prototypes are not known."
        )
    return found


def _of_model(model: Model) -> Inspection:
    method, hyper = model.terms["method"], model.terms["hyper"]
    found = _of_learner(model.learner, model.labels.tolist())
    default = json.loads(json.dumps(methods.hyperparameters(method)))
    own = [f"{name} = {value}" for name, value in hyper.items() if value != default[name]]
    facts = [("settings", ", ".join([*own, "others by default"]) if own else "all by default")]
    facts += [("network", str(model.terms["backbone"]))] if "backbone" in model.terms else []
    found.title = found.title.replace(type(model.learner).__name__, method, 1)
    found.facts = facts + found.facts
    return found


def _sessions(count: int) -> str:
    return "1 session" if count == 1 else f"{count} sessions"


# --- the sums after each session -------------------------------------------------------------


def _in_order(model: Model, earlier: Sequence[tuple[str, Model]]) -> list[Model]:
    """Return earlier saves of one model and the model, by session; InputError where one is none."""
    saves = sorted(earlier, key=lambda save: save[1].learner.session)
    models = [*(other for _, other in saves), model]
    for (name, one), other in zip(saves, models[1:], strict=True):
        other.agree(one.terms, name)
        old, labels = one.labels, other.labels
        began = np.array_equal(labels[: len(old)], old) and _same_map(one.learner, other.learner)
        counted = np.isin(one.counted.names, other.counted.names).all()
        if not (began and counted and len(one.counted.names) < len(other.counted.names)):
            raise InputError(
                f"{name}: is not what a later model was before more was appended: its classes, its map or its "
                "samples differ. Name files that `fit --append` went on from, under another --out."
            )
    return models


def _same_map(one: Learner, other: Learner) -> bool:
    """Return whether two learners map rows alike."""
    a, b = (
        {k: v for k, v in pack(learner).items() if k.startswith(("transform/", "map/"))}
        for learner in (one, other)
    )
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


def _saves(learners: Sequence[Learner]) -> Iterator[tuple[Sums, Ints]]:
    """Yield the sums of saves of one learner, with a column for each class of the last."""
    for learner in learners:
        sums = sums_of(learner)
        if sums is None:
            return
        sums = sums.copy()
        sums.grow(len(learners[-1].classes))
        yield sums, np.arange(len(learner.classes))
