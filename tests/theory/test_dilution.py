"""Eigenvalue dilution: outside a shared eigenbasis delta / (a + delta) only bounds the shrink.

The gain u^T A^-1 u = 1 / a of an old mode, a = lambda + ridge, shrinks to u^T (A + dR)^-1 u. The
exact share 1 - a u^T (A + dR)^-1 u is at most delta / (a + delta) with delta = u^T dR u, by
Cauchy-Schwarz: 1 <= (u^T (A + dR) u) (u^T (A + dR)^-1 u).
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparcl.methods import build
from sparcl.protocol.diagnostics import dilution

D = 6


def gains_of_joint_ridge(
    U: np.ndarray, lam: np.ndarray, Phi_new: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return u_i^T A^-1 u_i before and after new samples, read off the learner.

    With one old sample sqrt(lambda_i) u_i of class i alone, W_i = sqrt(lambda_i) A^-1 u_i.
    """
    learner = build("acil", ridge=ridge)
    learner.fit_session(np.sqrt(lam)[:, None] * U.T, np.arange(D))
    before = np.sum(U * learner.weights, axis=0) / np.sqrt(lam)
    learner.fit_session(Phi_new, np.full(len(Phi_new), D))
    return before, np.sum(U * learner.weights[:, :D], axis=0) / np.sqrt(lam)


@given(
    seed=st.integers(0, 10**6),
    lam=st.lists(st.floats(0.05, 50.0), min_size=D, max_size=D),
    ridge=st.sampled_from([0.01, 0.5, 10.0]),
    samples=st.integers(1, 9),
)
def test_bound_of_the_shrink(seed: int, lam: list[float], ridge: float, samples: int) -> None:
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((D, D)))[0]
    values = np.array(sorted(lam, reverse=True))
    Phi_new = rng.standard_normal((samples, D))
    before, after = gains_of_joint_ridge(U, values, Phi_new, ridge)
    a = values + ridge
    assert before == pytest.approx(1 / a, rel=1e-9)
    delta = np.sum((Phi_new @ U) ** 2, axis=0)
    exact, bound = 1 - after / before, delta / (a + delta)
    assert (exact <= bound + 1e-10).all()
    assert (exact >= -1e-10).all()
    # The library's diagnostic states the same three numbers.
    dR = Phi_new.T @ Phi_new
    got = dilution(np.linalg.eigh(U @ np.diag(values) @ U.T + dR), values, U, dR, ridge)
    assert got["overlap"] == pytest.approx(delta, abs=1e-9)
    assert got["shrink_exact"] == pytest.approx(exact, abs=1e-8)
    assert got["shrink_bound"] == pytest.approx(bound, abs=1e-9)


@given(
    delta=st.lists(st.just(0.0) | st.floats(1e-6, 30.0), min_size=D, max_size=D),
    ridge=st.sampled_from([0.01, 0.5, 10.0]),
)
def test_bound_is_met_in_a_shared_eigenbasis(delta: list[float], ridge: float) -> None:
    U = np.linalg.qr(np.random.default_rng(3).standard_normal((D, D)))[0]
    lam, new = np.linspace(5.0, 0.2, D), np.array(delta)
    before, after = gains_of_joint_ridge(U, lam, np.sqrt(new)[:, None] * U.T, ridge)
    assert 1 - after / before == pytest.approx(new / (lam + ridge + new), abs=1e-9)


def test_bound_can_be_far_from_the_shrink() -> None:
    """One sample across two modes: the small mode takes the change, the large one hardly any."""
    lam = np.array([10.0, 0.01, 1.0, 1.0, 1.0, 1.0])
    sample = np.array([[3.0, 3.0, 0.0, 0.0, 0.0, 0.0]])
    before, after = gains_of_joint_ridge(np.eye(D), lam, sample, 0.1)
    bound = 9.0 / (lam[0] + 0.1 + 9.0)
    exact = 1 - after[0] / before[0]
    assert exact < 0.03 * bound
    # Sherman-Morrison: exact = (f_1^2 / a_1) / (1 + sum_i f_i^2 / a_i)
    assert exact == pytest.approx((9 / 10.1) / (1 + 9 / 10.1 + 9 / 0.11), rel=1e-9)
