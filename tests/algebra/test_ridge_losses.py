"""Losses from which a ridge is chosen on one session, against the hat matrix and explicit solves."""

import numpy as np
import pytest
from reference import buffers, peers

from sparcl.algebra.ridge import gcv, holdout


@pytest.mark.parametrize("n", [1, 2, 30, 40, 70])  # fewer rows than the 40 columns, as many, more
def test_gcv_scores_are_those_of_the_hat_matrix(n: int) -> None:
    rng = np.random.default_rng(n)
    H, Y = rng.standard_normal((n, 40)), np.eye(3)[rng.integers(3, size=n)]
    grid = 10.0 ** np.arange(-3, 5)
    assert gcv(H, Y, grid) == pytest.approx(buffers.gcv_scores(H, Y, list(grid)), rel=1e-8)
    given = H.astype(np.float32), Y.astype(np.float32)
    assert gcv(*given, grid[3:]) == pytest.approx(
        buffers.gcv_scores(H, Y, list(grid[3:])), rel=1e-3
    )


def test_copies_of_rows_make_no_loss_infinite() -> None:
    """Copies make the dual singular: eigenvalues take over where Cholesky stops."""
    rng = np.random.default_rng(0)
    H = np.repeat(rng.standard_normal((5, 30)), 4, axis=0)
    Y = np.repeat(np.eye(5), 4, axis=0)
    grid = np.array([1e-20, 1e-3, 1.0])
    H_val = H + 0.1 * rng.standard_normal(H.shape)
    errors = holdout(H, Y, H_val, Y, grid)
    expected = [np.mean((H_val @ peers.primal_ridge(H, Y, r) - Y) ** 2) for r in grid[1:]]
    assert np.isfinite(errors[0])
    assert errors[1:] == pytest.approx(expected, rel=1e-6)
    assert gcv(H, Y, grid) == pytest.approx(buffers.gcv_scores(H, Y, list(grid)), rel=1e-6)
