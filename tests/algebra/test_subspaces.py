"""Spans and the angle between them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparcl.algebra.spectra import canonical_angle, energy_rank, orthonormal_span


@given(seed=st.integers(0, 1000), rank=st.integers(0, 5))
def test_span_projects_as_the_pseudo_inverse_does(seed: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((9, rank)) @ rng.standard_normal((rank, 6))
    U = orthonormal_span(A)
    assert U.shape == (9, rank)
    assert pytest.approx(np.eye(rank), abs=1e-12) == U.T @ U
    assert pytest.approx(A @ np.linalg.pinv(A, rcond=1e-9), abs=1e-8) == U @ U.T


@given(seed=st.integers(0, 1000), degrees=st.floats(1e-6, 89.0))
def test_largest_angle_whatever_the_bases(seed: int, degrees: float) -> None:
    rng = np.random.default_rng(seed)
    basis, mix = (np.linalg.qr(rng.standard_normal((n, n)))[0] for n in (9, 3))
    U, turn = basis[:, :3], np.radians([degrees, degrees / 2, 0.0])
    V = (U * np.cos(turn) + basis[:, 3:6] * np.sin(turn)) @ mix
    assert canonical_angle(U, V) == pytest.approx(degrees, rel=1e-6, abs=1e-12)
    assert canonical_angle(U[:, :0], V[:, :0]) == 0


def test_energy_rank_is_the_first_that_holds_the_share() -> None:
    values = np.array([4.0, 3.0, 2.0, 1.0])
    assert [energy_rank(values, 10.0, tau) for tau in (0.1, 0.4, 0.41, 0.7, 0.99)] == [
        1,
        1,
        2,
        2,
        4,
    ]
    assert energy_rank(values, 10.0 + 1e-9, 1.0 - 1e-16) == 4
