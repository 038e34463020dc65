"""Few-shot peers against restatements, and what must not move them."""

import numpy as np
import pytest
from reference import few_shots
from reference.heads import class_rows
from reference.streams import PROBE, STREAM, Session, fit, growing

from sparcl.base.errors import InputError
from study.methods import build


def few(rows: int) -> list[Session]:
    """The stream with so many rows of each class after the first session."""
    sessions = [STREAM[0]]
    for Phi, y in STREAM[1:]:
        kept = np.concatenate([np.flatnonzero(y == label)[:rows] for label in np.unique(y)])
        sessions.append((Phi[kept], y[kept]))
    return sessions


def close(expected: np.ndarray) -> object:
    return pytest.approx(expected, rel=1e-8, abs=1e-9 * np.abs(expected).max())


def test_teen_and_c_fecam_are_their_equations() -> None:
    """With five rows of a class, and with one, which has no covariance; at every session."""
    for rows in (5, 1):
        sessions = few(rows)
        teen = build("teen", shift=0.3)
        both = {literal: build("c-fecam", floor=2.0, literal=literal) for literal in (False, True)}
        for t, session in enumerate(sessions):
            teen.fit_session(*session)
            so_far = sessions[: t + 1]
            assert teen.logits(PROBE) == close(few_shots.teen(so_far, PROBE, 0.3))
            for literal, learner in both.items():
                learner.fit_session(3.0 * session[0], session[1])
                expected = few_shots.c_fecam(so_far, PROBE, 0.1, 2.0, literal)
                assert learner.logits(PROBE) == close(expected)
        assert np.abs(both[True].logits(PROBE) - both[False].logits(PROBE)).max() > 0.1


def test_a_hand_example_of_teen() -> None:
    """Base means e_1, e_2 and a new mean (e_1 + e_3) / sqrt 2: w = (e^z, 1) / (e^z + 1), z = 16 / sqrt 2."""
    learner = build("teen", shift=0.5)
    learner.fit_session(np.eye(3)[:2], np.array([4, 7]))
    new = np.array([[1.0, 0.0, 1.0]]) / np.sqrt(2)
    learner.fit_session(new, np.array([1]))
    z = 16 / np.sqrt(2)
    w = np.exp(z) / (np.exp(z) + 1)
    delta = np.array([w, 1 - w, 0]) / np.hypot(w, 1 - w)
    point = new[0] / 2 + delta / 2
    assert learner.weights[:, 2] == pytest.approx(point / np.linalg.norm(point))
    assert np.array_equal(learner.weights[:, :2], np.eye(3)[:, :2])


def drawing(**hyper: object) -> tuple[object, list[np.ndarray]]:
    """Return a learner, and the rows that it will draw."""
    learner, drawn = build("c-ranpac", **hyper), []
    original = learner._drawn
    learner._drawn = lambda *given: drawn.append(original(*given)) or drawn[-1]
    return learner, drawn


@pytest.mark.parametrize("cosine", [True, False])
def test_c_ranpac_with_its_draws_given(cosine: bool) -> None:
    hyper = {"width": 60, "draws": 9, "ridge": 0.5, "cosine": cosine}
    learner, drawn = drawing(**hyper, seed=3)
    for sessions in growing(learner, few(5)):
        expected = few_shots.c_ranpac(sessions, PROBE, learner.map.weights, 0.5, drawn)
        assert learner.logits(PROBE) == close(expected)
    assert len(drawn) == 9 and all(rows.shape == (9, 16) for rows in drawn)
    again, other = (fit(build("c-ranpac", **hyper, seed=seed), few(5)) for seed in (3, 4))
    assert np.array_equal(again.logits(PROBE), learner.logits(PROBE))
    assert np.abs(other.logits(PROBE) - learner.logits(PROBE)).max() > 1e-3


@pytest.mark.parametrize(("rows", "cosine"), [(5, True), (5, False), (1, True)])
def test_draws_have_the_calibrated_moments(rows: int, cosine: bool) -> None:
    sessions = few(rows)[:2]
    learner, drawn = drawing(width=20, draws=6000, ridge=1.0, shift=0.4, cosine=cosine)
    fit(learner, sessions)
    mean, S = few_shots.moments(class_rows(sessions), 3, 4, 0.4, cosine)
    X = drawn[1]
    assert np.abs((X.mean(axis=0) - mean) / np.sqrt(np.diag(S) / len(X))).max() < 5
    spread = np.sqrt((S**2 + np.outer(*[np.diag(S)] * 2)) / len(X))
    assert np.abs((np.cov(X.T) - S) / spread).max() < 5


def test_c_ranpac_chooses_its_ridge_once() -> None:
    """On the first session, as RanPAC does there; a returning class is refused, and changes nothing."""
    ridges = [1e-3, 1.0, 1e3]
    learner = build("c-ranpac", width=60, draws=5, ridges=ridges, seed=2)
    peer = build("ranpac", width=60, ridge="newest", ridges=ridges, seed=2)
    for session in few(5)[:2]:
        learner.fit_session(*session)
        if peer.session == 0:
            peer.fit_session(*session)
        assert learner.report()["ridge"] == peer.report()["ridge"]
    before = learner.logits(PROBE)
    with pytest.raises(InputError, match=r"session 3: a class of an earlier session returned"):
        learner.fit_session(*STREAM[0])
    assert np.array_equal(learner.logits(PROBE), before)
    learner.fit_session(*few(5)[2])


def test_the_first_session_is_what_others_take_from() -> None:
    """It cannot be forgotten alone; one of its classes can, and the rest is as if it had never come."""
    sessions = few(5)
    gone = np.unique(STREAM[0][1])
    for name in ("teen", "c-fecam"):
        learner = fit(build(name), sessions)
        with pytest.raises(InputError, match="all classes of the first session"):
            learner.forget_classes(gone)
        learner.forget_classes(gone[:1])
        stay = STREAM[0][1] != gone[0]
        fresh = fit(build(name), [(STREAM[0][0][stay], STREAM[0][1][stay]), *sessions[1:]])
        assert learner.logits(PROBE) == close(fresh.logits(PROBE))
