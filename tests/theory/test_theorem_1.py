"""Theorem 1 and its corollary: the core part of old logits does not change, and the rest obeys the residual bound.

With rows x = [f ; g(f)], the core in the linear coordinates and W = W_t - W_{t-1} of the old classes,
|x^T dW_j| <= sqrt(||P_res f||^2 + ||g(f)||^2) ||dW_j||: the residual that bounds the drift is that of x, not of f.

Each session t keeps U_t^T W_old with the core U_t that it was fitted with.  From t to t + 2 nothing is kept unless
U_t = U_{t+1}: a refreshed core is another constraint, and coordinates that were frozen once may move.

An update that is orthogonal to a stale core leaks into the true one, the leading subspace U of the present R, by
||U^T dW||_2 <= sin(Theta_max) ||dW||_2; between subspaces of different rank the angle says nothing.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.solver import algorithm_1_expanded, core_basis
from reference.streams import fit, synthetic_stream

from sparcl.algebra.spectra import canonical_angle
from sparcl.learners.composed import Composed
from sparcl.methods import build

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "exact": ("sparcl", {}),
    "woodbury": ("sparcl", {"update": "woodbury"}),
    "printed": ("sparcl-alg1", {}),
    "linear": ("sparcl-alg1", {"m": 2}),
    **{
        kind: ("sparcl-plus-1", {"width": 15, "expansion": kind})
        for kind in ("relu", "topk", "rbf")
    },
}
D = 12


def fitted(
    case: str, seed: int, sessions: int = 5, **hyper: Any
) -> Iterator[tuple[Composed, np.ndarray]]:
    """Yield the learner after each session but the first, and the weights before it."""
    name, rest = CASES[case]
    learner = build(name, **{"ridge": 0.2} | rest | hyper)
    for t, session in enumerate(synthetic_stream(seed, sessions, 2, 8, D)):
        before = learner.weights.copy() if t else np.zeros(0)
        learner.fit_session(*session)
        if t:
            yield learner, before


def drawn(seed: int, n: int = 25) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, D))


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    tau=st.floats(0.2, 0.95),
    ridge=st.sampled_from([0.01, 0.3, 5.0]),
    refresh=st.integers(0, 3),
)
@pytest.mark.parametrize("case", CASES)
def test_core_logits_stay_and_drift_is_bounded(
    case: str, seed: int, tau: float, ridge: float, refresh: int
) -> None:
    rows, moved = drawn(seed), 0.0
    for learner, before in fitted(case, seed, 4, tau=tau, ridge=ridge, refresh=refresh):
        old, x = before.shape[1], learner.expand(rows)
        assert learner.core.U_core.shape[1] >= 1
        core = learner.core.U_core @ learner.core.U_core.T
        change = learner.weights[:, :old] - before
        # hypothesis (ii): the change lies in the residual
        assert core @ change[:D] == pytest.approx(np.zeros((D, old)), abs=1e-9)
        drift = np.abs(learner.logits(rows)[:, :old] - x @ before)
        residual = np.hypot(
            np.linalg.norm(rows - rows @ core, axis=1), np.linalg.norm(x[:, D:], axis=1)
        )
        assert (drift <= np.outer(residual, np.linalg.norm(change, axis=0)) + 1e-10).all()
        moved = max(moved, drift.max())
    assert moved > 1e-6  # the residual does adapt: the bound is not met by standing still


def test_core_logits_of_joint_ridge_do_change() -> None:
    """The invariance is the method's doing: the joint solution does not have it."""
    sessions = synthetic_stream(sessions=2)
    core = fit(build("sparcl", tau=0.8, refresh=1), sessions).core.U_core
    joint = build("acil")
    joint.fit_session(*sessions[0])
    before = joint.weights.copy()
    joint.fit_session(*sessions[1])
    assert np.abs(core.T @ (joint.weights[:, : before.shape[1]] - before)).max() > 1e-2


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), tau=st.floats(0.3, 0.95))
@pytest.mark.parametrize("case", CASES)
def test_a_fixed_basis_keeps_core_logits_for_ever(case: str, seed: int, tau: float) -> None:
    history = [
        (learner, learner.core.U_core, before)
        for learner, before in fitted(case, seed, tau=tau, refresh=0)
    ]
    U = history[0][1]
    for learner, core, before in history:
        assert np.array_equal(core, U)
        born = U.T @ before[:D]  # core coordinates of the classes known before a session
        end = U.T @ learner.weights[:D, : born.shape[1]]
        assert end == pytest.approx(born, abs=1e-9)


def test_a_refreshed_basis_does_not() -> None:
    """Coordinates on the first core drift as soon as the second one differs, and those on the last are others'."""
    history = [
        (learner, learner.core.U_core.copy(), before)
        for learner, before in fitted("exact", 0, tau=0.7, refresh=1)
    ]
    (learner, U, first), *_, (_, last, _) = history
    change = learner.weights[:, : first.shape[1]] - first
    for core in (U, last):
        assert np.abs(core.T @ change).max() > 1e-2


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), tau=st.floats(0.3, 0.9))
@pytest.mark.parametrize("case", ["exact", "printed", "relu"])
def test_features_inside_the_core_keep_their_old_logits(case: str, seed: int, tau: float) -> None:
    """The corollary.  A map that leaves out at least the core is zero on them."""
    hyper = {"tau": tau, "refresh": 1} | ({"tau_map": 0.95, "width": 25} if case == "relu" else {})
    ((learner, before),) = fitted(case, seed, 2, **hyper)
    core, rows = learner.core.U_core, drawn(seed)
    inside, old = rows @ core @ core.T, before.shape[1]
    for x, stays in ((inside, True), (rows, False)):
        drift = np.abs(learner.logits(x)[:, :old] - learner.expand(x) @ before).max()
        assert drift < 1e-10 if stays else drift > 1e-6


def test_the_residual_of_f_alone_bounds_nothing() -> None:
    """A feature inside the core drifts all the same where the map leaves out less than the core."""
    *_, (learner, before) = fitted("relu", 0, 3, tau=0.9, tau_map=0.3, width=40, refresh=0)
    core = learner.core.U_core
    inside = drawn(0) @ core @ core.T
    change = learner.weights[:, : before.shape[1]] - before
    assert np.abs(learner.expand(inside) @ change).max() > 1e-3


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), tau=st.floats(0.2, 0.9), m=st.integers(1, 3))
def test_bound_with_random_directions(seed: int, tau: float, m: int) -> None:
    """g(f) = Q^T P_res f, so that the root is at most sqrt(2) ||P_res f||."""
    sessions, rows, Z_before = synthetic_stream(seed, 4, 2, 8, D), drawn(seed), None
    for t, (learner, before) in enumerate(
        fitted("linear", seed, 4, ridge=0.1, tau=tau, refresh=0, m=m), 2
    ):
        U, Q = learner.core.U_core, learner.core.Qs[0]
        W, Z = algorithm_1_expanded(sessions[:t], 0.1, U, Q, before)
        # what the expanded coefficients amount to
        assert learner.weights == pytest.approx(W, abs=1e-8)
        if Z_before is not None:
            residual = rows - rows @ U @ U.T
            lengths = np.linalg.norm(np.hstack([residual, residual @ Q]), axis=1)
            assert (lengths <= np.sqrt(2) * np.linalg.norm(residual, axis=1) + 1e-12).all()
            change = np.linalg.norm(Z[:, : Z_before.shape[1]] - Z_before, axis=0)
            drift = np.abs(rows @ (learner.weights[:, : before.shape[1]] - before))
            # the same for the classes old before: their coefficients changed by Delta Z
            assert (drift <= np.outer(lengths, change) + 1e-9).all()
        Z_before = Z


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 6),
    ridge=st.sampled_from([0.05, 1.0]),
    case=st.sampled_from(["exact", "printed"]),
)
def test_a_stale_core_leaks_by_no_more_than_the_angle(
    seed: int, k: int, ridge: float, case: str
) -> None:
    sessions, worst = synthetic_stream(seed, 5, 2, 8, D), 0.0
    # the core of R_1 for good
    for t, (learner, before) in enumerate(
        fitted(case, seed, ridge=ridge, k=k, tau=None, refresh=0), 1
    ):
        past = np.concatenate([block for block, _ in sessions[:t]])
        true = core_basis(past.T @ past, k=k)
        change = learner.weights[:, : before.shape[1]] - before
        sine = np.sin(np.radians(canonical_angle(learner.core.U_core, true)))
        leak = np.linalg.norm(true.T @ change, 2)
        assert leak <= sine * np.linalg.norm(change, 2) + 1e-10
        worst = max(worst, leak)
    assert worst > 1e-8  # a stale core does leak
