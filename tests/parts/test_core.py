"""Every switch of the update, alone and combined, against explicit coordinates and KKT systems."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import ridge as plain
from reference import solver as naive
from reference.streams import STREAM, Session, fit, growing, synthetic_stream

from sparcl.methods import build


def with_returns(seed: int = 0) -> list[Session]:
    """Four sessions; from the second on, samples of classes seen before come back."""
    sessions = synthetic_stream(seed, sessions=4, classes=3, samples=10)
    out = [sessions[0]]
    for t in (1, 2, 3):
        (Phi, y), (past, labels) = sessions[t], sessions[t - 1]
        back = np.isin(labels, np.unique(labels)[:2])
        rows = np.concatenate([Phi, past[back][:7]])
        order = np.random.default_rng(t).permutation(len(rows))
        out.append((rows[order], np.concatenate([y, labels[back][:7]])[order]))
    return out


def check(sessions: list[Session], hyper: dict, renewals: set[int]) -> object:
    """Compare the learner after every session with the slow loop, and return it."""
    learner = build("sparcl", ridge=0.15, tau=0.7, **hyper)
    rest = {key: value for key, value in hyper.items() if key not in ("refresh", "update")}
    states = naive.solver(sessions, 0.15, renewals, tau=0.7, **rest)
    for _, state in zip(growing(learner, sessions), states, strict=True):
        assert list(learner.classes) == state.classes
        assert learner.weights == pytest.approx(state.W, abs=1e-8)
    return learner


ALONE = {
    "freeze off": {"freeze": False},
    "projection into the null space": {"project": True},
    "new classes in the residual": {"new_classes": "residual"},
    "coupling dropped": {"coupling": "dropped"},
    "reappearing classes freed": {"reappearing": "free"},
    "Algorithm 1": {"new_classes": "residual", "coupling": "dropped"},
}


RENEWALS = {0: {2}, 1: {2, 3, 4}, 2: {2, 4}}  # by refresh


def test_each_switch_does_something() -> None:
    sessions = with_returns()
    for (name, switches), refresh in product(ALONE.items(), RENEWALS):
        learner = check(sessions, switches | {"refresh": refresh}, RENEWALS[refresh])
        default = fit(build("sparcl", ridge=0.15, tau=0.7, refresh=refresh), sessions)
        assert np.abs(learner.weights - default.weights).max() > 1e-3, name


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    freeze=st.booleans(),
    project=st.booleans(),
    reappearing=st.sampled_from(["frozen", "free"]),
    new_classes=st.sampled_from(["full", "residual"]),
    coupling=st.sampled_from(["exact", "dropped"]),
)
def test_switches_combine(seed: int, **hyper: object) -> None:
    check(with_returns(seed), hyper | {"refresh": 2}, RENEWALS[2])


def test_a_class_that_comes_back_is_held_or_freed() -> None:
    sessions = with_returns()
    held = build("sparcl", ridge=0.15, tau=0.7, refresh=1)
    freed = build("sparcl", ridge=0.15, tau=0.7, refresh=1, reappearing="free")
    for learner in (held, freed):
        learner.fit_session(*sessions[0])
    before = held.weights.copy()
    for learner in (held, freed):
        learner.fit_session(*sessions[1])
    back = [j for j, label in enumerate(held.classes[:3]) if label in sessions[1][1]]
    away = [j for j in range(3) if j not in back]
    assert len(back) == 2 and len(away) == 1
    core = held.core.U_core
    moved = lambda learner, columns: np.abs(  # noqa: E731
        core.T @ (learner.weights[:, columns] - before[:, columns])
    ).max()
    assert moved(held, back + away) < 1e-10
    assert moved(freed, away) < 1e-10
    assert moved(freed, back) > 1e-3
    R, C = plain.sums(sessions[:2], list(freed.classes))
    joint = plain.joint_ridge(R, C, 0.15)
    assert freed.weights[:, back] == pytest.approx(joint[:, back], abs=1e-9)


def test_null_space_projection_leaves_old_logits_alone_and_new_classes_poor() -> None:
    """What the paper says of it: no interference, and no use of what sessions share."""
    sessions = synthetic_stream(seed=3, sessions=3, classes=2, samples=4, dimension=30)
    learner = build("sparcl", ridge=1e-6, k=0, tau=None, project=True)
    learner.fit_session(*sessions[0])
    rows = sessions[0][0]
    before = learner.logits(rows)
    fit(learner, sessions[1:])
    assert learner.logits(rows)[:, :2] == pytest.approx(before, abs=1e-9)
    # once the past spans the whole space, nothing of a new class is left to learn
    full = synthetic_stream(seed=3, sessions=2, classes=3, samples=12, dimension=16)
    late = fit(build("sparcl", ridge=1e-3, k=0, tau=None, project=True), full)
    assert np.abs(late.weights[:, 3:]).max() < 1e-9
    assert np.abs(late.weights[:, :3]).max() > 0.1


# --- streams at the edges -------------------------------------------------------------------------


@pytest.mark.parametrize("hyper", [{}, ALONE["Algorithm 1"], {"reappearing": "free"}])
def test_classes_of_one_sample(hyper: dict) -> None:
    rng = np.random.default_rng(0)
    sessions = []
    for t in range(5):
        Phi = rng.standard_normal((3, 12))
        sessions.append((Phi / np.linalg.norm(Phi, axis=1, keepdims=True), 3 * t + np.arange(3)))
    check(sessions, hyper | {"refresh": 2}, {2, 4})


def test_a_session_of_one_sample() -> None:
    single = [STREAM[0], (STREAM[1][0][:1], STREAM[1][1][:1]), STREAM[2]]
    check(single, {"refresh": 1}, {2, 3})


def test_a_session_of_old_classes_only() -> None:
    half = [(Phi[::2], y[::2]) for Phi, y in STREAM[:2]]
    again = [(Phi[1::2], y[1::2]) for Phi, y in STREAM[:2]]
    for reappearing in ("frozen", "free"):
        learner = check(half + again, {"refresh": 2, "reappearing": reappearing}, {2, 4})
        assert len(learner.classes) == 6


@pytest.mark.parametrize("rank", [1, 3])
def test_rank_deficient_features(rank: int) -> None:
    """All rows in a subspace far below d; a large tau then takes the whole of it."""
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((14, rank)))[0]
    sessions = [
        (rng.standard_normal((8, rank)) @ basis.T, 2 * t + np.arange(8) % 2) for t in range(3)
    ]
    learner = build("sparcl", ridge=0.1, tau=0.999, refresh=1)
    states = naive.solver(sessions, 0.1, {2, 3}, tau=0.999)
    for _, state in zip(growing(learner, sessions), states, strict=True):
        assert learner.weights == pytest.approx(state.W, abs=1e-9)
    assert learner.report()["k"] == rank
    away = np.eye(14) - basis @ basis.T
    assert np.abs(away @ learner.weights).max() < 1e-12


def test_more_features_than_samples_and_fewer() -> None:
    for dimension in (6, 90):
        sessions = synthetic_stream(seed=6, sessions=4, classes=2, samples=5, dimension=dimension)
        check(sessions, {"refresh": 2}, RENEWALS[2])
