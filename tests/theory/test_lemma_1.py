"""Lemma 1: the partitioned solve is ridge regression with the old classes' core held fixed.

True of the exact form with the coupling block (appendix, "Block Matrix Identity"); Algorithm 1 as
printed drops that block and is a counterexample.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import ridge as naive
from reference.streams import Session, synthetic_stream

from sparcl.methods import build


def last_session(
    name: str, sessions: list[Session], ridge: float, tau: float, **way: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return W before and after the last session, the core of that session, and R and C of all."""
    learner = build(name, ridge=ridge, tau=tau, **{"refresh": 1} | way)
    for session in sessions[:-1]:
        learner.fit_session(*session)
    before = learner.weights.copy()
    learner.fit_session(*sessions[-1])
    assert "update" not in way or learner.report()["update"] == way["update"]
    R, C = naive.sums(sessions, naive.class_list(sessions))
    return before, learner.weights.copy(), learner.core.U_core.copy(), R, C


@given(
    seed=st.integers(0, 10**6),
    ridge=st.sampled_from([0.01, 0.3, 5.0]),
    tau=st.floats(0.2, 0.97),
    way=st.sampled_from([{}, *({"refresh": 0, "update": u} for u in ("direct", "woodbury"))]),
)
def test_exact_form_is_the_constrained_minimum(
    seed: int, ridge: float, tau: float, way: dict[str, Any]
) -> None:
    sessions = synthetic_stream(seed, sessions=3, classes=2, samples=7, dimension=12)
    before, W, U, R, C = last_session("sparcl", sessions, ridge, tau, **way)
    old = before.shape[1]
    kkt = naive.constrained_ridge(R, C[:, :old], ridge, U, U.T @ before)
    assert W[:, :old] == pytest.approx(kkt, abs=1e-8)
    # New columns carry no constraint: the joint solution, whose core coordinates solve the Schur complement of A_rr.
    assert W[:, old:] == pytest.approx(naive.joint_ridge(R, C, ridge)[:, old:], abs=1e-8)
    # The normal equations of the residual coordinates, A_rr Z = U_r^T C - A_rc W_core.
    gradient = (R + ridge * np.eye(12)) @ W - C
    P_res = np.eye(12) - U @ U.T
    assert (P_res @ gradient)[:, :old] == pytest.approx(np.zeros((12, old)), abs=1e-9)
    # No feasible step lowers the objective.
    step = P_res @ np.random.default_rng(seed).standard_normal((12, old))
    base = naive.objective(R, C[:, :old], ridge, W[:, :old])
    for size in (1e-3, -1e-3, 1.0):
        assert (naive.objective(R, C[:, :old], ridge, W[:, :old] + size * step) > base).all()


def test_algorithm_1_as_printed_is_not() -> None:
    sessions = synthetic_stream(sessions=2)
    first, exact, U, R, C = last_session("sparcl", sessions, 0.1, 0.8)
    same, printed, U_printed, _, _ = last_session("sparcl-alg1", sessions, 0.1, 0.8)
    old = first.shape[1]
    assert same == pytest.approx(first, abs=1e-12)
    assert U_printed @ U_printed.T == pytest.approx(U @ U.T, abs=1e-12)
    # Both keep the constraint of Lemma 1 ...
    for W in (exact, printed):
        assert U.T @ W[:, :old] == pytest.approx(U.T @ first, abs=1e-10)
    # ... but the printed update leaves a gradient of the size of the coupling block behind,
    coupling = (np.eye(16) - U @ U.T) @ R @ U @ (U.T @ first)
    gradient = (np.eye(16) - U @ U.T) @ ((R + 0.1 * np.eye(16)) @ printed - C)
    assert gradient[:, :old] == pytest.approx(coupling, abs=1e-10)
    assert np.abs(coupling).max() > 1e-2
    # so that its objective is higher for every old class, and for every new one.
    higher = naive.objective(R, C, 0.1, printed) - naive.objective(R, C, 0.1, exact)
    assert (higher > 1e-4).all()
    # New classes have no core coordinates, although their samples have.
    assert U.T @ printed[:, old:] == pytest.approx(np.zeros((U.shape[1], 3)), abs=1e-12)
    assert np.abs(U.T @ C[:, old:]).max() > 0.1


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_algorithm_1_agrees_on_old_classes_when_nothing_couples(seed: int) -> None:
    """New samples inside the core or inside the residual, none across: A_res,core = 0."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    energies = np.array([9.0, 8.0, 7.0, 0.5, 0.4, 0.3, 0.2, 0.1])
    old = np.sqrt(energies)[:, None] * U.T, np.arange(8) % 2
    core_part = rng.standard_normal((4, 3)) @ U[:, :3].T
    residual_part = rng.standard_normal((4, 5)) @ U[:, 3:].T
    new = np.concatenate([core_part, residual_part]), np.repeat([2, 3], 4)
    first, exact, _, _, _ = last_session("sparcl", [old, new], 0.2, 0.9)
    _, printed, core, _, _ = last_session("sparcl-alg1", [old, new], 0.2, 0.9)
    assert core.shape[1] == 3  # 24 of 25.5
    assert printed[:, :2] == pytest.approx(exact[:, :2], abs=1e-10)
    assert np.abs(exact[:, :2] - first).max() > 1e-3
