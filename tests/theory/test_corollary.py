"""Corollary: features inside the core keep their old logits exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.streams import synthetic_stream

from sparcl.methods import build

HYPER = {
    "sparcl": {},
    "sparcl-alg1": {},
    # The map leaves out at least the core, so that its output is zero on features inside the core.
    "sparcl-plus-1": {"tau_map": 0.95, "width": 25},
}


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), tau=st.floats(0.3, 0.9))
@pytest.mark.parametrize("name", HYPER)
def test_pure_core_features_keep_old_logits(name: str, seed: int, tau: float) -> None:
    sessions = synthetic_stream(seed, sessions=2, classes=3, samples=8, dimension=12)
    learner = build(name, tau=tau, ridge=0.2, refresh=1, **HYPER[name])
    learner.fit_session(*sessions[0])
    twin = build(name, tau=tau, ridge=0.2, refresh=1, **HYPER[name])
    twin.fit_session(*sessions[0])
    twin.fit_session(*sessions[1])
    core = twin.core.U_core[:12]
    inside = np.random.default_rng(seed).standard_normal((20, core.shape[1])) @ core.T
    outside = np.random.default_rng(seed).standard_normal((20, 12))
    before, other = learner.logits(inside), learner.logits(outside)
    learner.fit_session(*sessions[1])
    assert learner.logits(inside)[:, :3] == pytest.approx(before, abs=1e-10)
    assert np.abs(learner.logits(outside)[:, :3] - other).max() > 1e-6
