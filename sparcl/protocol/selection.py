"""Hyper-parameters chosen on a pseudo-stream inside the base session's training samples."""

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from sparcl import methods
from sparcl.base.errors import InputError
from sparcl.learners.composed import Composed
from sparcl.parts.rules import Given
from sparcl.protocol.experiment import Split
from sparcl.protocol.stream import pseudo_stream


def select(
    train: Split,
    base: Iterable[int],
    method: str,
    hyper: dict[str, Any],
    grid: dict[str, list[float]],
    *,
    sub_sessions: int,
    fit_share: float,
    prefer_ridge: float,
    seed: int,
) -> dict[str, Any]:
    """Choose the grid point with the best average accuracy on a pseudo-stream.

    The base session's classes arrive in ``sub_sessions`` sub-sessions; the learner fits a share of
    each class's samples and is scored, as in the real stream, on the rest.  Only the base
    session's training samples are read.  All grid points are fitted by one learner.

    Parameters
    ----------
    train : prepared training split; base : classes of the base session, in order
    grid : values of ``ridge`` and, where the method has a core, ``tau``
    hyper : the method's other hyper-parameters

    Returns
    -------
    ``chosen`` (the values) and ``scores`` (grid point and A_bar in percent, one a point).  Ties go
    to the smallest tau, then to the ridge nearest to ``prefer_ridge`` (in its logarithm; of two
    equally near, the smaller): what the data cannot tell is left at the least freezing and at the
    paper's ridge.

    Raises
    ------
    InputError
        When the method cannot fit this grid or the base session is too small.
    """
    learner = methods.build(method, **hyper, **grid)
    if not isinstance(learner, Composed) or not isinstance(learner.rule, Given):
        raise InputError(f"Method {method!r} has nothing to select: remove `select` from it.")
    taus = grid.get("tau", [None])
    subs, fit, score = pseudo_stream(
        train.labels, np.asarray(list(base)), sub_sessions, fit_share, seed
    )
    fitted = Split(train.features[fit], train.labels[fit])
    scored = Split(train.features[score], train.labels[score])
    # exact fractions: a tie must not hang on the last bit of a mean
    totals = {point: Fraction(0) for point in product(range(len(grid["ridge"])), range(len(taus)))}
    for t, classes in enumerate(subs):
        data = fitted.rows(classes)
        learner.fit_session(data.features, data.labels)
        seen = scored.rows(np.concatenate(subs[: t + 1]))
        for point, scores in learner.scores(seen.features).items():
            hits = np.count_nonzero(learner.classes[np.argmax(scores, axis=1)] == seen.labels)
            totals[point] += Fraction(int(hits), len(seen.labels) * len(subs))

    def settings(point: tuple[int, int]) -> dict[str, float]:
        chosen = {"ridge": grid["ridge"][point[0]]}
        return chosen | ({"tau": grid["tau"][point[1]]} if "tau" in grid else {})

    def rank(point: tuple[int, int]) -> tuple[Fraction, float, float, float]:
        ridge = grid["ridge"][point[0]]
        # rounded: 0.1 and 10 are equally far from 1
        distance = round(abs(math.log(ridge / prefer_ridge)), 9)
        return -totals[point], taus[point[1]] or 0, distance, ridge

    best = min(totals, key=rank)
    return {
        "chosen": settings(best),
        "scores": [
            settings(point) | {"A_bar": float(f"{float(100 * total):.9g}")}
            for point, total in totals.items()
        ],
        "samples": {"fit": len(fit), "score": len(score)},
        "sub_sessions": [sub.tolist() for sub in subs],
    }
