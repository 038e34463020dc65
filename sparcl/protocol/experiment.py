"""The session loop: features, order and method in, one run record out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl import methods
from sparcl.base.errors import InputError, SparclError
from sparcl.learners.learner import Learner
from sparcl.protocol import metrics, old_classes, stream

DIGITS = 12  # significant digits of a recorded float


@dataclass(frozen=True)
class Split:
    """Features (n, d) and labels (n,) of one split of a data set."""

    features: NDArray[np.floating]
    labels: NDArray[np.integer]

    def rows(self, classes: NDArray[np.integer]) -> "Split":
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


def run(
    train: Split,
    test: Split,
    sessions: list[NDArray[np.integer]],
    method: str,
    hyper: dict[str, Any],
) -> dict[str, Any]:
    """Run one method over one stream and return its record of plain numbers.

    Parameters
    ----------
    train, test : prepared features and labels
    sessions : classes of each session
    method, hyper : for :func:`sparcl.methods.build`

    Returns
    -------
    Mapping with ``correct`` (T, K), ``test_counts`` (K,), ``session_of_class`` (K,), ``classes``
    (K,) in order, ``drift`` and ``drift_scaled`` (T,) (null in session 1), ``reports`` and
    ``diagnostics`` (T,), ``last_hits`` (packed bits over the test split's rows, in file order) and
    ``hyper``, every hyper-parameter used.

    Raises
    ------
    SparclError
        From the learner; the message names the session.
    """
    learner = methods.build(method, **hyper)
    check_splits(train, test, int(np.concatenate(sessions).max()) + 1, "run")

    def fit(classes: NDArray[np.integer]) -> None:
        data = train.rows(classes)
        learner.fit_session(data.features, data.labels)

    return evaluate_stream(
        learner, fit, test, sessions, method, methods.hyperparameters(method) | hyper
    )


def evaluate_stream(
    learner: Learner,
    fit: Callable[[NDArray[np.integer]], None],
    test: Split,
    sessions: list[NDArray[np.integer]],
    method: str,
    hyper: dict[str, Any],
) -> dict[str, Any]:
    """Return the record (:func:`run`) of a new learner that ``fit`` gives the classes of a session at a time."""
    order = np.concatenate(sessions)
    test_counts = np.array([np.count_nonzero(test.labels == label) for label in order])
    correct = np.zeros((len(sessions), len(order)), dtype=np.int64)
    drifts: list[tuple[float, float]] = [(np.nan, np.nan)]
    reports, measured = [], []
    before: NDArray[np.floating] | None = None
    W_before: NDArray[np.floating] | None = None
    for t, classes in enumerate(sessions):
        try:
            fit(classes)
        except SparclError as error:
            raise type(error)(f"{method}, {len(sessions)} sessions: {error}") from error
        reports.append(_rounded(learner.report()))
        # Old test samples first, so that their scores line up with the previous session's.
        rows = np.concatenate([stream.rows_of(test.labels, s) for s in sessions[: t + 1]])
        labels, features = test.labels[rows], test.features[rows]
        scores = learner.logits(features)
        hit = learner.classes[np.argmax(scores, axis=1)] == labels
        correct[t] = [np.count_nonzero(labels[hit] == label) for label in order]
        change = np.zeros((0, 0))
        if before is not None:
            after = scores[: len(before), : before.shape[1]]
            drifts.append(metrics.logit_drift(before, after))
            change = after - before
        of_old = old_classes.measure(learner, W_before, features[: len(change)], change)
        measured.append(_rounded(of_old))
        before, W_before = scores, getattr(learner, "weights", None)
    last = np.zeros(len(test.labels), dtype=bool)
    last[rows] = hit
    return {
        "classes": order.tolist(),
        "correct": correct.tolist(),
        "diagnostics": measured,
        "last_hits": old_classes.packed(last),
        "drift": [_rounded(drift) for drift, _ in drifts],
        "drift_scaled": [_rounded(scaled) for _, scaled in drifts],
        "hyper": hyper,
        "reports": reports,
        "session_of_class": np.repeat(
            np.arange(len(sessions)), [len(classes) for classes in sessions]
        ).tolist(),
        "test_counts": test_counts.tolist(),
    }


def _rounded(value: Any) -> Any:
    """Round floats to DIGITS significant digits; nan becomes None (JSON's null)."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value
