"""Theorem 1: the core part of old logits does not change, and the rest obeys the residual bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.streams import synthetic_stream

from sparcl.methods import build

NAMES = ["sparcl", "sparcl-alg1"]


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    tau=st.floats(0.2, 0.98),
    ridge=st.sampled_from([0.01, 0.3, 5.0]),
    refresh=st.integers(0, 3),
)
@pytest.mark.parametrize("name", NAMES)
def test_core_logits_stay_and_drift_is_bounded(
    name: str, seed: int, tau: float, ridge: float, refresh: int
) -> None:
    sessions = synthetic_stream(seed, sessions=4, classes=2, samples=8, dimension=12)
    rows = np.random.default_rng(seed).standard_normal((25, 12))
    learner = build(name, tau=tau, ridge=ridge, refresh=refresh)
    moved = 0.0
    for t, (Phi, y) in enumerate(sessions):
        if t == 0:
            learner.fit_session(Phi, y)
            continue
        before, z_before = learner.weights.copy(), learner.logits(rows)
        old = before.shape[1]
        learner.fit_session(Phi, y)
        after = learner.weights[:, :old]
        P_core = (
            learner.core.U_core @ learner.core.U_core.T
        )  # the core that this session was fitted with
        assert learner.core.U_core.shape[1] >= 1
        assert rows @ P_core @ after == pytest.approx(rows @ P_core @ before, abs=1e-10)
        drift = np.abs(learner.logits(rows)[:, :old] - z_before)
        residual = np.linalg.norm(rows - rows @ P_core, axis=1)
        change = np.linalg.norm(after - before, axis=0)
        assert (drift <= np.outer(residual, change) + 1e-10).all()
        # Hypothesis (ii): the change lies in the residual.
        assert P_core @ (after - before) == pytest.approx(np.zeros_like(after), abs=1e-10)
        moved = max(moved, drift.max())
    assert moved > 1e-6  # the residual does adapt: the bound is not met by standing still


def test_core_logits_of_joint_ridge_do_change() -> None:
    """The invariance is the method's doing: the joint solution does not have it."""
    sessions = synthetic_stream(sessions=2)
    frozen, joint = build("sparcl", tau=0.8, refresh=1), build("acil")
    for learner in (frozen, joint):
        learner.fit_session(*sessions[0])
    before = joint.weights.copy()
    for learner in (frozen, joint):
        learner.fit_session(*sessions[1])
    core = frozen.core.U_core
    change = core.T @ (joint.weights[:, : before.shape[1]] - before)
    assert np.abs(change).max() > 1e-2
