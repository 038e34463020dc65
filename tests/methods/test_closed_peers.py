"""LR-RGDA, SRDA, KLDA-E and AnaCP against restatements, and what must not move them."""

from itertools import product

import numpy as np
import pytest
from reference import closed, heads
from reference.streams import (
    PROBE,
    STREAM,
    against_first,
    fit,
    growing,
    scores_of,
    split_again,
    synthetic_stream,
    uneven,
)

from sparcl.base.errors import InputError
from sparcl.methods import build

SMALL = {"width": 30, "members": 2, "draws": 7, "seed": 3}


def close(expected: np.ndarray, rel: float = 1e-8) -> object:
    return pytest.approx(expected, rel=rel, abs=rel * np.abs(expected).max())


# --- LR-RGDA --------------------------------------------------------------------------------------


def test_lr_rgda_is_a_gaussian_for_each_class() -> None:
    for rank, a3 in product((3, 64), (None, 0.5)):  # ranks below and above the 11 of 12 samples
        learner = build("lr-rgda", rank=rank, a3=a3)
        for sessions in growing(learner, STREAM):
            expected = closed.lr_rgda(sessions, PROBE, 0.2, 2.0, a3, rank)
            assert against_first(learner.logits(PROBE)) == close(against_first(expected))


def test_lr_rgda_takes_a_class_of_one_sample() -> None:
    Phi, y = STREAM[1]
    keep = np.concatenate([np.flatnonzero(y == y.max())[:1], np.flatnonzero(y != y.max())])
    sessions = [STREAM[0], (Phi[keep], y[keep])]
    expected = closed.lr_rgda(sessions, PROBE, 0.2, 2.0, None, 64)
    scores = fit(build("lr-rgda"), sessions).logits(PROBE)
    assert against_first(scores) == close(against_first(expected))
    with pytest.raises(InputError, match=r"session 1: no class has two samples"):
        build("lr-rgda").fit_session(Phi[:1], y[:1])


# --- SRDA -----------------------------------------------------------------------------------------


def test_srda_is_a_gaussian_for_each_class_with_its_prior() -> None:
    for own, epsilon, official in ((0.5, 0.1, False), (0.9, 1e-3, False), (0.5, 1e-4, True)):
        learner = build("srda", own=own, epsilon=epsilon, official=official)
        sessions = uneven(STREAM)
        for so_far in growing(learner, sessions):
            expected = closed.srda(so_far, PROBE, own, epsilon, official)
            assert against_first(learner.logits(PROBE)) == close(against_first(expected))
    classes = heads.class_rows(sessions)
    n = [len(rows) for rows in classes]
    S = heads.within(classes) / sum(n)
    inverse = np.linalg.inv(0.9 * S + 0.1 * np.trace(S) / 16 * np.eye(16))
    lda = heads.lda_scores(classes, inverse, PROBE) + np.log(n)
    without = fit(build("srda", own=0, epsilon=0.1), sessions).logits(PROBE)
    assert against_first(without) == close(against_first(lda))


def test_srda_by_hand() -> None:
    """Samples 0, 2 have the covariance 2^2 / 4 about their mean; 6, 8, 8, 10 have 2, and all together 10 / 6."""
    Phi = np.array([[0.0], [2], [6], [8], [8], [10]])
    scores = fit(build("srda", own=0.5, epsilon=0.1), [(Phi, np.repeat([0, 1], [2, 4]))])
    one, two = (0.9 * (0.5 * own + 5 / 6) + 1 / 6 for own in (1.0, 2.0))
    expected = np.log(4 / 2) - 0.5 * np.log(two / one) - 16 / (2 * two) + 9 / (2 * one)
    assert np.diff(scores.logits(np.array([[4.0]])))[0, 0] == pytest.approx(expected)


# --- KLDA-E ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [20, 200])  # below and above the 144 samples
def test_klda_e_is_the_mean_posterior(width: int) -> None:
    learner = fit(build("klda-e", width=width, members=3, sigma=0.7, ridge=0.1, seed=2), STREAM)
    maps = [(member.map.weights, member.map.phases) for member in learner.discriminants]
    expected = closed.klda_e(STREAM, PROBE, maps, 0.1)
    assert np.exp(learner.logits(PROBE)) == close(expected)
    assert np.abs(maps[0][0] - maps[1][0]).max() > 0.1


def test_kernel_width_is_relative_to_the_median_distance() -> None:
    small = {"width": 40, "members": 2}
    one = fit(build("klda-e", **small, kappa=2.0), STREAM)
    gamma = one.report()["gamma"]
    Phi = STREAM[0][0]
    distances = [np.linalg.norm(f - g) for i, f in enumerate(Phi) for g in Phi[:i]]
    assert gamma == pytest.approx([0.125 / np.median(distances) ** 2] * 2)
    scaled = fit(build("klda-e", **small, kappa=2.0), [(8.0 * Phi, y) for Phi, y in STREAM])
    assert scaled.logits(8.0 * PROBE) == close(one.logits(PROBE))


# --- AnaCP ----------------------------------------------------------------------------------------


def restated(learner: object, official: bool) -> closed.AnaCp:
    Ws = [head.map.weights for head in learner.heads]
    value = 0.047 * 30 * (1 / 3 + 1 / (2 * np.pi * np.sqrt(3)))
    return closed.AnaCp(Ws, learner.last.weights, value, official)


def test_anacp_with_its_draws_given() -> None:
    for official in (False, True):
        learner = build("anacp", **SMALL, official=official)
        reference: closed.AnaCp | None = None
        for t, session in enumerate(STREAM[:3]):
            learner.fit_session(*session)
            reference = reference or restated(learner, official)
            learner.session = t  # the draws are those of the session that was fitted
            normal = [learner._normal(j) for j in range(3 * t + 3)]
            learner.session = t + 1
            reference.fit(*session, normal)
            assert learner.targets == close(reference.P)
            assert learner.logits(PROBE) == close(reference.scores(PROBE), rel=1e-6)


def test_anacp_without_its_second_stage() -> None:
    """It is the nearest target, and does not depend on sessions but by the covariance of its code."""
    hyper = SMALL | {"nearest": True}
    learner = build("anacp", **hyper)
    reference: closed.AnaCp | None = None
    for session in STREAM:
        learner.fit_session(*session)
        reference = reference or restated(learner, False)
        reference.fit(*session)
    scores = learner.logits(PROBE)
    assert scores == close(reference.nearest(PROBE))
    halves = fit(build("anacp", **hyper), split_again(STREAM, 2))
    assert scores_of(halves, learner.classes, PROBE) == close(scores)
    official, other = (
        fit(build("anacp", **hyper, official=True), s) for s in (STREAM, split_again(STREAM, 2))
    )
    change = scores_of(other, official.classes, PROBE) - official.logits(PROBE)
    assert np.abs(change).max() > 1e-4


def test_anacp_draws_have_the_covariance_of_the_classes() -> None:
    stream = synthetic_stream(sessions=1)
    learner = fit(build("anacp", **SMALL | {"draws": 4000}), stream)
    learner.session = 0
    rows = [unit for unit in heads.class_rows([(closed.unit_rows(stream[0][0]), stream[0][1])])]
    covariance = heads.within(rows) / 36 + 1e-4 * np.eye(16)
    values, V = learner._spectrum(np.zeros((0, 16)))
    X = learner._normal(1) @ ((V * np.sqrt(values)) @ V.T)
    spread = np.sqrt((covariance**2 + np.outer(*[np.diag(covariance)] * 2)) / len(X))
    assert np.abs((np.cov(X.T) - covariance) / spread).max() < 5


def test_anacp_chooses_its_ridge_by_a_rule() -> None:
    grid = [0.001, 0.047, 2.0]
    learner = fit(build("anacp", **SMALL, ridge="gaussian", ridges=grid), STREAM)
    unit = 30 * (1 / 3 + 1 / (2 * np.pi * np.sqrt(3)))
    assert learner.report()["ridge"] / unit == pytest.approx(
        grid[int(np.argmin(learner.report()["validation_losses"]))]
    )
