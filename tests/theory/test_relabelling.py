"""Class names mean nothing: renamed labels rename the predictions and leave every score."""

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
    "residual only": ("sparcl", {"tau": 0.6, "new_classes": "residual"}),
    "projection": ("sparcl", {"tau": 0.6, "project": True}),
}


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("case", CASES)
def test_renamed_classes(case: str, seed: int) -> None:
    sessions = synthetic_stream(seed, sessions=4, classes=3, samples=5, dimension=12)
    rng = np.random.default_rng(seed)
    names = rng.choice(10**6, size=12, replace=False) - 5 * 10**5  # negative ones too
    probe = rng.standard_normal((6, 12))
    name, hyper = CASES[case]
    one = fit(build(name, ridge=0.3, **hyper), sessions)
    two = fit(build(name, ridge=0.3, **hyper), [(Phi, names[y]) for Phi, y in sessions])
    columns = [list(two.classes).index(names[label]) for label in one.classes]
    assert two.logits(probe)[:, columns] == pytest.approx(one.logits(probe), abs=1e-8)
    assert np.array_equal(names[one.predict(probe)], two.predict(probe))
