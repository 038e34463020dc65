"""Theorem 1 over many sessions: each has its own projector; only a fixed basis adds them up.

Session t keeps U_t^T W_old with the core U_t that it was fitted with.  From t to t + 2 nothing is
kept unless U_t = U_{t+1}: a refreshed core is another constraint, and coordinates that were frozen
once may move.  What is kept throughout is what all the cores have in common.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.streams import synthetic_stream

from sparcl.methods import build

HYPER = {
    "exact": ("sparcl", {}),
    "woodbury": ("sparcl", {"update": "woodbury"}),
    "printed": ("sparcl-alg1", {}),
    "linear": ("sparcl-alg1", {"m": 2}),
    "map": ("sparcl-plus-1", {"width": 20}),
}


def history(case: str, seed: int, **hyper: object) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return W (in the linear coordinates) and the core after each of five sessions."""
    name, rest = HYPER[case]
    learner, weights, cores = build(name, ridge=0.2, **rest, **hyper), [], []
    for Phi, y in synthetic_stream(seed, sessions=5, classes=2, samples=8, dimension=12):
        learner.fit_session(Phi, y)
        weights.append(learner.weights[:12].copy())
        cores.append(learner.core.U_core.copy())
    return weights, cores


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), tau=st.floats(0.3, 0.95), refresh=st.integers(0, 3))
@pytest.mark.parametrize("case", HYPER)
def test_each_session_with_its_own_projector(
    case: str, seed: int, tau: float, refresh: int
) -> None:
    weights, cores = history(case, seed, tau=tau, refresh=refresh)
    for t in range(1, 5):
        old = weights[t - 1].shape[1]
        change = weights[t][:, :old] - weights[t - 1]
        assert cores[t].T @ change == pytest.approx(np.zeros((cores[t].shape[1], old)), abs=1e-9)
        assert np.abs(change).max() > 1e-6


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), tau=st.floats(0.3, 0.95))
@pytest.mark.parametrize("case", HYPER)
def test_a_fixed_basis_keeps_core_logits_for_ever(case: str, seed: int, tau: float) -> None:
    weights, cores = history(case, seed, tau=tau, refresh=0)
    U = cores[1]
    for t in range(1, 5):
        assert np.array_equal(cores[t], U)
        born = U.T @ weights[t - 1]  # classes known before session t, as they were then
        end = U.T @ weights[4][:, : born.shape[1]]
        assert end == pytest.approx(born, abs=1e-9)


def test_a_refreshed_basis_does_not() -> None:
    """Counterexample: coordinates on the first core drift as soon as the second one differs."""
    weights, cores = history("exact", 0, tau=0.7, refresh=1)
    U, old = cores[1], weights[0].shape[1]
    assert U.T @ weights[1][:, :old] == pytest.approx(U.T @ weights[0], abs=1e-10)
    drift = np.abs(U.T @ (weights[4][:, :old] - weights[0])).max()
    assert drift > 1e-2
    # nor are the coordinates on the last core those of the start
    assert np.abs(cores[4].T @ (weights[4][:, :old] - weights[0])).max() > 1e-2
