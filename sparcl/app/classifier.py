"""A learner with scikit-learn's conventions; the only module here that imports scikit-learn (extra ``sklearn``)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise ImportError(
        "sparcl.Classifier needs scikit-learn, which is not installed: pip install 'sparcl[sklearn]'. The learners "
        "of sparcl.build do without."
    ) from error

from sparcl import methods
from sparcl.app.building import build, check_built
from sparcl.app.kinds import CLASSIFIER, opened
from sparcl.base.errors import ArgumentError, InputError, SparclError
from sparcl.learners.learner import Learner

DTYPES = [np.float64, np.float32, np.float16]  # kept as they are; other numbers become the first
CARD = {
    "params": dict[str, Any],
    "feature_names": list[str] | None,
    "classes": list[str | float | bool] | None,
}
TEXT = "OUT"  # kinds of arrays that hold text


def _has_posterior(classifier: "Classifier") -> bool:
    """Return whether the method's scores are log-probabilities; an estimator that cannot be built has none."""
    try:
        return classifier.built().posterior
    except (SparclError, TypeError):
        return False


class Classifier(ClassifierMixin, BaseEstimator):
    """A class-incremental classifier on frozen features, as scikit-learn calls one.

    :meth:`fit` learns all samples as one session; every call of :meth:`partial_fit` is the next session, whose
    classes may be new.  No sample is needed twice.  An invalid argument raises
    :class:`sparcl.base.errors.ArgumentError`, which is also a ``ValueError``.

    Parameters
    ----------
    method : a module of :mod:`sparcl.methods` (docs/methods.md)
    normalize : divide each row by its Euclidean norm; False takes rows as they are
    hyper : hyper-parameters of the method by name; ``set_params`` and searches know all of them, ``get_params``
        and ``repr`` show those that were given

    Attributes
    ----------
    classes_ : (c,) labels learned so far, ascending
    learner_ : the :class:`sparcl.learners.learner.Learner`; its label i is ``labels_[i]``
    labels_ : (c,) labels in the order in which they came, ascending within a session
    n_features_in_, feature_names_in_ : as in scikit-learn
    """

    learner_: Learner
    labels_: NDArray[Any]
    _declared: NDArray[Any] | None

    def __init__(
        self, method: str = "sparcl-plus", *, normalize: bool = True, **hyper: Any
    ) -> None:
        self.method = method
        self.normalize = normalize
        for name, value in hyper.items():
            if not _is_parameter(name) or hasattr(type(self), name):
                raise ArgumentError(
                    f"{name} = {value!r}: no hyper-parameter has this name. Correct it; those of the method "
                    f"{method!r} are in docs/methods.md."
                )
            setattr(self, name, value)

    # --- parameters --------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return method, ``normalize`` and the hyper-parameters that were given."""
        given = {name: value for name, value in vars(self).items() if _is_parameter(name)}
        return dict(sorted(given.items()))

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ArgumentError, and nothing is set, where the method has no such one."""
        unknown = params.keys() - self.get_params().keys()
        if unknown:
            with _argument_errors():
                methods.checked(params.get("method", self.method), dict.fromkeys(unknown))
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def built(self) -> Learner:
        """Return a new learner of these parameters; InputError as :func:`sparcl.build`."""
        return build(**self.get_params())

    # --- learning ----------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn X (n, d), y (n,) as one session and forget what was learned before.

        Raises
        ------
        ArgumentError, ValueError
            For parameters, features or labels that cannot be used.
        NumericalError
            Where the solution has no trustworthy numbers.
        """
        return self._learn(X, y, None, first=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn X (n, d), y (n,) as the next session.

        Parameters
        ----------
        classes : labels that may ever come. Without them, unlike elsewhere, every session may bring new ones.
            They are given once; ``classes_`` has those that came, since others have no score yet

        Raises
        ------
        ArgumentError, ValueError, NumericalError
            As :meth:`fit`, and for a label outside ``classes``; what was learned before stays.
        """
        return self._learn(X, y, classes, first=not hasattr(self, "learner_"))

    def _learn(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None, first: bool) -> Self:
        rows: NDArray[Any]
        given: NDArray[Any]
        rows, given = validate_data(
            self, _plain(X), _plain(y), dtype=DTYPES, order="C", reset=first
        )
        check_classification_targets(given)
        with _argument_errors(f" (n_samples = {len(rows)}, n_features = {rows.shape[1]})"):
            learner: Learner = self.built() if first else self.learner_
            labels: NDArray[Any] = given[:0] if first else self.labels_
            declared = _declared(classes, None if first else self._declared)
            given, labels = _joinable(given, labels)
            _check_known(given, declared)
            labels = np.concatenate([labels, np.setdiff1d(given, labels)])
            ascending = np.argsort(labels, kind="stable")
            learner.fit_session(rows, ascending[np.searchsorted(labels, given, sorter=ascending)])
        self.learner_, self.labels_, self._declared = learner, labels, declared
        self.classes_ = labels[ascending]
        return self

    # --- scores ------------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return scores (n, c), columns in the order of ``classes_``; with two classes the difference (n,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label (n,) with the highest score."""
        best = np.argmax(self._scores(X), axis=1)
        return self.classes_[best]

    @available_if(_has_posterior)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return the probability (n, c) of each class under the method's own model, where it has one."""
        scores = self._scores(X)
        P = np.exp(scores - scores.max(axis=1, keepdims=True))
        return P / P.sum(axis=1, keepdims=True)

    def _scores(self, X: ArrayLike) -> NDArray[np.floating]:
        check_is_fitted(self)
        rows: NDArray[Any] = validate_data(self, _plain(X), dtype=DTYPES, order="C", reset=False)
        with _argument_errors():
            return self.learner_.logits(rows)[:, np.argsort(self.labels_, kind="stable")]

    # --- files -------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write parameters, labels and learner as an npz file, whole or not at all; ``sparcl.load`` reads it.

        Raises
        ------
        NotFittedError, ArgumentError
            Before :meth:`fit`; for labels that are neither numbers nor text.
        """
        check_is_fitted(self)
        labels = self.labels_
        if labels.dtype.kind in TEXT:
            if not all(isinstance(label, str) for label in labels):
                raise ArgumentError(
                    f"{path}: labels are objects that no file holds. Use text or numbers."
                )
            labels = labels.astype(np.str_)
        names = getattr(self, "feature_names_in_", None)
        card = {
            "params": self.get_params(),
            "feature_names": None if names is None else names.tolist(),
            "classes": None if self._declared is None else self._declared.tolist(),
        }
        self.learner_.save(path, card=json.dumps(card, default=np.generic.item), labels=labels)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote, no pickle; InputError when the file is not that."""
        with opened(path, CLASSIFIER, CARD) as (card, state):
            return cls._of_state(card, state)

    @classmethod
    def _of_state(cls, card: dict[str, Any], state: dict[str, Any]) -> Self:
        labels = state.pop("labels")
        params: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in card["params"].items()
        }
        classifier = cls(**params)
        made = classifier.built()  # which imports the classes that the state names
        learner = Learner.from_state(state)
        check_built(made, learner)
        if (
            labels.ndim != 1
            or not np.array_equal(learner.classes, np.arange(len(np.unique(labels))))
            or len(labels) != len(learner.classes)
        ):
            raise ValueError("labels and classes differ in number")
        names, classes = card["feature_names"], card["classes"]
        if names is not None and len(names) != learner.d:
            raise ValueError("names of other features")
        classifier.learner_, classifier.labels_ = learner, labels
        classifier.classes_ = np.sort(labels)
        classifier.n_features_in_ = learner.d
        if names is not None:
            classifier.feature_names_in_ = np.array(names, dtype=object)
        classifier._declared = None if classes is None else np.array(classes)
        _check_known(labels, classifier._declared)
        return classifier


def _is_parameter(name: str) -> bool:
    """Return whether an attribute is a parameter: those that fitting sets end or begin with an underscore."""
    return not (name.startswith("_") or name.endswith("_"))


def _plain(values: Any) -> Any:
    """Return a torch tensor on the CPU as an array, and anything else as it is; torch is not imported for it."""
    if type(values).__module__.partition(".")[0] != "torch":
        return values
    values = values.detach()
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()


def _declared(classes: ArrayLike | None, before: NDArray[Any] | None) -> NDArray[Any] | None:
    """Return the labels that may ever come, None for any; InputError when they change."""
    if classes is None:
        return before
    labels = np.unique(np.asarray(_plain(classes)))
    if before is not None and not np.array_equal(labels, before):
        raise InputError(
            f"classes: {len(labels)} labels that are not the {len(before)} of an earlier call. They are given once, "
            "for good; leave them out for a stream whose classes are not known beforehand."
        )
    return labels


def _check_known(y: NDArray[Any], declared: NDArray[Any] | None) -> None:
    if declared is None:
        return
    unknown = np.setdiff1d(*_joinable(y, declared))
    if len(unknown):
        raise InputError(
            f"y: {len(unknown)} labels are not among the {len(declared)} of `classes` (first: {str(unknown[0])!r}). "
            "Name them there, or leave `classes` out."
        )


def _joinable(y: NDArray[Any], labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return labels and other labels in one dtype that holds all of them; InputError where none does."""
    where = f"y: labels are {y.dtype}, the others {labels.dtype}"
    if len(labels) and (y.dtype.kind in TEXT) != (labels.dtype.kind in TEXT):
        raise InputError(f"{where}: numbers here, text there. Name classes alike in all sessions.")
    dtype = np.result_type(y, labels)
    whole = {y.dtype.kind, labels.dtype.kind} <= {"i", "u"}
    if whole and dtype.kind == "f":  # uint64 with int64
        dtype = np.dtype(np.int64)
    for part in (y, labels):
        values = np.unique(part)
        if len(labels) and values.astype(dtype).tolist() != values.tolist():
            raise InputError(
                f"{where}, and {values.max()} is not exact as {dtype}: it would be one with its neighbours. Give "
                "labels of one integer dtype, or text."
            )
    return y.astype(dtype), labels.astype(dtype)


@contextmanager
def _argument_errors(where: str = "") -> Iterator[None]:
    """Raise an InputError as the ValueError that scikit-learn expects; its message ends with ``where``."""
    try:
        yield
    except InputError as error:
        raise ArgumentError(f"{error}{where}") from error
