"""Hyper-parameters chosen on a pseudo-stream inside the base session's training samples."""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.base.types import Ints
from sparcl.learners.composed import Composed
from sparcl.parts.rules import Given
from study import few_rows, methods
from study.loop.experiment import Split

Setting = dict[str, Any]
Totals = dict[tuple[int, int], Fraction]

# Settings of which a composition solves several values at once: the values of its rule, and its cores.
VALUES, CORES = ("ridge", "ridge_relative"), "tau"


def select(
    train: Split,
    base: Iterable[int],
    method: str,
    hyper: Mapping[str, Any],
    grid: Mapping[str, list[Any]],
    *,
    sub_sessions: int,
    fit_share: float,
    prefer_ridge: float,
    seed: int,
    device: str = "cpu",
) -> dict[str, Any]:
    """Choose the grid point with the best average accuracy on a pseudo-stream.

    The base session's classes arrive in ``sub_sessions`` sub-sessions; the learner fits a share of
    each class's samples and is scored, as in the real stream, on the rest.  Only the base
    session's training samples are read.  Ridges and cores are fitted by one learner where it is a
    composition; every value of another setting has a learner of its own.

    Parameters
    ----------
    train : prepared training split; base : classes of the base session, in order
    grid : values of each setting of the method that is to be chosen
    hyper : the method's other hyper-parameters; device : where learners compute

    Returns
    -------
    ``chosen`` (the values) and ``scores`` (grid point and A_bar in percent, one a point).  Ties go
    to the smallest tau, then to the ridge nearest to ``prefer_ridge`` (in its logarithm; of two
    equally near, the smaller), then to what stands first in its list: what the data cannot tell is
    left at the least freezing and at the paper's ridge.

    Raises
    ------
    InputError
        When the method cannot fit this grid or the base session is too small.
    """
    subs, fit, score = pseudo_stream(
        train.labels, np.asarray(list(base)), sub_sessions, fit_share, seed
    )
    fitted = Split(train.features[fit], train.labels[fit])
    scored = Split(train.features[score], train.labels[score])
    together = _together(method, hyper, grid)
    apart = [key for key in grid if key not in together]
    totals: dict[tuple[Any, ...], Fraction] = {}
    for values in product(*(grid[key] for key in apart)):
        fixed = dict(zip(apart, values, strict=True))
        several = {key: grid[key] for key in together}
        learner = methods.build(method, device=device, **(dict(hyper) | fixed | several))
        solved = _followed(learner, fitted, scored, subs)
        for (i, j), total in solved.items():
            place = {CORES: j} | dict.fromkeys(VALUES, i)
            point = fixed | {key: grid[key][place[key]] for key in together}
            totals[tuple(point[key] for key in grid)] = total

    def rank(point: Iterable[Any]) -> Any:
        point = tuple(point)
        named = dict(zip(grid, point, strict=True))
        ridge = next((named[key] for key in VALUES if key in named), prefer_ridge)
        # rounded: 0.1 and 10 are equally far from 1
        distance = round(abs(math.log(ridge / prefer_ridge)), 9)
        places = [grid[key].index(named[key]) for key in apart if key not in (*VALUES, CORES)]
        return -totals[point], named.get(CORES) or 0, distance, ridge, places

    points: list[tuple[Any, ...]] = sorted(
        totals, key=lambda point: [grid[k].index(v) for k, v in zip(grid, point, strict=True)]
    )
    return {
        "chosen": dict(zip(grid, min(points, key=rank), strict=True)),
        "scores": [
            dict(zip(grid, point, strict=True))
            | {"A_bar": float(f"{float(100 * totals[point]):.9g}")}
            for point in points
        ],
        "samples": {"fit": len(fit), "score": len(score)},
        "sub_sessions": [sub.tolist() for sub in subs],
    }


def _together(method: str, hyper: Mapping[str, Any], grid: Mapping[str, list[Any]]) -> list[str]:
    """Return the settings whose values one learner solves at once; InputError where nothing is chosen."""
    one = {key: values[0] for key, values in grid.items()}
    first = methods.build(method, **(dict(hyper) | one))
    if not grid:
        raise InputError(f"Method {method!r} has nothing to select: remove `select` from it.")
    if not isinstance(first, Composed):
        return []
    if not isinstance(first.rule, Given):
        raise InputError(
            f"Method {method!r} chooses its ridge itself, in each session: remove `select` from it, or "
            "give `ridge` as a number or among what is selected."
        )
    return [key for key in grid if key in (*VALUES, CORES)]


def _followed(learner: Any, fitted: Split, scored: Split, subs: list[Any]) -> Totals:
    """Return the average accuracy of each point of a new learner on the sub-sessions.

    Exact fractions: a tie must not hang on the last bit of a mean.
    """
    follows = few_rows.of(learner)
    rows = few_rows.in_span(learner, fitted.features, scored.features)
    fitted, scored = (
        Split(features, split.labels)
        for features, split in zip(rows, (fitted, scored), strict=True)
    )
    totals: Totals = {}
    for t, classes in enumerate(subs):
        data = fitted.rows(classes)
        follows.fit_session(data.features, data.labels)
        seen = scored.rows(np.concatenate(subs[: t + 1]))
        several = hasattr(follows, "scores")
        scores = (
            follows.scores(seen.features) if several else {(0, 0): follows.logits(seen.features)}
        )
        for point, given in scores.items():
            hits = np.count_nonzero(follows.classes[np.argmax(given, axis=1)] == seen.labels)
            share = Fraction(int(hits), len(seen.labels) * len(subs))
            totals[point] = totals.get(point, Fraction(0)) + share
    return totals


def pseudo_stream(
    labels: Ints,
    base: Ints,
    sub_sessions: int,
    fit_share: float,
    seed: int,
) -> tuple[list[Ints], NDArray[np.intp], NDArray[np.intp]]:
    """Split the base session into sub-sessions of classes and its samples into two sets of rows.

    Parameters
    ----------
    labels : (n,) training labels; base : classes of the base session, in order
    sub_sessions : number of sub-sessions; with fewer classes than that, one class each
    fit_share : fraction of each class's samples to fit on; at least one is left for either set
    seed : of the draw

    Returns
    -------
    sub-sessions of classes, rows to fit on, rows to validate on (both ascending)

    Raises
    ------
    InputError
        With fewer than two base classes, when no class ever becomes old, and with a single sample
        in a class, when none is left to validate on.
    """
    if len(base) < 2:
        raise InputError(
            f"The base session has {len(base)} class: a pseudo-stream needs two or more. Lower "
            "`sessions`, set `base_classes`, or give the hyper-parameters instead of `select`."
        )
    fit, validation = [], []
    for label in base:
        rows = np.flatnonzero(labels == label)
        if len(rows) < 2:
            raise InputError(
                f"Class {label} of the base session has {len(rows)} training sample(s): selection "
                "needs two, one to fit on and one to validate on."
            )
        rows = generator("pseudo-stream", seed, int(label)).permutation(rows)
        cut = min(max(round(fit_share * len(rows)), 1), len(rows) - 1)
        fit.append(rows[:cut])
        validation.append(rows[cut:])
    subs = np.array_split(base, min(sub_sessions, len(base)))
    return subs, np.sort(np.concatenate(fit)), np.sort(np.concatenate(validation))
