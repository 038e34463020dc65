"""Rows of unit norm."""

import numpy as np
import pytest

from sparcl.base.rows import unit


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
