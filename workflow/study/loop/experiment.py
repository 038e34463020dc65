"""The session loop: features, order and method in, one run record out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparcl import methods
from sparcl.base.errors import InputError, SparclError
from sparcl.base.types import Array, Ints
from sparcl.learners.learner import Learner
from sparcl.protocol import stream
from study.loop import metrics, old_classes

DIGITS = 12  # significant digits of a recorded float


@dataclass(frozen=True)
class Split:
    """Features (n, d) and labels (n,) of one split of a data set."""

    features: Array
    labels: Ints

    def rows(self, classes: Ints) -> "Split":
        """Return the samples of ``classes``, in file order."""
        rows = stream.rows_of(self.labels, classes)
        return Split(self.features[rows], self.labels[rows])


def check_splits(train: Split, test: Split, classes: int, where: str) -> None:
    """Raise InputError unless every class 0..classes-1 has training and test samples."""
    for name, split in (("train", train), ("test", test)):
        present = np.unique(split.labels)
        outside = present[(present < 0) | (present >= classes)]
        if len(outside):
            raise InputError(
                f"{where}, {name}: label {outside[0]} lies outside the class list 0..{classes - 1}."
            )
        missing = np.setdiff1d(np.arange(classes), present)
        if len(missing):
            raise InputError(
                f"{where}, {name}: class {missing[0]} has no sample ({len(missing)} such classes). "
                "Remove the class from the data set or add samples."
            )
    if train.features.shape[1] != test.features.shape[1]:
        raise InputError(
            f"{where}: training features have {train.features.shape[1]} dimensions and test "
            f"features {test.features.shape[1]}: extract both with the same backbone."
        )


def arrivals(
    train: Split, sessions: Sequence[Ints], session_of_sample: Sequence[int] | None = None
) -> list[Split]:
    """Return the training samples of each session.

    Parameters
    ----------
    sessions : classes of each session
    session_of_sample : (n,) from 0, or -1 for a sample that is left out, where an order file states samples
        (:meth:`study.loop.order_file.StatedOrder.arrivals`); by default a session has all samples of its classes

    Raises
    ------
    InputError
        When there is another number of samples.
    """
    if session_of_sample is None:
        return [train.rows(np.asarray(classes)) for classes in sessions]
    session = np.asarray(session_of_sample)
    if len(session) != len(train.labels):
        raise InputError(
            f"the class order states the sessions of {len(session)} training samples, and there are "
            f"{len(train.labels)}. The features were made again since: delete the order, it will be made anew."
        )
    rows = [np.flatnonzero(session == number) for number in range(len(sessions))]
    return [Split(train.features[part], train.labels[part]) for part in rows]


def run(
    train: Split,
    test: Split,
    sessions: list[Ints],
    method: str,
    hyper: dict[str, Any],
    device: str = "cpu",
    session_of_sample: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Run one method over one stream and return its record of plain numbers.

    Parameters
    ----------
    train, test : prepared features and labels
    sessions : classes of each session that no earlier one had
    method, hyper, device : for :func:`sparcl.methods.build`
    session_of_sample : see :func:`arrivals`

    Returns
    -------
    Mapping with ``correct`` (T, K) and ``test_counts`` (K,), both numbers of test samples;
    ``classes`` (K,) in order; ``session_of_class`` (K,), from 0; ``drift`` (T,), in units of the
    logits, and ``drift_scaled`` (T,), in standard deviations of these, both null in session 1;
    ``reports`` and ``diagnostics`` (T,); ``answers``, whether each test sample is predicted
    correctly after each session (:func:`study.loop.metrics.pack_answers`);
    and ``hyper``, every hyper-parameter used.

    Raises
    ------
    SparclError
        From the learner; the message names method and session.
    InputError
        When the splits lack a class of the stream or differ in dimension.
    """
    learner = methods.build(method, device=device, **hyper)
    check_splits(train, test, int(np.concatenate(sessions).max()) + 1, "run")
    parts = arrivals(train, sessions, session_of_sample)

    def fit(session: int) -> None:
        learner.fit_session(parts[session].features, parts[session].labels)

    return evaluate_stream(
        learner, fit, test, sessions, method, methods.hyperparameters(method) | hyper
    )


class Observer(Protocol):
    """Measures a stream beside the loop: called around each session, given its number from 0."""

    def before(self, session: int) -> None:
        """Look at the learner before it fits the session."""

    def after(self, session: int) -> None:
        """Look at the learner after it."""


@dataclass(frozen=True)
class _Evaluation:
    """A learner after a session, on the n test samples of all classes seen, those of old classes first."""

    scores: Array  # (n, c)
    hit: NDArray[np.bool_]  # (n,) predicted correctly
    weights: Array | None  # (D, c), where the learner has any


def evaluate_stream(
    learner: Learner,
    fit: Callable[[int], None],
    test: Split,
    sessions: list[Ints],
    method: str,
    hyper: dict[str, Any],
    observers: Sequence[Observer] = (),
) -> dict[str, Any]:
    """Return the record (:func:`run`) of a new learner on a stream.

    Parameters
    ----------
    learner : before its first session
    fit : feeds the learner one session, given its number from 0
    test : features and labels of the test split
    sessions : classes of each session
    method, hyper : what the learner was built from, for the record
    observers : measure beside the loop

    Raises
    ------
    SparclError
        From ``fit``; the message names the method.
    """
    order = np.concatenate(sessions)
    # samples in the order of their sessions: those of the classes seen so far stand first
    rows = [stream.rows_of(test.labels, classes) for classes in sessions]
    ends, by_session = np.cumsum([len(part) for part in rows]), np.concatenate(rows)
    test = Split(test.features[by_session], test.labels[by_session])
    by_class = np.concatenate([np.flatnonzero(test.labels == label) for label in order])
    correct, answers, reports, measured = [], [], [], []
    drifts: list[tuple[float, float]] = []
    previous: _Evaluation | None = None
    score: Callable[[int], Array] | None = None
    for t in range(len(sessions)):
        for observer in observers:
            observer.before(t)
        try:
            fit(t)
        except SparclError as error:
            raise type(error)(f"{method}, {len(sessions)} sessions: {error}") from error
        for observer in observers:
            observer.after(t)
        reports.append(_rounded(learner.report()))
        score, labels = score or learner.scorer(test.features), test.labels[: ends[t]]
        current = _evaluate(learner, score(ends[t]), labels)
        correct.append(_counts(labels[current.hit], order))
        answers.append(current.hit[by_class[: ends[t]]])
        drift, of_old = _compare(learner, test, previous, current)
        drifts.append(drift)
        measured.append(_rounded(of_old))
        previous = current
    lengths = [len(classes) for classes in sessions]
    return {
        "classes": order.tolist(),
        "correct": correct,
        "diagnostics": measured,
        "answers": metrics.pack_answers(answers),
        "drift": [_rounded(drift) for drift, _ in drifts],
        "drift_scaled": [_rounded(scaled) for _, scaled in drifts],
        "hyper": hyper,
        "reports": reports,
        "session_of_class": np.repeat(np.arange(len(sessions)), lengths).tolist(),
        "test_counts": _counts(test.labels, order),
    }


def _evaluate(learner: Learner, scores: Array, labels: Ints) -> _Evaluation:
    """Compare scores (n, c) of the test samples of the classes seen with their labels."""
    hit = learner.classes[np.argmax(scores, axis=1)] == labels
    return _Evaluation(scores, hit, getattr(learner, "weights", None))


def _counts(labels: Ints, order: Ints) -> list[int]:
    """Return how many of ``labels`` each class of ``order`` has."""
    return [int(np.count_nonzero(labels == label)) for label in order]


def _compare(
    learner: Learner, test: Split, previous: _Evaluation | None, current: _Evaluation
) -> tuple[tuple[float, float], dict[str, float]]:
    """Return the drift of old logits, raw and scaled, and what happened to the old classes."""
    if previous is None:
        nothing = np.zeros((0, 0))
        return (np.nan, np.nan), old_classes.measure(learner, None, test.features[:0], nothing)
    before = previous.scores
    # old test samples come first in both, so that rows and columns line up
    after = current.scores[: len(before), : before.shape[1]]
    old = test.features[: len(before)]
    of_old = old_classes.measure(learner, previous.weights, old, after - before)
    return metrics.logit_drift(before, after), of_old


def _rounded(value: Any) -> Any:
    """Round floats to DIGITS significant digits; nan becomes None (JSON's null)."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value
