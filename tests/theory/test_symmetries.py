"""What means nothing changes nothing: names of classes, the order of a session's rows, the scale of features.

Features times a and a ridge times a^2 leave every logit as it was: W becomes W / a, the core stays.  True where
features are not normed again: not of the maps of the unit-normed residual, whose outputs do not scale with f.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from methods.test_learners import KINDS, SMALL, SOFTMAX
from reference.streams import fit, scores_of, synthetic_stream

from sparcl.methods import build

SWITCHES = {
    "acil": ("acil", {}),
    "sparcl": ("sparcl", {"tau": 0.6}),
    "recursive": ("sparcl", {"tau": 0.6, "refresh": 0, "update": "woodbury"}),
    "printed": ("sparcl-alg1", {"tau": 0.6}),
    "linear": ("sparcl-alg1", {"tau": 0.6, "m": 2}),
    "condition": ("sparcl", {"tau": 0.6, "condition_limit": 30.0}),
    "trust region": ("sparcl", {"tau": 0.6, "trust_degrees": 30.0}),
    "projection": ("sparcl", {"tau": 0.6, "project": True}),
    "residual only": ("sparcl", {"tau": 0.6, "new_classes": "residual"}),
}
NORMED = {
    "map": ("sparcl-plus-1", {"tau": 0.6, "width": 20}),
    "top-k map": ("sparcl-plus-1", {"tau": 0.6, "width": 20, "expansion": "topk"}),
}
HOMOGENEOUS = {name: (name, {"width": 40}) for name in ("acil-rhl", "gacl", "air", "ranpac")}
BY_PLACE = {
    "ranpac",
    "c-ranpac",
    "gkeal",
    "fenec",
    "layup",
    "ridge-lda",
    *SOFTMAX,
}  # rows held out, centres, batches
BY_COLUMN = {
    "anacp",
    "c-ranpac",
    "ridge-lda",
    *SOFTMAX,
}  # what is drawn for columns, in the order of labels


@settings(max_examples=6)
@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("case", dict.fromkeys([*SWITCHES, *NORMED, *KINDS]))
def test_names_of_classes_and_the_order_of_rows(case: str, seed: int) -> None:
    if case in SWITCHES | NORMED:
        name, hyper = (SWITCHES | NORMED)[case]
        learners = [build(name, ridge=0.3, **hyper) for _ in range(2)]
        sessions = synthetic_stream(seed, sessions=4, classes=3, samples=5, dimension=12)
    else:
        name, learners = case, [build(case, **SMALL[case]) for _ in range(2)]
        sessions = synthetic_stream(sessions=3, classes=2, samples=6, dimension=10)
    rng = np.random.default_rng(seed)
    names = rng.choice(10**6, size=12, replace=False) - 5 * 10**5  # negative ones too
    if name in BY_COLUMN:
        names.sort()
    renamed = []
    for Phi, y in sessions:
        rows = np.arange(len(y)) if name in BY_PLACE else rng.permutation(len(y))
        renamed.append((Phi[rows], names[y[rows]]))
    probe = rng.standard_normal((6, sessions[0][0].shape[1]))
    one, two = map(fit, learners, (sessions, renamed))
    scores = scores_of(two, names[one.classes], probe)
    assert scores == pytest.approx(one.logits(probe), abs=1e-7)
    # a projection leaves nothing of late classes: their scores are ties but for rounding
    clear = np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0] > 1e-6
    assert np.array_equal(names[one.predict(probe)][clear], two.predict(probe)[clear])


@settings(max_examples=6)
@given(seed=st.integers(0, 10**6), a=st.floats(0.02, 50.0))
@pytest.mark.parametrize("case", [*SWITCHES, *HOMOGENEOUS])
def test_scale(case: str, seed: int, a: float) -> None:
    sessions = synthetic_stream(seed, sessions=4, classes=2, samples=6, dimension=12)
    scaled = [(a * Phi, y) for Phi, y in sessions]
    probe = np.random.default_rng(seed).standard_normal((6, 12))
    name, hyper = (SWITCHES | HOMOGENEOUS)[case]
    one = fit(build(name, ridge=0.3, **hyper), sessions)
    two = fit(build(name, ridge=0.3 * a**2, **hyper), scaled)
    assert two.logits(a * probe) == pytest.approx(one.logits(probe), abs=1e-7)
    if case in SWITCHES:
        P, Q = (learner.core.U_core @ learner.core.U_core.T for learner in (one, two))
        assert pytest.approx(P, abs=1e-7) == Q


def test_no_scale_of_a_normed_map() -> None:
    sessions = synthetic_stream(sessions=3)
    probe = np.random.default_rng(0).standard_normal((6, 16))
    one = fit(build("sparcl-plus-1", ridge=0.3, width=30), sessions)
    two = fit(build("sparcl-plus-1", ridge=2.7, width=30), [(3 * Phi, y) for Phi, y in sessions])
    assert np.abs(two.logits(3 * probe) - one.logits(probe)).max() > 1e-3
