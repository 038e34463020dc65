"""Many class orders, ridges and thresholds from the sums of each class: no pass over samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import backend
from sparcl.base.errors import InputError, NumericalError
from sparcl.learners.composed import Composed
from sparcl.parts.batch import Arrival
from sparcl.parts.maps import Features
from sparcl.parts.transforms import Identity
from study import methods
from study.loop import experiment
from study.sums.class_sums import ClassSums, check_free

Array = NDArray[np.floating]


def learner(method: str, hyper: dict[str, Any], device: str = "cpu") -> Composed:
    """Return a learner that learns from sums of classes; ``ridge`` and ``tau`` may be lists.

    Raises
    ------
    InputError
        When the method is no ridge on R and C, or a hyper-parameter is unknown or needs samples.
    """
    built = methods.build(method, device=device, **hyper)
    if not isinstance(built, Composed):
        raise InputError(
            f"Method {method!r} does not follow from sums of classes: acil, sparcl and sparcl-alg1 do."
        )
    needed = needs_rows(built)
    if needed:
        raise InputError(f"Sums of classes do not hold what {method!r} needs: {needed}.")
    return built


def placed(sums: ClassSums, Phi: Array, device: str) -> tuple[ClassSums, Array]:
    """Send sums and test rows Phi (n, d) to a device once, for every order, ridge and threshold of a sweep.

    Raises
    ------
    InputError
        When there is no such device, or too little memory is free there for the sums, or for the rows and
        a copy of them in an order's places.
    """
    on = backend.named(device)
    there = sums.placed(on)
    check_free(on, f"{len(Phi):,} test rows", 2 * Phi.size * np.dtype(np.float64).itemsize)
    return there, on.array(Phi, "float64")


def correct(
    sums: ClassSums,
    Phi: Array,
    y: NDArray[np.integer],
    sessions: Sequence[NDArray[np.integer]],
    fitted: Composed,
) -> dict[tuple[int, int], NDArray[np.int64]]:
    """Run one class order at every grid point of a new learner and count hits on test samples.

    Parameters
    ----------
    sums : of the training samples; Phi (n, d), y (n,) : test samples, prepared as those were.  Where several
        orders are run, both are what :func:`placed` gave
    sessions : classes of each session

    Returns
    -------
    (T, K) counts of hits after each session, of the class at each place of the order, by number of ridge and of core
    rule.
    Cost beside the fits: 2 n d c flops a point and session.
    """
    order = np.concatenate(sessions)
    place = np.full(sums.classes, -1)
    place[order] = np.arange(len(order))
    position = place[y]
    # test samples by the class's place: those of the classes seen are the first
    rows = np.argsort(position, kind="stable")[np.count_nonzero(position < 0) :]
    position = position[rows]
    on = fitted.on
    H = on.take_rows(on.array(Phi, "float64"), rows)  # once for all sessions and points
    result: dict[tuple[int, int], NDArray[np.int64]] = {}
    for t, classes in enumerate(sessions):
        learn_sums(fitted, classes, sums)
        tested = np.searchsorted(position, len(fitted.classes))
        for point, scores in fitted.solutions.all_scores(fitted.on, H[:tested, :]).items():
            found = place[fitted.classes[np.argmax(scores, axis=1)]]
            hit = position[:tested][found == position[:tested]]
            counts = result.setdefault(point, np.zeros((len(sessions), len(order)), dtype=np.int64))
            counts[t] = np.bincount(hit, minlength=len(order))
    return result


def learn_sums(
    learner: Composed,
    labels: Sequence[int] | NDArray[np.integer],
    sums: ClassSums,
) -> None:
    """Learn the next session, all samples of ``labels``, classes that are new, with what :func:`learner` gave.

    Weights are those that ``fit_session`` gives on the samples, to rounding.

    Raises
    ------
    InputError
        When a class was learned before or has no sample.
    NumericalError
        When the ridge system is not positive definite, or scores are not finite or all the same.
    """
    learner.begin_update()
    where, old = f"session {learner.session + 1}", len(learner.classes)
    labels = np.sort(np.asarray(labels, dtype=np.int64))
    again = np.intersect1d(labels, learner.classes)
    if len(again):
        raise InputError(f"{where}: class {again[0]} was learned before, all its samples at once.")
    try:
        arriving = sums.of(labels)
        learner.begin(np.zeros((0, sums.d)), len(labels))
        classes, total = old + len(labels), learner.total
        if learner.rule.relative:
            learner.rule.fix(learner.head.unit(arriving.mean_square))
        learner.core.renew(
            total, learner.session, learner.rule.absolute[0]
        )  # from earlier sessions
        total.grow(classes)
        total.merge(arriving, range(old, classes))
        points = learner.rule.points()
        arrival = Arrival(np.arange(old, classes), old, classes, learner.session)
        learner.keep(points, arrival, total)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    except NumericalError as error:
        raise learner.failed(error) from error
    learner.classes, learner.d = np.concatenate([learner.classes, labels]), sums.d
    learner.try_scores()
    learner.session += 1


def needs_rows(learner: Composed) -> str:
    """Return why sums of classes in the features' own coordinates do not suffice; empty where they do."""
    if learner.rule.whole_session:
        return "its rule holds samples out (give ridges as numbers)"
    if not isinstance(learner.map, Features) or not isinstance(learner.transform, Identity):
        return "its map is applied to samples (sum its outputs instead)"
    if learner.head.whole_session:
        return learner.head.whole_session
    if learner.dtype != "float64":
        return f"sums are kept in float64, not in {learner.dtype}"
    return learner.core.needs_rows


def run(
    sums: ClassSums,
    test: experiment.Split,
    sessions: Sequence[NDArray[np.integer]],
    method: str,
    hyper: dict[str, Any],
    device: str = "cpu",
) -> dict[str, Any]:
    """Run one method over one stream from sums; the record is that of :func:`study.loop.experiment.run`.

    Parameters
    ----------
    sums : of the training samples; test : prepared as those were, of the same classes (`SumsFile.check_test`)
    sessions : classes of each session
    method, hyper, device : for :func:`sparcl.methods.build`

    Raises
    ------
    SparclError
        When the method or a hyper-parameter needs samples, or from the learner.
    """
    sessions = [np.asarray(classes, dtype=np.int64) for classes in sessions]
    fitted = learner(method, hyper, device)
    return experiment.evaluate_stream(
        fitted,
        lambda session: learn_sums(fitted, sessions[session], sums),
        test,
        sessions,
        method,
        methods.hyperparameters(method) | hyper,
    )
