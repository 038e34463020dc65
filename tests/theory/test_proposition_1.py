"""Proposition 1: in a shared eigenbasis new energy delta_i shrinks old weights and gains mode by mode.

W_+ - W = -U diag(delta_i / (a_i (a_i + delta_i))) U^T C_old with a_i = lambda_i + ridge, so that
||W_+ - W||_2 <= max_i delta_i / (a_i (a_i + delta_i)) ||C_old||_2.  The factor grows with delta and falls with a:
for equal new energy the bound is set by the *smallest* eigenvalue hit, not by "already large eigenvalues" as the
appendix has it.

The gain u^T A^-1 u = 1 / a of an old mode shrinks to u^T (A + dR)^-1 u.  The exact share 1 - a u^T (A + dR)^-1 u is at
most delta / (a + delta) with delta = u^T dR u, by Cauchy-Schwarz: 1 <= (u^T (A + dR) u) (u^T (A + dR)^-1 u).  Outside a
shared eigenbasis both are bounds only.

The statements are put to the joint ridge learner itself: samples along eigenvectors give it any R and dR that share a
basis.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparcl.methods import build
from sparcl.protocol.diagnostics import dilution

D = 6
ENERGY = st.floats(0.01, 50.0)
ENERGIES = st.lists(ENERGY, min_size=D, max_size=D)
NEW_ENERGIES = st.lists(st.just(0.0) | ENERGY, min_size=D, max_size=D)
SEED = st.integers(0, 10**6)
RIDGE = st.floats(0.05, 5.0)


def rotation(seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((D, D)))[0]


def weights(
    U: np.ndarray, lam: np.ndarray, Phi_new: np.ndarray, ridge: float, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (D, classes) of the old classes before and after new samples of a class apart.

    Old samples are sqrt(lambda_i) u_i with labels 0, 1, ..., classes - 1, 0, ...
    """
    learner = build("acil", ridge=ridge)
    learner.fit_session(np.sqrt(lam)[:, None] * U.T, np.arange(D) % classes)
    before = learner.weights.copy()
    learner.fit_session(Phi_new, np.full(len(Phi_new), 9))
    return before, learner.weights[:, :classes]


def change(
    U: np.ndarray, lam: np.ndarray, Phi_new: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return W_+ - W of three old classes (D, 3) and their C (D, 3), which stays as it is."""
    before, after = weights(U, lam, Phi_new, ridge, 3)
    return after - before, U * np.sqrt(lam) @ np.eye(3)[np.arange(D) % 3]


def gains(
    U: np.ndarray, lam: np.ndarray, Phi_new: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return u_i^T A^-1 u_i before and after: with a class for each sample, W_i = sqrt(lambda_i) A^-1 u_i."""
    before, after = weights(U, lam, Phi_new, ridge, D)
    return np.sum(U * before, axis=0) / np.sqrt(lam), np.sum(U * after, axis=0) / np.sqrt(lam)


@given(seed=SEED, lam=ENERGIES, delta=NEW_ENERGIES, ridge=RIDGE)
def test_in_a_shared_eigenbasis_drift_and_gains_are_known(
    seed: int, lam: list[float], delta: list[float], ridge: float
) -> None:
    U, old, new = rotation(seed), np.array(lam), np.array(delta)
    a, Phi_new = old + ridge, np.sqrt(new)[:, None] * U.T
    drift, C = change(U, old, Phi_new, ridge)
    scale = np.abs(C).max() / ridge
    shrink = new / (a * (a + new))
    assert drift == pytest.approx(-U @ np.diag(shrink) @ U.T @ C, abs=1e-11 * scale)
    bound = shrink.max() * np.linalg.norm(C, 2)
    assert np.linalg.norm(drift, 2) <= bound * (1 + 1e-9) + 1e-11 * scale
    before, after = gains(U, old, Phi_new, ridge)
    assert before == pytest.approx(1 / a, rel=1e-9)
    assert 1 - after / before == pytest.approx(new / (a + new), abs=1e-9)


def test_no_overlap_is_no_drift() -> None:
    """Old energy on the first three modes, new energy on others."""
    old, new = np.array([4.0, 2.0, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 3.0, 2.0, 1.0])
    U = rotation(0)
    assert np.abs(change(U, old, np.sqrt(new)[:, None] * U.T, 0.5)[0]).max() < 1e-14


@given(delta=ENERGY, more=ENERGY, small=st.floats(0.01, 20.0), ratio=st.floats(1.05, 100.0))
def test_the_smaller_eigenvalue_and_the_larger_energy_move_a_mode_more(
    delta: float, more: float, small: float, ratio: float
) -> None:
    lam = np.array([small * ratio, small, 1.0, 1.0, 1.0, 1.0])
    hits = (delta, 0), (delta, 1), (delta + more, 1)
    drifts = []
    for energy, mode in hits:
        drift, C = change(np.eye(D), lam, np.sqrt(energy) * np.eye(D)[[mode]], 0.1)
        drifts.append(abs(drift[mode, mode]) / C[mode, mode])
    assert drifts[0] < drifts[1] < drifts[2] < 1 / (small + 0.1)


@given(seed=SEED, lam=ENERGIES, ridge=st.sampled_from([0.01, 0.5, 10.0]), samples=st.integers(1, 9))
def test_outside_a_shared_eigenbasis_the_share_is_a_bound(
    seed: int, lam: list[float], ridge: float, samples: int
) -> None:
    U, values = rotation(seed), np.array(sorted(lam, reverse=True))
    Phi_new = np.random.default_rng(seed + 1).standard_normal((samples, D))
    before, after = gains(U, values, Phi_new, ridge)
    delta = np.sum((Phi_new @ U) ** 2, axis=0)
    exact, bound = 1 - after / before, delta / (values + ridge + delta)
    assert (exact <= bound + 1e-10).all()
    assert (exact >= -1e-10).all()
    # the library's diagnostic states the same three numbers
    dR = Phi_new.T @ Phi_new
    got = dilution(np.linalg.eigh(U @ np.diag(values) @ U.T + dR), values, U, dR, ridge)
    assert got["overlap"] == pytest.approx(delta, abs=1e-9)
    assert got["shrink_exact"] == pytest.approx(exact, abs=1e-8)
    assert got["shrink_bound"] == pytest.approx(bound, abs=1e-9)


def test_the_bound_of_the_drift_needs_the_shared_basis() -> None:
    """One sample across two equal modes: delta = (1, 1), factor 1/2, exact change 2/3."""
    lam, sample = np.full(D, 0.5), np.zeros((1, D))
    sample[0, [0, 3]] = 1.0  # both modes carry class 0, so C_old has a column along the sample
    drift, C = change(np.eye(D), lam, sample, 0.5)
    assert np.linalg.norm(drift, 2) == pytest.approx(np.linalg.norm(C, 2) * 2 / 3, rel=1e-9)


def test_the_bound_of_the_share_can_be_far_away() -> None:
    """One sample across two modes: the small mode takes the change, the large one hardly any."""
    lam = np.array([10.0, 0.01, 1.0, 1.0, 1.0, 1.0])
    sample = np.array([[3.0, 3.0, 0.0, 0.0, 0.0, 0.0]])
    before, after = gains(np.eye(D), lam, sample, 0.1)
    exact = 1 - after[0] / before[0]
    assert exact < 0.03 * 9 / (10.1 + 9)
    # Sherman-Morrison: exact = (f_1^2 / a_1) / (1 + sum_i f_i^2 / a_i)
    assert exact == pytest.approx((9 / 10.1) / (1 + 9 / 10.1 + 9 / 0.11), rel=1e-9)
