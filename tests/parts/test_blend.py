"""A held ridge beside another head, and a head whose old columns are frozen."""

import numpy as np
import pytest
from reference.streams import PROBE, STREAM, fit

from sparcl.base.errors import InputError
from sparcl.methods import build


def test_scores_are_the_sum_of_both_heads_at_one_scale() -> None:
    """And the ridge stays held beside the other head."""
    learner, held, scatter = (
        fit(build("compose", **parts), STREAM)
        for parts in (
            {"ridge": 0.3, "core": {"beside-scatter": {"tau": 0.6, "value": 2.0}}},
            {"ridge": 0.3, "core": {"spectral": {"tau": 0.6}}},
            {"ridge": 2.0, "head": "ridged-scatter"},
        )
    )
    Phi = np.concatenate([block[0] for block in STREAM])
    expected = 0.0
    for one in (held, scatter):
        z = one.logits(Phi)
        apart = z[:, :, None] - z[:, None]
        c = z.shape[1]
        expected = expected + 0.5 * z / np.sqrt((apart**2).sum() / (len(z) * c * (c - 1)))
    assert learner.logits(Phi) == pytest.approx(expected, abs=1e-9)
    assert learner.core.held[0] == pytest.approx(held.weights, abs=1e-10)
    assert learner.report()["k"] == held.report()["k"] > 0
    with pytest.raises(InputError, match="ridge"):
        build("compose", head="ridged-scatter", core={"beside-scatter": {"tau": 0.6}})


@pytest.mark.parametrize("head", ["ridge", "ridged-scatter"])
def test_frozen_columns_are_those_of_their_first_session(head: str) -> None:
    learner, free = (build("compose", head=head, ridge=1.0, core=c) for c in ("frozen", "none"))
    before = np.zeros((len(PROBE), 0))
    for session in STREAM:
        learner.fit_session(*session)
        free.fit_session(*session)
        scores, old = learner.logits(PROBE), before.shape[1]
        assert scores[:, :old] == pytest.approx(before, abs=1e-12)
        assert scores[:, old:] == pytest.approx(free.logits(PROBE)[:, old:], abs=1e-12)
        before = scores
    assert np.abs(before - free.logits(PROBE)).max() > 1e-3
