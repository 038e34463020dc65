"""Learning a session from the sums of its classes, without a sample."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.class_sums import ClassSums
from sparcl.base.errors import InputError, NumericalError
from sparcl.learners.composed import Composed
from sparcl.parts.batch import Arrival
from sparcl.parts.maps import Features
from sparcl.parts.transforms import Identity


def learn_sums(
    learner: Composed,
    labels: Sequence[int] | NDArray[np.integer],
    sums: ClassSums,
) -> None:
    """Learn the next session: all samples of ``labels``, classes that are new.

    Weights are those that ``fit_session`` gives on the samples, to rounding.

    Raises
    ------
    InputError
        When the composition reads samples, a class was learned before or has no sample, or the
        features differ.
    NumericalError
        When the ridge system is not positive definite, or scores are not finite or all the same.
    """
    learner.begin_update()
    needed = needs_rows(learner)
    if needed:
        raise InputError(f"Sums of classes do not hold what this method needs: {needed}.")
    where, old = f"session {learner.session + 1}", len(learner.classes)
    labels = np.sort(np.asarray(labels, dtype=np.int64))
    again = np.intersect1d(labels, learner.classes)
    if len(again):
        raise InputError(f"{where}: class {again[0]} was learned before, all its samples at once.")
    if learner.d not in (0, sums.d):
        raise InputError(
            f"{where}: sums of {sums.d} features, earlier sessions had {learner.d}: all must come from "
            "the same backbone."
        )
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
