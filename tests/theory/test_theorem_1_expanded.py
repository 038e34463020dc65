"""Theorem 1 for expanded features: the residual that bounds the drift is that of x, not of f.

With x = [f ; g(f)] and the core in the linear coordinates,
|x^T (W_t - W_{t-1})_j| <= sqrt(||P_res f||^2 + ||g(f)||^2) ||Delta W_j||.
For the linear expansion g(f) = Q^T P_res f, so the root is at most sqrt(2) ||P_res f||.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.solver import algorithm_1_expanded
from reference.streams import synthetic_stream

from sparcl.methods import build


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), tau=st.floats(0.2, 0.95), refresh=st.integers(0, 2))
@pytest.mark.parametrize("kind", ["relu", "topk", "rbf"])
def test_bound_with_a_map(kind: str, seed: int, tau: float, refresh: int) -> None:
    learner = build("sparcl-plus-1", ridge=0.1, tau=tau, refresh=refresh, expansion=kind, width=15)
    rows = np.random.default_rng(seed).standard_normal((20, 12))
    before = None
    for t, (Phi, y) in enumerate(synthetic_stream(seed, 4, 2, 8, 12)):
        learner.fit_session(Phi, y)
        if t:
            change = learner.weights[:, : before.shape[1]] - before
            x = learner.expand(rows)
            core = learner.core.U_core @ learner.core.U_core.T
            linear = np.linalg.norm(rows - rows @ core, axis=1)
            mapped = np.linalg.norm(x[:, 12:], axis=1)
            bound = np.outer(np.hypot(linear, mapped), np.linalg.norm(change, axis=0))
            assert (np.abs(x @ change) <= bound + 1e-10).all()
            # and the core part of the logits is what it was
            assert rows @ core @ change[:12] == pytest.approx(np.zeros_like(x @ change), abs=1e-9)
        before = learner.weights.copy()


def test_the_residual_of_f_alone_bounds_nothing() -> None:
    """A feature inside the core drifts all the same where the map leaves out less than the core."""
    sessions = synthetic_stream(sessions=3)
    learner = build("sparcl-plus-1", ridge=0.1, tau=0.9, tau_map=0.3, width=40, refresh=0)
    for session in sessions[:2]:
        learner.fit_session(*session)
    core, before = learner.core.U_core, learner.weights.copy()
    learner.fit_session(*sessions[2])
    inside = np.random.default_rng(0).standard_normal((10, core.shape[1])) @ core.T
    drift = learner.expand(inside) @ (learner.weights[:, :6] - before)
    assert np.linalg.norm(inside - inside @ core @ core.T, axis=1).max() < 1e-12
    assert np.abs(drift).max() > 1e-3


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), tau=st.floats(0.2, 0.9), m=st.integers(1, 3))
def test_bound_with_random_directions(seed: int, tau: float, m: int) -> None:
    sessions = synthetic_stream(seed, 4, 2, 8, 14)
    learner = build("sparcl-alg1", ridge=0.1, tau=tau, refresh=0, m=m)
    rows = np.random.default_rng(seed).standard_normal((20, 14))
    Z_before = before = None
    for t, (Phi, y) in enumerate(sessions):
        W_old = np.zeros((14, 0)) if before is None else before
        learner.fit_session(Phi, y)
        after = learner.weights.copy()
        if t:
            U, Q = learner.core.U_core, learner.core.Qs[0]
            W, Z = algorithm_1_expanded(sessions[: t + 1], 0.1, U, Q, W_old)
            assert after == pytest.approx(W, abs=1e-8)  # what the expanded coefficients amount to
            if t > 1:
                residual = rows - rows @ U @ U.T
                x_res = np.concatenate([residual, residual @ Q], axis=1)
                lengths = np.linalg.norm(x_res, axis=1)
                assert (lengths <= np.sqrt(2) * np.linalg.norm(residual, axis=1) + 1e-12).all()
                change = np.linalg.norm(Z[:, : Z_before.shape[1]] - Z_before, axis=0)
                drift = np.abs(rows @ (after[:, : before.shape[1]] - before))
                # the same for the classes old before: their coefficients changed by Delta Z
                assert (drift <= np.outer(lengths, change) + 1e-9).all()
            Z_before = Z
        before = after
