"""Ridges as shares of the mean squared norm of a mapped row: one list for every map, scale and size."""

import numpy as np
import pytest

from sparcl import methods
from sparcl.learners.composed import Composed
from sparcl.parts.heads import RidgedScatter
from sparcl.parts.rules import Given

SETTINGS = {
    "acil": {"ridge": 0.1},
    "acil-rhl": {"ridge": 0.1, "width": 40},
    "gacl": {"ridge": 0.1, "width": 40},
    "air": {"ridge": "newest", "width": 40},
    "gkeal": {"ridge": "newest", "width": 20},
    "ranpac": {"ridge": "newest", "width": 40},
    "flycl": {"ridge": "gcv", "width": 40, "nonzeros": 4},
    "sparcl": {"ridge": "gaussian", "tau": 0.5, "refresh": 1},
    "sparcl-alg1": {"ridge": 0.1, "tau": 0.5},
    "linear-relu": {"ridge": "all", "width": 40},
}


def stream(scale=1.0):
    rng = np.random.default_rng(3)
    y = np.repeat(np.arange(6), 10)
    Phi = scale * (rng.standard_normal((60, 8)) + 2 * rng.standard_normal((6, 8))[y])
    return [(Phi[y // 2 == t], y[y // 2 == t]) for t in range(3)], Phi


def fitted(method, scale=1.0, **hyper):
    learner = methods.build(method, **hyper)
    sessions, Phi = stream(scale)
    for rows, labels in sessions:
        learner.fit_session(rows, labels)
    return learner, learner.logits(Phi)


@pytest.mark.parametrize("method", sorted(set(SETTINGS) - {"linear-relu"}))
def test_the_scale_of_features_changes_nothing(method):
    small, large = (fitted(method, s, relative=True, **SETTINGS[method])[1] for s in (1.0, 1e3))
    assert np.allclose(small, large, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("method", sorted(SETTINGS))
def test_a_share_is_that_much_of_the_first_sessions_mean_square(method):
    hyper = SETTINGS[method] | {"ridge": 0.3}
    learner, scores = fitted(method, relative=True, **hyper)
    rows = stream()[0][0][0]
    unit = np.mean(np.sum(learner.expand(rows) ** 2, axis=1))
    share = 0.1 if method == "gacl" else 0.3  # three passes
    assert learner.report()["ridge"] == pytest.approx(share * unit, rel=1e-12)
    absolute = fitted(method, **hyper | {"ridge": 0.3 * unit})[1]
    assert np.allclose(scores, absolute, rtol=1e-9, atol=1e-12)


def test_both_streams_of_dsal_have_a_unit_of_their_own():
    learner, scores = fitted("dsal", relative=True, ridge=0.3, width=40)
    z = stream()[0][0][0] @ learner.map.weights
    units = [np.mean(np.sum(part**2, axis=1)) for part in (np.maximum(z, 0), np.tanh(z))]
    assert learner.units == pytest.approx(units, rel=1e-12)
    absolute = fitted("dsal", ridge=0.3 * units[0], ridge_compensation=0.3 * units[1], width=40)[1]
    assert np.allclose(scores, absolute, rtol=1e-9, atol=1e-12)


def test_parts_of_a_session_and_a_saved_learner_keep_the_unit():
    sessions, Phi = stream()
    whole, parts = (methods.build("acil", ridge=0.3, relative=True) for _ in range(2))
    for rows, labels in sessions:
        whole.fit_session(rows, labels)
        parts.accumulate(rows[::2], labels[::2])
        parts.accumulate(rows[1::2], labels[1::2])
        parts.solve()
        parts = Composed.from_state(parts.state())
    assert np.allclose(whole.logits(Phi), parts.logits(Phi), rtol=1e-10, atol=1e-12)


def test_a_discriminants_value_has_no_scale():
    learner = Composed(head=RidgedScatter(), rule=Given((0.5,), relative=True))
    for rows, labels in stream()[0]:
        learner.fit_session(rows, labels)
    assert learner.rule.absolute == (0.5,)


def test_gkeals_kappa_is_in_median_distances():
    one, two = (fitted("gkeal", width=20, kappa=kappa)[0].map for kappa in (1.0, 2.0))
    assert two.bandwidth == pytest.approx(2 * one.bandwidth)
