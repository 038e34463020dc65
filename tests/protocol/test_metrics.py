"""Metrics against matrices small enough to check by hand, and against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import metrics as naive

from sparcl.base.errors import InputError
from study.loop import metrics

# Two classes in session 1 (10 and 30 test samples), one in session 2 (20), one in session 3 (40).
COUNTS = np.array([10, 30, 20, 40])
CORRECT = np.array([[10, 15, 0, 0], [5, 30, 10, 0], [5, 15, 20, 40]])
SESSION_OF_CLASS = np.array([0, 0, 1, 2])


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        # samples: 25/40, 45/60, 80/100
        ("samples", [62.5, 75.0, 80.0]),
        # sessions: 25/40; mean(35/40, 10/20); mean(20/40, 1, 1)
        ("sessions", [62.5, (87.5 + 50.0) / 2, (50.0 + 100.0 + 100.0) / 3]),
        # classes: mean(1, .5); mean(.5, 1, .5); mean(.5, .5, 1, 1)
        ("classes", [75.0, 200.0 / 3, 75.0]),
    ],
)
def test_session_accuracy_by_hand(by: str, expected: list[float]) -> None:
    got = metrics.session_accuracy(CORRECT, COUNTS, SESSION_OF_CLASS, by=by)
    assert got == pytest.approx(expected, abs=1e-12)


def test_session_accuracy_is_by_samples_unless_asked() -> None:
    default = metrics.session_accuracy(CORRECT, COUNTS, SESSION_OF_CLASS)
    assert default == pytest.approx([62.5, 75.0, 80.0], abs=1e-12)


def test_forgetting_by_hand() -> None:
    # Session 1 scores 62.5, 87.5, 50; session 2 scores 50, 100. After session 2 session 1 is at its
    # best (0). After session 3 session 1 lost 37.5 and session 2 nothing.
    curve = metrics.forgetting(CORRECT, COUNTS, SESSION_OF_CLASS)
    assert curve.shape == (3,)
    assert curve[1:] == pytest.approx([0.0, 18.75], abs=1e-12)


def test_forgetting_is_never_negative_when_accuracy_only_rises() -> None:
    rising = np.array([[1, 2, 0, 0], [4, 20, 3, 0], [10, 30, 20, 40]])
    curve = metrics.forgetting(rising, COUNTS, SESSION_OF_CLASS)
    assert curve[1:] == pytest.approx([0.0, 0.0], abs=0)


def test_one_session_has_nothing_to_forget() -> None:
    one = metrics.forgetting(np.array([[3, 4]]), np.array([5, 5]), np.array([0, 0]))
    assert one.shape == (1,)
    assert np.isnan(one[0])


@st.composite
def runs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts of a run: correct (T, K), counts (K,), session of class from 0."""
    T = draw(st.integers(1, 5))
    sizes = draw(st.lists(st.integers(1, 3), min_size=T, max_size=T))
    session_of_class = np.repeat(np.arange(T), sizes)
    K = len(session_of_class)
    counts = np.array(draw(st.lists(st.integers(1, 40), min_size=K, max_size=K)))
    seen = list(zip(counts, session_of_class, strict=True))
    correct = np.array(
        [[draw(st.integers(0, int(n))) if s <= t else 0 for n, s in seen] for t in range(T)]
    )
    return correct, counts, session_of_class


@given(run=runs(), by=st.sampled_from(["samples", "sessions", "classes"]))
def test_metrics_equal_the_loops(run: tuple[np.ndarray, np.ndarray, np.ndarray], by: str) -> None:
    correct, counts, session_of_class = run
    expected = naive.session_accuracy(correct, counts, session_of_class, by)
    got = metrics.session_accuracy(correct, counts, session_of_class, by=by)
    assert got == pytest.approx(expected, abs=1e-9)
    curve = metrics.forgetting(correct, counts, session_of_class)
    assert curve[1:] == pytest.approx(naive.forgetting(correct, counts, session_of_class), abs=1e-9)


@given(run=runs())
def test_the_three_averages_agree_on_balanced_sessions(
    run: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    correct, _, _ = run
    T = len(correct)
    counts = np.full(T, 40)  # one class a session, equal test counts
    balanced = np.minimum(np.tril(np.resize(correct, (T, T))), 40)
    sessions = np.arange(T)
    samples, classes, by_session = (
        metrics.session_accuracy(balanced, counts, sessions, by=by)
        for by in ("samples", "classes", "sessions")
    )
    assert samples == pytest.approx(classes, abs=1e-9)
    assert samples == pytest.approx(by_session, abs=1e-9)


def test_unknown_average_names_the_allowed_ones() -> None:
    with pytest.raises(InputError, match=r"(?s)(?=.*samples)(?=.*sessions)(?=.*classes)"):
        metrics.session_accuracy(CORRECT, COUNTS, SESSION_OF_CLASS, by="tasks")


def test_drift_by_hand() -> None:
    previous = np.array([[0.0, 1.0], [2.0, 3.0]])  # mean 1.5, standard deviation sqrt(1.25)
    current = np.array([[1.0, 1.0], [2.0, -1.0]])  # |1| + 0 + 0 + |-4| over four entries
    drift, scaled = metrics.logit_drift(previous, current)
    assert drift == pytest.approx(1.25, abs=1e-15)
    assert scaled == pytest.approx(1.25 / np.sqrt(1.25), abs=1e-15)


@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e3))
def test_scaled_drift_ignores_the_scale_of_the_logits(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    previous, current = rng.standard_normal((2, 7, 3))
    drift, scaled = metrics.logit_drift(previous, current)
    assert (drift, scaled) == pytest.approx(naive.drift(previous, current), rel=1e-9)
    drift_big, scaled_big = metrics.logit_drift(scale * previous, scale * current)
    assert drift_big == pytest.approx(scale * drift, rel=1e-9)
    assert scaled_big == pytest.approx(scaled, rel=1e-9)


def test_no_change_is_no_drift() -> None:
    z = np.array([[0.3, -0.2], [0.1, 0.7]])
    assert metrics.logit_drift(z, z.copy()) == (0.0, 0.0)
