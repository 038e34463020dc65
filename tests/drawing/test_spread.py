"""Labels are moved apart as little as possible."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from figures.style import spread


def test_labels_move_apart_and_stay_in_bounds():
    for positions, gap, high, expected in (
        ([30, 10, 20], 5, 100, [30, 10, 20]),  # they fit
        ([10, 11], 5, 100, [8, 13]),  # equal amounts
        ([50, 50, 50], 4, 100, [46, 50, 54]),  # in order, about their middle
        ([0, 1, 100, 99], 5, 100, [0, 5, 100, 95]),
        ([1, 2, 3], 10, 15, [0, 10, 20]),  # too many start at the lower bound
    ):
        np.testing.assert_allclose(spread(positions, gap, 0, high), expected)


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
