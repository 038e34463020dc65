"""Rows of unit norm."""

import numpy as np
import pytest

from sparcl.base.rows import CACHED, unit


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_unit_norm(dtype: type) -> None:
    rows = (3.0 * np.random.default_rng(0).standard_normal((5, 7))).astype(dtype)
    rows[2] = 0
    got = unit(rows)
    wide = rows.astype(np.float64)
    lengths = [np.sqrt(sum(v * v for v in row)) for row in wide]
    for i in range(5):
        expected = wide[i] / lengths[i] if lengths[i] else wide[i]
        assert got[i] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_row_is_the_same_among_many(order: str) -> None:
    rows = np.random.default_rng(1).standard_normal((2 * CACHED + 3, 9))
    got = unit(np.asarray(rows, order=order))
    assert got.flags[f"{order}_CONTIGUOUS"]
    for i in (0, CACHED - 1, CACHED, 2 * CACHED + 2):
        assert got[i] == pytest.approx(unit(rows[[i]])[0], abs=1e-15)
