"""A session that takes long says so before it starts, once."""

import logging

import numpy as np
import pytest

from sparcl.learners import learner as protocol
from sparcl.methods import build


def test_official_width_is_long_and_the_toy_is_not() -> None:
    """100 classes of 768 features, 50 rows each, as operations of dense products."""
    wide, narrow = build("ranpac", width=10_000), build("acil", ridge=1.0)
    assert wide.flops(5_000, 768, 100) > protocol.LONG * protocol.SPEED
    assert narrow.flops(5_000, 768, 100) < protocol.LONG * protocol.SPEED


@pytest.mark.parametrize(
    ("name", "hyper", "stated"),
    [
        ("acil", {"ridge": 1.0}, 40 * 6**2 + 6**3 / 3 + 2 * 6**2 * 3),
        ("acil-rhl", {"ridge": 1.0, "width": 9}, 2 * 40 * 6 * 9 + 40 * 81 + 243 + 2 * 81 * 3),
        ("dsal", {"width": 9}, 2 * (40 * 81 + 243 + 2 * 81 * 3) + 4 * 40 * 6 * 9),
    ],
)
def test_operations_are_those_that_docstrings_state(name: str, hyper: dict, stated: float) -> None:
    assert build(name, **hyper).flops(40, 6, 3) == pytest.approx(stated)


def test_a_long_session_is_announced_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rng = np.random.default_rng(0)
    sessions = [(rng.standard_normal((40, 6)), np.arange(40) % 2 + 2 * t) for t in range(2)]
    with caplog.at_level(logging.WARNING):
        build("acil", ridge=1.0).fit_session(*sessions[0])
        assert not caplog.records
        monkeypatch.setattr(protocol, "SPEED", 1.0)
        long, parts = (build("acil", ridge=1.0) for _ in range(2))
        for Phi, y in sessions:
            long.fit_session(Phi, y)
        (said,) = [record.getMessage() for record in caplog.records]
        assert "40 rows" in said and "about 1656 s" in said
        assert np.array_equal(long.state()["classes"], np.arange(4))
        parts.accumulate(*sessions[0])
        assert len(caplog.records) == 1  # before it is solved, nothing
        parts.solve()
    assert "in parts takes about 216 s" in caplog.records[1].getMessage()
