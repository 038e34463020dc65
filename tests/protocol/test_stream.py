"""Class orders, their split into sessions, and the pseudo-stream of a base session."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparcl.base.errors import InputError
from sparcl.protocol import stream
from study.selection import pseudo_stream


def test_order_1993_is_the_one_in_the_public_logs() -> None:
    # First and last classes as PILOT-style logs print them for K = 100, 200 and 300.
    hundred = stream.class_order(1993, 100).tolist()
    assert hundred[:10] == [68, 56, 78, 8, 23, 84, 90, 65, 74, 76]
    assert hundred[-4:] == [29, 49, 57, 33]
    assert stream.class_order(1993, 200).tolist()[-3:] == [177, 185, 161]
    assert stream.class_order(1993, 300).tolist()[:5] == [169, 221, 146, 296, 92]


def test_order_leaves_the_global_random_state_alone() -> None:
    np.random.seed(7)
    expected = np.random.rand()
    np.random.seed(7)
    stream.class_order(1993, 100)
    assert np.random.rand() == expected


@given(
    classes=st.integers(2, 130),
    sessions=st.integers(-1, 20),
    base=st.integers(-2, 130),
    order=st.integers(0, 5000),
)
def test_every_class_comes_once_and_in_order(
    classes: int, sessions: int, base: int, order: int
) -> None:
    whole = stream.class_order(order, classes)
    rest = sessions - (base != 0)  # sessions that share what the base leaves
    left = classes - base
    possible = base >= 0 < sessions and rest <= left and (rest > 0) == (left > 0)
    if not possible:
        with pytest.raises(InputError, match=rf"\b{classes}\b.*\b{abs(sessions)}\b"):
            stream.split_sessions(whole, sessions, base_classes=base)
        return
    parts = stream.split_sessions(whole, sessions, base_classes=base)
    assert len(parts) == sessions
    assert np.array_equal(np.concatenate(parts), whole)
    sizes = [len(part) for part in parts]
    assert not base or sizes.pop(0) == base
    assert sizes == sorted(sizes, reverse=True) and min(sizes, default=1) >= 1
    assert not sizes or sizes[0] - sizes[-1] <= 1


def test_pseudo_stream_splits_each_class_80_to_20() -> None:
    y = np.repeat(np.arange(10), 15)
    base = np.array([7, 2, 9, 0, 4])
    parts, fit_rows, score_rows = pseudo_stream(y, base, 3, 0.8, seed=1)
    assert [len(part) for part in parts] == [2, 2, 1]
    assert np.array_equal(np.concatenate(parts), base)
    assert not set(fit_rows.tolist()) & set(score_rows.tolist())
    assert set(fit_rows.tolist()) | set(score_rows.tolist()) == set(
        np.flatnonzero(np.isin(y, base)).tolist()
    )
    for label in base:
        assert np.sum(y[fit_rows] == label) == 12
        assert np.sum(y[score_rows] == label) == 3
    assert not np.array_equal(
        fit_rows, pseudo_stream(y, base, 3, 0.8, seed=2)[1]
    )  # the seed matters
