"""The ridge solutions that learners reach, against scikit-learn, inverses and KKT systems."""

import numpy as np
import pytest
from reference import ridge as naive
from reference.solver import solver
from reference.streams import PROBE, STREAM, Session, fit, synthetic_stream
from sklearn.linear_model import Ridge

from sparcl.methods import build


def joint_weights(sessions: list[Session], ridge: float) -> np.ndarray:
    return naive.joint_ridge(*naive.sums(sessions, naive.class_list(sessions)), ridge)


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 1.0, 100.0])
def test_acil_is_scikit_learns_ridge(ridge: float) -> None:
    learner = fit(build("acil", ridge=ridge), STREAM)
    Phi = np.concatenate([block for block, _ in STREAM])
    Y = naive.one_hot(np.concatenate([y for _, y in STREAM]), naive.class_list(STREAM))
    peer = Ridge(alpha=ridge, fit_intercept=False, solver="svd").fit(Phi, Y)
    assert list(learner.classes) == naive.class_list(STREAM)
    assert learner.weights == pytest.approx(peer.coef_.T, abs=1e-8)
    assert learner.logits(PROBE) == pytest.approx(peer.predict(PROBE), abs=1e-8)


def test_acil_joins_a_class_that_comes_back() -> None:
    (Phi_1, y_1), (Phi_2, y_2) = STREAM[:2]
    again = [(Phi_1, y_1), (np.concatenate([Phi_2, Phi_1[:5]]), np.concatenate([y_2, y_1[:5]]))]
    learner = fit(build("acil", ridge=0.5), again)
    assert list(learner.classes) == naive.class_list(again)
    assert learner.logits(PROBE) == pytest.approx(PROBE @ joint_weights(again, 0.5), abs=1e-9)


def test_acil_takes_more_features_than_samples() -> None:
    sessions = synthetic_stream(seed=2, sessions=3, classes=2, samples=2, dimension=60)
    learner = fit(build("acil", ridge=1e-4), sessions)
    assert learner.weights == pytest.approx(joint_weights(sessions, 1e-4), abs=1e-8)


def test_sparcl_is_the_kkt_solution_where_the_core_is_far_below_d() -> None:
    """Wide features with a small core, where a truncated eigendecomposition pays."""
    for d, tau in ((100, 0.2), (100, 0.97), (350, 0.5), (350, 0.8)):
        sessions = synthetic_stream(sessions=3, classes=4, samples=10, dimension=d, noise=0.4)
        learner = fit(build("sparcl", ridge=0.1, tau=tau, refresh=1), sessions)
        expected = solver(sessions, 0.1, {2, 3}, tau=tau)[-1]
        U, V = learner.core.U_core, expected.cores[0]
        assert U.shape == V.shape
        assert U @ U.T == pytest.approx(V @ V.T, abs=1e-9)
        assert learner.weights == pytest.approx(expected.W, abs=1e-8)


@pytest.mark.parametrize("tau", [0.3, 0.9])
def test_features_that_sum_to_zero(tau: float) -> None:
    """Rows orthogonal to (1, ..., 1), as layer normalisation without an offset makes them."""
    sessions = []
    for t in range(3):
        Phi = np.zeros((6, 120))
        for i in range(6):
            column = 2 * (6 * t + i)
            Phi[i, column : column + 2] = (1.0 + i, -1.0 - i)  # cancels exactly
        Phi[:, 0:2] += (0.5, -0.5)  # couples the sessions
        sessions.append((Phi, np.arange(6) // 2 + 3 * t))
    learner = fit(build("sparcl", ridge=0.1, tau=tau, refresh=1), sessions)
    assert learner.weights == pytest.approx(solver(sessions, 0.1, {2, 3}, tau=tau)[-1].W, abs=1e-8)


def test_features_that_are_all_zero() -> None:
    sessions = [(np.zeros((4, 100)), np.repeat([2 * t, 2 * t + 1], 2)) for t in (0, 1)]
    for name, hyper in (("acil", {}), ("sparcl", {}), ("sparcl-plus-1", {"width": 20})):
        learner = fit(build(name, **hyper), sessions)
        assert np.array_equal(learner.logits(np.zeros((3, 100))), np.zeros((3, 4)))
