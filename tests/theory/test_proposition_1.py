"""Proposition 1: in a shared eigenbasis new energy delta_i shrinks old weights mode by mode.

W_+ - W = -U diag(delta_i / (a_i (a_i + delta_i))) U^T C_old with a_i = lambda_i + ridge, so that
||W_+ - W||_2 <= max_i delta_i / (a_i (a_i + delta_i)) ||C_old||_2.  The factor grows with delta and falls with a:
for equal new energy the bound is set by the *smallest* eigenvalue hit, not by "already large eigenvalues" as the
appendix has it.  The statement is put to the joint ridge learner itself: samples along eigenvectors give it any R
and dR that share a basis.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparcl.methods import build

D = 6
ENERGY = st.floats(0.01, 50.0)
ENERGIES = st.lists(ENERGY, min_size=D, max_size=D)
RIDGE = st.floats(0.05, 5.0)


def change(
    U: np.ndarray, lam: np.ndarray, Phi_new: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return W_+ - W of three old classes (D, 3) and their C (D, 3), from the learner.

    Old samples are sqrt(lambda_i) u_i with labels 0, 1, 2, 0, 1, 2; the new ones are a class apart, so that C of the
    old classes stays as it is.
    """
    Phi, y = np.sqrt(lam)[:, None] * U.T, np.arange(D) % 3
    learner = build("acil", ridge=ridge)
    learner.fit_session(Phi, y)
    before = learner.weights.copy()
    learner.fit_session(Phi_new, np.full(len(Phi_new), 9))
    return learner.weights[:, :3] - before, Phi.T @ np.eye(3)[y]


def factor(delta: np.ndarray, a: np.ndarray) -> np.ndarray:
    return delta / (a * (a + delta))


@given(
    seed=st.integers(0, 1000),
    lam=ENERGIES,
    delta=st.lists(st.one_of(st.just(0.0), ENERGY), min_size=D, max_size=D),
    ridge=RIDGE,
)
def test_drift_identity(seed: int, lam: list[float], delta: list[float], ridge: float) -> None:
    U = np.linalg.qr(np.random.default_rng(seed).standard_normal((D, D)))[0]
    old, new = np.array(lam), np.array(delta)
    drift, C = change(U, old, np.sqrt(new)[:, None] * U.T, ridge)
    scale = np.abs(C).max() / ridge
    shrink = factor(new, old + ridge)
    assert drift == pytest.approx(-U @ np.diag(shrink) @ U.T @ C, abs=1e-11 * scale)
    bound = shrink.max() * np.linalg.norm(C, 2)
    assert np.linalg.norm(drift, 2) <= bound * (1 + 1e-9) + 1e-11 * scale


def test_no_overlap_is_no_drift() -> None:
    """Old energy on the first three modes, new energy on others."""
    old, new = np.array([4.0, 2.0, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 3.0, 2.0, 1.0])
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0]
    assert np.abs(change(U, old, np.sqrt(new)[:, None] * U.T, 0.5)[0]).max() < 1e-14


@given(lam=ENERGIES, delta=ENERGIES, ridge=RIDGE)
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


@given(delta=ENERGY, small=st.floats(0.01, 20.0), ratio=st.floats(1.05, 100.0), ridge=RIDGE)
def test_equal_energy_hurts_the_smaller_eigenvalue_more(
    delta: float, small: float, ratio: float, ridge: float
) -> None:
    lam = np.array([small * ratio, small, 1.0, 1.0, 1.0, 1.0])
    hit_large, C = change(np.eye(D), lam, np.sqrt(delta) * np.eye(D)[:1], ridge)
    hit_small, _ = change(np.eye(D), lam, np.sqrt(delta) * np.eye(D)[1:2], ridge)
    assert abs(hit_large[0, 0]) / C[0, 0] < abs(hit_small[1, 1]) / C[1, 1]


@given(a=st.floats(0.05, 50.0), delta=ENERGY, more=ENERGY)
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
