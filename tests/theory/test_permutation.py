"""Samples of a session may come in any order, and joint ridge does not know sessions at all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.streams import fit, synthetic_stream

from sparcl.methods import build

CASES = {
    "sparcl": ("sparcl", {"tau": 0.6}),
    "recursive": ("sparcl", {"tau": 0.6, "refresh": 0, "update": "woodbury"}),
    "printed, linear": ("sparcl-alg1", {"tau": 0.6, "m": 2}),
    "map": ("sparcl-plus-1", {"tau": 0.6, "width": 20}),
    "top-k map": ("sparcl-plus-1", {"tau": 0.6, "width": 20, "expansion": "topk"}),
    "projection": ("sparcl", {"tau": 0.6, "project": True}),
    "trust region": ("sparcl", {"tau": 0.6, "trust_degrees": 30.0}),
}


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("case", CASES)
def test_order_of_samples(case: str, seed: int) -> None:
    sessions = synthetic_stream(seed, sessions=4, classes=2, samples=6, dimension=12)
    rng = np.random.default_rng(seed)
    shuffled = [(Phi[rows], y[rows]) for Phi, y in sessions for rows in [rng.permutation(len(y))]]
    probe = rng.standard_normal((6, 12))
    name, hyper = CASES[case]
    one, two = (fit(build(name, ridge=0.3, **hyper), given) for given in (sessions, shuffled))
    assert list(one.classes) == list(two.classes)
    assert two.logits(probe) == pytest.approx(one.logits(probe), abs=1e-7)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_order_of_sessions_is_nothing_to_joint_ridge_and_something_to_a_core(seed: int) -> None:
    sessions = synthetic_stream(seed, sessions=4, classes=2, samples=6, dimension=12)
    probe = np.random.default_rng(seed).standard_normal((6, 12))

    def logits(name: str, given: list, **hyper: object) -> np.ndarray:
        learner = fit(build(name, ridge=0.3, **hyper), given)
        return learner.logits(probe)[:, np.argsort(learner.classes)]

    forth, back = sessions, sessions[::-1]
    assert logits("acil", forth) == pytest.approx(logits("acil", back), abs=1e-9)
    core = {"tau": 0.8, "refresh": 1}
    assert np.abs(logits("sparcl", forth, **core) - logits("sparcl", back, **core)).max() > 1e-4
