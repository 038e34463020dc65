"""Scale equivariance: features times a and ridge times a^2 leave every logit as it was.

W becomes W / a, the core stays.  True where features are not normed again: not of the maps of the
unit-normed residual, whose outputs do not scale with f.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.streams import fit, synthetic_stream

from sparcl.methods import build

CASES = {
    "acil": ("acil", {}),
    "sparcl": ("sparcl", {"tau": 0.6}),
    "recursive": ("sparcl", {"tau": 0.6, "refresh": 0, "update": "woodbury"}),
    "printed": ("sparcl-alg1", {"tau": 0.6}),
    "linear": ("sparcl-alg1", {"tau": 0.6, "m": 2}),
    "condition": ("sparcl", {"tau": 0.6, "condition_limit": 30.0}),
    "trust region": ("sparcl", {"tau": 0.6, "trust_degrees": 30.0}),
    "projection": ("sparcl", {"tau": 0.6, "project": True}),
}


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), a=st.floats(0.02, 50.0))
@pytest.mark.parametrize("case", CASES)
def test_logits(case: str, seed: int, a: float) -> None:
    sessions = synthetic_stream(seed, sessions=4, classes=2, samples=6, dimension=12)
    scaled = [(a * Phi, y) for Phi, y in sessions]
    probe = np.random.default_rng(seed).standard_normal((6, 12))
    name, hyper = CASES[case]
    one = fit(build(name, ridge=0.3, **hyper), sessions)
    two = fit(build(name, ridge=0.3 * a**2, **hyper), scaled)
    assert two.logits(a * probe) == pytest.approx(one.logits(probe), abs=1e-7)
    assert a * two.weights == pytest.approx(one.weights, abs=1e-7)
    assert two.core.U_core @ two.core.U_core.T == pytest.approx(
        one.core.U_core @ one.core.U_core.T, abs=1e-7
    )


def test_not_with_a_normed_map() -> None:
    sessions = synthetic_stream(sessions=3)
    probe = np.random.default_rng(0).standard_normal((6, 16))
    one = fit(build("sparcl-plus-1", ridge=0.3, width=30), sessions)
    two = fit(build("sparcl-plus-1", ridge=2.7, width=30), [(3 * Phi, y) for Phi, y in sessions])
    assert np.abs(two.logits(3 * probe) - one.logits(probe)).max() > 1e-3
