"""Class orders and their split into sessions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparcl.base.errors import InputError
from sparcl.protocol import stream


@pytest.mark.parametrize("order", [1993, 1994, 1995, 0])
@pytest.mark.parametrize("classes", [10, 50, 81, 100])
def test_order_is_numpys_legacy_permutation(order: int, classes: int) -> None:
    expected = np.random.RandomState(order).permutation(classes)
    assert np.array_equal(stream.class_order(order, classes), expected)


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


def test_81_classes_in_10_sessions() -> None:
    sessions = stream.split_sessions(stream.class_order(1993, 81), 10)
    assert [len(s) for s in sessions] == [9, 8, 8, 8, 8, 8, 8, 8, 8, 8]


def test_base_session_takes_its_classes_first() -> None:
    order = stream.class_order(1994, 50)
    sessions = stream.split_sessions(order, 6, base_classes=25)
    assert [len(s) for s in sessions] == [25, 5, 5, 5, 5, 5]
    assert np.array_equal(sessions[0], order[:25])


def test_uneven_rest_after_the_base() -> None:
    sessions = stream.split_sessions(np.arange(20), 4, base_classes=9)
    assert [len(s) for s in sessions] == [9, 4, 4, 3]


@given(
    classes=st.integers(2, 130),
    sessions=st.integers(1, 20),
    base=st.integers(0, 130),
    order=st.integers(0, 5000),
)
def test_every_class_comes_once_and_in_order(
    classes: int, sessions: int, base: int, order: int
) -> None:
    whole = stream.class_order(order, classes)
    possible = sessions <= classes if base == 0 else 0 <= sessions - 1 <= classes - base
    # One session that starts with a base must hold every class, else classes would be lost.
    if base and sessions == 1:
        possible = base == classes
    if not possible:
        with pytest.raises(InputError):
            stream.split_sessions(whole, sessions, base_classes=base)
        return
    if base and sessions > 1 and base == classes:
        with pytest.raises(InputError):  # nothing is left for the later sessions
            stream.split_sessions(whole, sessions, base_classes=base)
        return
    parts = stream.split_sessions(whole, sessions, base_classes=base)
    assert len(parts) == sessions
    assert min(len(part) for part in parts) >= 1
    assert np.array_equal(np.concatenate(parts), whole)
    rest = [len(part) for part in parts[1:]] if base else [len(part) for part in parts]
    assert not rest or max(rest) - min(rest) <= 1
    assert rest == sorted(rest, reverse=True)


def test_fewer_classes_than_sessions_says_both_numbers() -> None:
    with pytest.raises(InputError, match=r"(?s)(?=.*\b5\b)(?=.*\b7\b)"):
        stream.split_sessions(np.arange(5), 7)


@pytest.mark.parametrize("sessions", [0, -1])
def test_sessions_below_one(sessions: int) -> None:
    with pytest.raises(InputError):
        stream.split_sessions(np.arange(5), sessions)


@pytest.mark.parametrize("base", [-1, 6])
def test_base_outside_the_classes(base: int) -> None:
    with pytest.raises(InputError):
        stream.split_sessions(np.arange(5), 2, base_classes=base)
