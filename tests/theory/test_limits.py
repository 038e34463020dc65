"""Limits of the core: k = 0 is joint ridge, k = d freezes the old classes whole."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.ridge import class_list, joint_ridge, sums
from reference.streams import growing, synthetic_stream

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
    for seen in growing(learner, sessions):
        expected = joint_ridge(*sums(seen, class_list(seen)), ridge)
        if k:
            expected[:, : frozen.shape[1]] = frozen
        if k and case == "printed" and len(seen) > 1:  # no residual is left for a new class
            expected[:, frozen.shape[1] :] = 0
        assert learner.weights == pytest.approx(expected, abs=1e-9)
        frozen = learner.weights.copy()
