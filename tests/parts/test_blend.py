"""A held ridge beside another head, and a head whose old columns are frozen."""

import numpy as np
import pytest
from reference.streams import synthetic_stream

from sparcl.base.errors import InputError
from sparcl.methods import build

TAU, RIDGE = 0.6, 0.3
STREAM = synthetic_stream(seed=5, sessions=3, classes=3, samples=20)


def fitted(**hyper):
    learner = build("compose", **hyper)
    for Phi, y in STREAM:
        learner.fit_session(Phi, y)
    return learner


def test_scores_are_the_sum_of_both_heads_at_one_scale() -> None:
    learner = fitted(ridge=RIDGE, core={"beside-scatter": {"tau": TAU, "value": 2.0}})
    held = fitted(ridge=RIDGE, core={"spectral": {"tau": TAU}})
    scatter = fitted(head="ridged-scatter", ridge=2.0)
    Phi = np.concatenate([block[0] for block in STREAM])
    expected = 0.0
    for one in (held, scatter):
        z = one.logits(Phi)
        apart = z[:, :, None] - z[:, None]
        c = z.shape[1]
        expected = expected + 0.5 * z / np.sqrt((apart**2).sum() / (len(z) * c * (c - 1)))
    assert learner.logits(Phi) == pytest.approx(expected, abs=1e-9)


def test_the_ridge_stays_held_beside_the_other_head() -> None:
    learner = fitted(ridge=RIDGE, core={"beside-scatter": {"tau": TAU}})
    held = fitted(ridge=RIDGE, core={"spectral": {"tau": TAU}})
    assert learner.core.held[0] == pytest.approx(held.weights, abs=1e-10)
    state = learner.state()
    again = type(learner).from_state(state)
    Phi, y = synthetic_stream(seed=6, sessions=1, classes=3, samples=20)[0]
    for one in (learner, again):
        one.fit_session(Phi, y)
    assert np.array_equal(learner.weights, again.weights)
    assert learner.report()["k"] > 0
    with pytest.raises(InputError, match="ridge"):
        build("compose", head="ridged-scatter", core={"beside-scatter": {"tau": TAU}})


@pytest.mark.parametrize("head", ["ridge", "ridged-scatter"])
def test_frozen_columns_are_those_of_their_first_session(head: str) -> None:
    learner, free = (build("compose", head=head, ridge=1.0, core=c) for c in ("frozen", "none"))
    kept = None
    for Phi, y in STREAM:
        learner.fit_session(Phi, y)
        free.fit_session(Phi, y)
        if kept is not None:
            W, b = kept
            assert np.array_equal(learner.weights[:, : W.shape[1]], W)
            assert np.array_equal(learner.weights[:, W.shape[1] :], free.weights[:, W.shape[1] :])
            if b is not None:
                assert np.array_equal(learner.solutions.biases[0][: len(b)], b)
        kept = (
            learner.weights.copy(),
            learner.solutions.biases[0].copy() if learner.solutions.biases else None,
        )
    again = type(learner).from_state(learner.state())
    assert np.array_equal(again.weights, learner.weights)
