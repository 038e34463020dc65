"""Operator-norm form of Proposition 1, and where its worst case lies.

||W_+ - W||_2 <= max_i delta_i / (a_i (a_i + delta_i)) ||C_old||_2 with a_i = lambda_i + ridge, in a
shared eigenbasis.  The factor grows with delta and falls with a: for equal new energy the bound is
set by the *smallest* eigenvalue hit, not by "already large eigenvalues" as the appendix has it.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparcl.methods import build

D = 6
ENERGIES = st.lists(st.floats(0.01, 50.0), min_size=D, max_size=D)


def change(
    U: np.ndarray, lam: np.ndarray, Phi_new: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return W_+ - W (D, 3) of joint ridge and C_old (D, 3); the new samples are a class apart."""
    Phi, y = np.sqrt(lam)[:, None] * U.T, np.arange(D) % 3
    learner = build("acil", ridge=ridge)
    learner.fit_session(Phi, y)
    before = learner.weights.copy()
    learner.fit_session(Phi_new, np.full(len(Phi_new), 9))
    return learner.weights[:, :3] - before, Phi.T @ np.eye(3)[y]


def factor(delta: np.ndarray, a: np.ndarray) -> np.ndarray:
    return delta / (a * (a + delta))


@given(lam=ENERGIES, delta=ENERGIES, ridge=st.floats(0.05, 5.0))
def test_bound_is_met_where_the_old_classes_lie_along_the_worst_mode(
    lam: list[float], delta: list[float], ridge: float
) -> None:
    old, new = np.array(lam), np.array(delta)
    drift, C = change(np.eye(D), old, np.diag(np.sqrt(new)), ridge)
    worst = int(np.argmax(factor(new, old + ridge)))
    # the class of the worst mode, with what lies along this mode alone
    column = worst % 3
    exact = abs(drift[worst, column]) / abs(C[worst, column])
    assert exact == pytest.approx(factor(new, old + ridge).max(), rel=1e-9)


@given(a=st.floats(0.05, 50.0), delta=st.floats(0.01, 50.0), more=st.floats(0.01, 50.0))
def test_more_energy_moves_a_mode_more(a: float, delta: float, more: float) -> None:
    lam = np.full(D, a)
    weak, C = change(np.eye(D), lam, np.sqrt(delta) * np.eye(D)[:1], 0.1)
    strong, _ = change(np.eye(D), lam, np.sqrt(delta + more) * np.eye(D)[:1], 0.1)
    assert abs(weak[0, 0]) < abs(strong[0, 0]) < C[0, 0] / (a + 0.1)


def test_bound_needs_the_shared_basis() -> None:
    """One sample across two equal modes: delta = (1, 1), factor 1/2, exact change 2/3."""
    lam, sample = np.full(D, 0.5), np.zeros((1, D))
    sample[0, [0, 3]] = 1.0  # both modes carry class 0, so C_old has a column along the sample
    drift, C = change(np.eye(D), lam, sample, 0.5)
    bound = factor(np.ones(1), np.ones(1)).max() * np.linalg.norm(C, 2)
    assert np.linalg.norm(drift, 2) == pytest.approx(np.linalg.norm(C, 2) * 2 / 3, rel=1e-9)
    assert np.linalg.norm(drift, 2) > 1.3 * bound
