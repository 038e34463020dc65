"""A random layer: what is drawn, and what is kept of its outputs."""

import numpy as np
import pytest
from reference import buffers
from reference.streams import PROBE

from sparcl.parts.maps import RandomMap


def begun(d: int, width: int, seed: int = 0, *how: str, **settings: float) -> RandomMap:
    layer = RandomMap(width, seed, *how, **settings)
    layer.begin(np.zeros((1, d)))
    return layer


def test_uniform_draw() -> None:
    W = begun(48, 3000, 0, "uniform").weights
    bound = 1 / np.sqrt(48)
    assert np.abs(W).max() <= bound
    assert np.abs(W).max() > 0.999 * bound
    assert W.var() == pytest.approx(bound**2 / 3, rel=0.02)  # 1 / (3 d)
    assert W.mean() == pytest.approx(0, abs=5 * W.std() / np.sqrt(W.size))


def test_sparse_draw() -> None:
    W = begun(40, 500, 0, "sparse", nonzeros=7).weights
    assert (np.count_nonzero(W, axis=0) == 7).all()
    assert np.count_nonzero(W, axis=1).min() > 40  # 87.5 expected: no coordinate is left out
    entries = W[W != 0]
    assert entries.var() == pytest.approx(1, abs=0.1)
    assert (np.count_nonzero(begun(5, 9, 0, "sparse", nonzeros=7).weights, axis=0) == 5).all()


@pytest.mark.parametrize("level", [0.01, 0.3, 0.5, 1.0])
def test_largest_outputs_stay(level: float) -> None:
    sparse = begun(16, 100, 1, "sparse", "topk", nonzeros=5, level=level)
    expected = buffers.largest(level)(PROBE @ sparse.weights)
    assert np.array_equal(sparse(PROBE), expected)
    assert (np.count_nonzero(expected, axis=1) == 100 * level).all()
    # the largest signed values, not the largest magnitudes
    assert level > 0.3 or expected.min() >= 0


def test_sigmoid_far_out() -> None:
    rows = np.array([[0.0], [900.0], [-900.0], [3.0]])
    sigmoid = begun(1, 3, 0, "gaussian", "sigmoid")
    with np.errstate(over="raise"):
        H = sigmoid(rows)
    with np.errstate(over="ignore"):
        expected = buffers.sigmoid(rows @ sigmoid.weights)
    assert pytest.approx(expected, abs=1e-15) == H
