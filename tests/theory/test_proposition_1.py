"""Proposition 1: in a shared eigenbasis new energy delta_i shrinks old weights mode by mode.

W_+ - W = -U diag(delta_i / ((lambda_i + ridge) (lambda_i + delta_i + ridge))) U^T C_old.
The statement is put to the joint ridge learner itself: samples along eigenvectors give it any R
and dR that share a basis.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparcl.methods import build

D = 5
ENERGY = st.floats(0.01, 100.0)


def basis(seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((D, D)))[0]


def drift_of_joint_ridge(
    U: np.ndarray, old: np.ndarray, new: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return W_+ - W of three old classes (D, 3) and their C (D, 3), from the learner.

    Old samples are sqrt(lambda_i) u_i with labels 0, 1, 2, 0, 1; new ones sqrt(delta_i) u_i, all of
    the new class 3, so that C of the old classes stays as it is.
    """
    Phi_old, Phi_new = np.sqrt(old)[:, None] * U.T, np.sqrt(new)[:, None] * U.T
    y = np.arange(D) % 3
    learner = build("acil", ridge=ridge)
    learner.fit_session(Phi_old, y)
    before = learner.weights.copy()
    learner.fit_session(Phi_new, np.full(D, 3))
    return learner.weights[:, :3] - before, Phi_old.T @ np.eye(3)[y]


@given(
    seed=st.integers(0, 1000),
    old=st.lists(ENERGY, min_size=D, max_size=D),
    new=st.lists(st.one_of(st.just(0.0), ENERGY), min_size=D, max_size=D),
    ridge=st.floats(0.01, 10.0),
)
def test_drift_identity(seed: int, old: list[float], new: list[float], ridge: float) -> None:
    U, lam, delta = basis(seed), np.array(old), np.array(new)
    drift, C_old = drift_of_joint_ridge(U, lam, delta, ridge)
    factor = delta / ((lam + ridge) * (lam + delta + ridge))
    scale = np.abs(C_old).max() / ridge
    assert drift == pytest.approx(-U @ np.diag(factor) @ U.T @ C_old, abs=1e-11 * scale)
    # The operator-norm form of the appendix.
    bound = factor.max() * np.linalg.norm(C_old, 2)
    assert np.linalg.norm(drift, 2) <= bound * (1 + 1e-9) + 1e-11 * scale


def test_no_overlap_is_no_drift() -> None:
    # Old energy on the first three modes, new energy on the last two.
    drift, _ = drift_of_joint_ridge(
        basis(0), np.array([4.0, 2.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 3.0, 2.0]), 0.5
    )
    assert np.abs(drift).max() < 1e-14


@given(small=st.floats(0.05, 5.0), ratio=st.floats(2.0, 50.0), delta=ENERGY)
def test_equal_energy_hurts_the_smaller_eigenvalue_more(
    small: float, ratio: float, delta: float
) -> None:
    """Against the appendix: delta / (a (a + delta)) falls with a = lambda_i + ridge.

    Its text places the worst-case drift on already large eigenvalues. For equal delta the drift per
    unit of C is larger on small ones, and so is the relative change delta / (a + delta).
    """
    lam = np.array([small * ratio, small, 1.0, 1.0, 1.0])
    hit_large, C_old = drift_of_joint_ridge(
        np.eye(D), lam, np.array([delta, 0.0, 0.0, 0.0, 0.0]), 0.1
    )
    hit_small, _ = drift_of_joint_ridge(np.eye(D), lam, np.array([0.0, delta, 0.0, 0.0, 0.0]), 0.1)
    large = abs(hit_large[0, 0]) / C_old[0, 0]
    tiny = abs(hit_small[1, 1]) / C_old[1, 1]
    assert large < tiny
