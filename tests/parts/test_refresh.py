"""Refresh policies: when the partition is renewed, and what is solved then."""

import numpy as np
import pytest
from reference import solver as naive
from reference.solver import core_basis
from reference.streams import Session, synthetic_stream

from sparcl.methods import build


def run(sessions: list[Session], **hyper: object) -> tuple[object, list[bool], list[dict]]:
    """Return the learner, and for each session whether it renewed the core and its report."""
    learner, renewed, reports = build("sparcl", **hyper), [], []
    for Phi, y in sessions:
        learner.fit_session(Phi, y)
        reports.append(learner.report())
        renewed.append(reports[-1]["renewed"])
    return learner, renewed, reports


@pytest.mark.parametrize(
    ("hyper", "expected"),
    [
        ({"refresh": 1}, {2, 3, 4, 5, 6, 7}),
        ({"refresh": 2}, {2, 4, 6}),
        ({"refresh": 3}, {2, 5}),
        ({"refresh": 0}, {2}),  # base only
        ({"refresh": 0, "warmup": 3}, {4}),  # base only, after a warm-up
        ({"refresh": 2, "warmup": 2}, {3, 5, 7}),
        ({"refresh": 1, "warmup": 6}, {7}),
        ({"refresh": 1, "warmup": 7}, set()),
    ],
)
def test_periods(hyper: dict, expected: set[int]) -> None:
    sessions = synthetic_stream(sessions=7, classes=2, samples=8)
    learner, renewed, reports = run(sessions, ridge=0.1, tau=0.7, **hyper)
    assert {t for t, yes in enumerate(renewed, 1) if yes} == expected
    states = naive.solver(sessions, 0.1, expected, tau=0.7)
    assert learner.weights == pytest.approx(states[-1].W, abs=1e-8)
    assert [report["k"] for report in reports] == [s.cores[0].shape[1] for s in states]


def test_condition_threshold_accepts_and_refuses() -> None:
    """The second block of classes loads new directions, so the residual's condition rises."""
    quiet = synthetic_stream(seed=1, sessions=3, classes=2, samples=10, noise=0.2)
    rng = np.random.default_rng(0)
    loud = []
    for t in (3, 4, 5):
        Phi = 0.05 * rng.standard_normal((20, 16))
        Phi[:, 12:14] += 1.0  # all along directions that the first core hardly holds
        loud.append((Phi, np.repeat([100 + 2 * t, 101 + 2 * t], 10)))
    sessions, limit, ridge = quiet + loud, 80.0, 0.1
    learner, renewed, reports = run(sessions, ridge=ridge, tau=0.9, condition_limit=limit)

    core, expected = np.zeros((16, 0)), [False]
    for t in range(1, 6):
        past = np.concatenate([block for block, _ in sessions[:t]])
        condition = naive.residual_condition(past.T @ past, ridge, core)
        assert reports[t]["residual_condition"] == pytest.approx(condition, rel=1e-8)
        expected.append(t == 1 or condition > limit)
        if expected[-1]:
            core = core_basis(past.T @ past, 0.9)
    assert renewed == expected
    assert True in renewed[2:] and False in renewed[2:]
    states = naive.solver(sessions, ridge, {t + 1 for t in range(6) if renewed[t]}, tau=0.9)
    assert learner.weights == pytest.approx(states[-1].W, abs=1e-8)


def test_trust_region_accepts_and_refuses() -> None:
    """Alike sessions turn the core a little; a foreign one by more than the limit."""
    calm = synthetic_stream(seed=2, sessions=3, classes=2, samples=20, noise=0.2)
    rng = np.random.default_rng(1)
    foreign = np.zeros((200, 16))
    foreign[:, 13:16] = 3.0 * rng.standard_normal((200, 3))
    last = synthetic_stream(seed=8, sessions=1, classes=2, samples=20, noise=0.2)[0]
    sessions = [*calm, (foreign, np.full(200, 77)), (last[0], last[1] + 90)]
    learner, renewed, reports = run(sessions, ridge=0.1, k=2, trust_degrees=45.0)

    core, expected = None, [False]
    for t in range(1, 5):
        past = np.concatenate([block for block, _ in sessions[:t]])
        proposed = core_basis(past.T @ past, k=2)
        angle = 0.0 if core is None else naive.largest_angle(core, proposed)
        if core is not None:
            assert reports[t]["angle"] == pytest.approx(angle, abs=1e-5)
        expected.append(angle <= 45.0)
        core = proposed if expected[-1] else core
    assert renewed == expected
    assert renewed == [False, True, True, True, False]
    states = naive.solver(sessions, 0.1, {2, 3, 4}, k=2)
    assert learner.weights == pytest.approx(states[-1].W, abs=1e-8)
    assert learner.core.U_core @ learner.core.U_core.T == pytest.approx(core @ core.T, abs=1e-8)


def test_trust_region_compares_equal_ranks_only() -> None:
    """With an energy threshold the rank may change; the angle is that of the current rank."""
    sessions = synthetic_stream(seed=3, sessions=4, classes=2, samples=12)
    _, renewed, reports = run(sessions, ridge=0.1, tau=0.9, trust_degrees=89.0)
    core = None
    for t in range(1, 4):
        past = np.concatenate([block for block, _ in sessions[:t]])
        if core is not None:
            same_rank = core_basis(past.T @ past, k=core.shape[1])
            angle = naive.largest_angle(core, same_rank)
            assert reports[t]["angle"] == pytest.approx(angle, abs=1e-5)
            assert renewed[t] == (angle <= 89.0)
        if renewed[t]:
            core = core_basis(past.T @ past, 0.9)
            assert reports[t]["k"] == core.shape[1]
    assert renewed[1]
