"""Rows that are equal to the bit, against a comparison of all with all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparcl.features import equal


def by_hand(features: np.ndarray) -> list[bytes]:
    return [row.tobytes() for row in features]


@given(
    n=st.integers(0, 30),
    m=st.integers(0, 30),
    d=st.integers(1, 9),
    values=st.integers(1, 3),
    dtype=st.sampled_from([np.float16, np.float32]),
    seed=st.integers(0, 99),
)
def test_every_pair_is_found(n: int, m: int, d: int, values: int, dtype: type, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = (rng.integers(0, values, (rows, d)).astype(dtype) for rows in (n, m))
    one[::3] *= -1  # 0.0 and -0.0 are other bits
    hand, given_rows = by_hand(one), by_hand(other)
    assert equal.repeated(one) == len(hand) - len(set(hand))
    last = {row: position for position, row in enumerate(hand)}
    expected = [(k, last[row]) for k, row in enumerate(given_rows) if row in last]
    assert equal.shared(one, other) == expected


def test_rows_that_are_not_contiguous() -> None:
    features = np.random.default_rng(0).integers(0, 2, (40, 12)).astype(np.float16)[:, ::3]
    again = np.ascontiguousarray(features)
    assert equal.repeated(features) == equal.repeated(again) > 20
    assert equal.shared(features, features) == equal.shared(again, again)
    assert len(equal.shared(features, features)) == 40


def test_marks_that_meet_decide_nothing() -> None:
    """The words of a row and of its reverse have one sum."""
    features = np.array([[1, 2], [2, 1], [1, 2]], dtype=np.float64)
    assert equal.repeated(features) == 1
    assert equal.shared(features, features[1:]) == [(0, 1), (1, 2)]


def test_different_rows_are_hardly_ever_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = []
    monkeypatch.setattr(equal, "row_hashes", lambda rows: hashed.append(len(rows)) or [])
    features = np.random.default_rng(0).standard_normal((2000, 8)).astype(np.float16)
    features[:, 0] = np.arange(2000)  # which float16 holds
    assert equal.repeated(features) == 0 and hashed == [0]
