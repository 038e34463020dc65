"""Leakage of a residual update into the true core: ||U^T dW||_2 <= sin(Theta_max) ||dW||_2.

U is the leading subspace of the present R and the update is orthogonal to a stale core of *equal*
rank; between subspaces of different rank the angle says nothing.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.solver import core_basis
from reference.streams import synthetic_stream

from sparcl.algebra.spectra import canonical_angle
from sparcl.methods import build


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 6),
    ridge=st.sampled_from([0.05, 1.0]),
    name=st.sampled_from(["sparcl", "sparcl-alg1"]),
)
def test_stale_core_leaks_by_no_more_than_the_angle(
    seed: int, k: int, ridge: float, name: str
) -> None:
    sessions = synthetic_stream(seed, sessions=5, classes=2, samples=8, dimension=12)
    learner = build(name, ridge=ridge, k=k, tau=None, refresh=0)  # the core of R_1 for good
    before, worst = None, 0.0
    for t, (Phi, y) in enumerate(sessions):
        learner.fit_session(Phi, y)
        if t > 1:
            past = np.concatenate([block for block, _ in sessions[:t]])
            true = core_basis(past.T @ past, k=k)
            change = learner.weights[:, : before.shape[1]] - before
            sine = np.sin(np.radians(canonical_angle(learner.core.U_core, true)))
            leak = np.linalg.norm(true.T @ change, 2)
            assert leak <= sine * np.linalg.norm(change, 2) + 1e-10
            worst = max(worst, leak)
        before = learner.weights.copy()
    assert worst > 1e-8  # a stale core does leak


@given(seed=st.integers(0, 10**6), degrees=st.floats(0.1, 89.9))
def test_bound_is_met(seed: int, degrees: float) -> None:
    """In the plane of the largest angle: dW orthogonal to the stale core, at sin from the true."""
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((7, 7)))[0]
    stale, angle = basis[:, :2], np.radians(degrees)
    true = np.stack([np.cos(angle) * basis[:, 0] + np.sin(angle) * basis[:, 2], basis[:, 1]], 1)
    change = basis[:, 2:3]
    assert canonical_angle(stale, true) == pytest.approx(degrees, rel=1e-9)
    assert np.linalg.norm(true.T @ change, 2) == pytest.approx(np.sin(angle), rel=1e-9)
