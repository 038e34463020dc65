"""Labels are moved apart as little as possible."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from figures.style import spread


def test_labels_that_fit_stay():
    np.testing.assert_allclose(spread([30, 10, 20], 5, 0, 100), [30, 10, 20])


def test_a_pair_moves_by_equal_amounts():
    np.testing.assert_allclose(spread([10, 11], 5, 0, 100), [8, 13])


def test_three_in_one_place_keep_their_order_and_middle():
    np.testing.assert_allclose(spread([50, 50, 50], 4, 0, 100), [46, 50, 54])


def test_bounds_hold():
    np.testing.assert_allclose(spread([0, 1, 100, 99], 5, 0, 100), [0, 5, 100, 95])


def test_too_many_labels_start_at_the_lower_bound():
    np.testing.assert_allclose(spread([1, 2, 3], 10, 0, 15), [0, 10, 20])


@given(st.lists(st.floats(0, 60), min_size=1, max_size=6), st.floats(1, 9))
def test_least_squares(positions, gap):
    """No feasible arrangement in the same order is closer; a general solver finds none."""
    placed = spread(positions, gap, 0, 60)
    order = np.argsort(positions, kind="stable")
    ordered = np.sort(positions)
    assert (np.diff(placed[order]) >= gap - 1e-9).all()
    assert placed.min() >= -1e-9 and placed.max() <= 60 + 1e-9
    constraints = [
        {"type": "ineq", "fun": lambda y, i=i: y[i + 1] - y[i] - gap}
        for i in range(len(ordered) - 1)
    ]
    start = np.linspace(0, 60, len(ordered))
    solved = minimize(
        lambda y: ((y - ordered) ** 2).sum(),
        start,
        jac=lambda y: 2 * (y - ordered),
        bounds=[(0, 60)] * len(ordered),
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 500},
    )
    assert solved.success, solved.message
    assert ((placed[order] - ordered) ** 2).sum() <= solved.fun + 1e-5
