"""Limits of the core: k = 0 is joint ridge, k = d freezes the old classes whole."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.ridge import class_list, joint_ridge, objective, sums
from reference.streams import synthetic_stream

from sparcl.methods import build

D = 10
CASES = {
    "sparcl": ("sparcl", {}),
    "recursive": ("sparcl", {"update": "woodbury"}),
    "printed": ("sparcl-alg1", {}),
    "dropped": ("sparcl", {"coupling": "dropped"}),
    "rare refresh": ("sparcl", {"refresh": 0}),
}


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), ridge=st.sampled_from([0.05, 1.0, 20.0]))
@pytest.mark.parametrize("k", [0, D])
@pytest.mark.parametrize("case", CASES)
def test_empty_core_is_joint_ridge_and_full_core_freezes_all(
    case: str, k: int, seed: int, ridge: float
) -> None:
    sessions = synthetic_stream(seed, sessions=4, classes=2, samples=6, dimension=D)
    name, rest = CASES[case]
    learner = build(name, ridge=ridge, k=k, tau=None, **{"refresh": 1} | rest)
    frozen = np.zeros((D, 0))
    for t, (Phi, y) in enumerate(sessions, 1):
        learner.fit_session(Phi, y)
        expected = joint_ridge(*sums(sessions[:t], class_list(sessions[:t])), ridge)
        if k:
            expected[:, : frozen.shape[1]] = frozen
        if k and case == "printed" and t > 1:  # no residual is left for a new class to live in
            expected[:, frozen.shape[1] :] = 0
        assert learner.weights == pytest.approx(expected, abs=1e-9)
        frozen = learner.weights.copy()


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_between_the_limits_freezing_costs_objective(seed: int) -> None:
    """A larger nested core is one more constraint: the old columns' objective cannot fall."""
    sessions = synthetic_stream(seed, sessions=2, classes=3, samples=6, dimension=D)
    R, C = sums(sessions, class_list(sessions))
    values = []
    for k in range(D + 1):
        learner = build("sparcl", ridge=0.1, k=k, tau=None, refresh=1)
        for session in sessions:
            learner.fit_session(*session)
        values.append(objective(R, C[:, :3], 0.1, learner.weights[:, :3]))
    assert (np.diff(np.array(values), axis=0) >= -1e-9).all()
    assert values[D].sum() > values[0].sum() + 1e-6
