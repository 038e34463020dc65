"""Products of any layout of memory."""

import numpy as np
import pytest

from sparcl.algebra.backend import product


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
def test_product_of_any_layout(orders: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    A = np.asarray(rng.integers(-9, 9, (7, 5)), dtype=dtype, order=orders[0])
    B = np.asarray(rng.integers(-9, 9, (5, 3)), dtype=dtype, order=orders[1])
    found = product(A, B)
    assert np.array_equal(found, np.einsum("ij,jk->ik", A, B))
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    assert np.array_equal(product(A[::2], B), found[::2])
    assert np.array_equal(product(A[:1], B[:, :1]), found[:1, :1])
