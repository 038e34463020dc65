"""Metrics against plain loops over integer counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import metrics as naive

from study.loop import metrics

# Two classes in session 1 (10 and 30 test samples), one in session 2 (20), one in session 3 (40).
COUNTS = np.array([10, 30, 20, 40])
CORRECT = np.array([[10, 15, 0, 0], [5, 30, 10, 0], [5, 15, 20, 40]])
SESSION_OF_CLASS = np.array([0, 0, 1, 2])


def test_a_run_by_hand() -> None:
    """Samples: 25/40, 45/60, 80/100.  Session 1 scores 62.5, 87.5, 50 and session 2 scores 50, 100.

    So session 1 is at its best after session 2, and after session 3 it lost 37.5 and session 2 nothing.
    """
    accuracy = metrics.session_accuracy(CORRECT, COUNTS, SESSION_OF_CLASS)
    assert accuracy == pytest.approx([62.5, 75.0, 80.0], abs=1e-12)
    curve = metrics.forgetting(CORRECT, COUNTS, SESSION_OF_CLASS)
    assert np.isnan(curve[0]) and curve[1:] == pytest.approx([0.0, 18.75], abs=1e-12)


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


@given(run=runs())
def test_metrics_equal_the_loops(run: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    for by in ("samples", "sessions", "classes"):
        expected = naive.session_accuracy(*run, by)
        assert metrics.session_accuracy(*run, by=by) == pytest.approx(expected, abs=1e-9)
    curve = metrics.forgetting(*run)
    assert curve.shape == (len(run[0]),) and np.isnan(curve[0])
    assert curve[1:] == pytest.approx(naive.forgetting(*run), abs=1e-9)


@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e3))
def test_drift_is_that_of_the_formula(seed: int, scale: float) -> None:
    previous, current = scale * np.random.default_rng(seed).standard_normal((2, 7, 3))
    found = metrics.logit_drift(previous, current)
    assert found == pytest.approx(naive.drift(previous, current), rel=1e-9)
    assert metrics.logit_drift(previous, previous.copy()) == (0.0, 0.0)
