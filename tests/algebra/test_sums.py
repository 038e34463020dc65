"""The sums of a stream: any parts of it add up to one pass."""

import numpy as np
import pytest
from reference.streams import STREAM, Session

from sparcl.algebra.sums import Sums
from sparcl.base.errors import InputError


def summed(*parts: Session, classes: int) -> Sums:
    sums = Sums(parts[0][0].shape[1])
    sums.grow(classes)
    for Phi, y in parts:
        sums.accumulate(Phi, y)
    return sums


def close(a: Sums, b: Sums) -> None:
    assert a.R == pytest.approx(b.R, abs=1e-12)
    assert a.C == pytest.approx(b.C, abs=1e-13)
    assert np.array_equal(a.counts, b.counts)


@pytest.mark.parametrize("cut", [1, 60, 143])
def test_merge_is_one_pass_and_leaves_the_other(cut: int) -> None:
    Phi, y = (np.concatenate(pair) for pair in zip(*STREAM, strict=True))
    a, b = summed((Phi[:cut], y[:cut]), classes=12), summed((Phi[cut:], y[cut:]), classes=12)
    kept = b.copy()
    a.merge(b, range(12))
    close(a, summed((Phi, y), classes=12))
    close(b, kept)
    assert a.n == 144
    a.accumulate(*STREAM[0])  # and it can go on
    close(a, summed((Phi, y), STREAM[0], classes=12))


def test_merge_under_a_map_of_columns() -> None:
    """Two sites that met the classes in different orders, one with fewer of them."""
    Phi, y = STREAM[0]
    y = np.unique(y, return_inverse=True)[1]
    few = y[20:] > 0
    a, b = (
        summed((Phi[:20], y[:20]), classes=3),
        summed((Phi[20:][few], 2 - y[20:][few]), classes=2),
    )
    a.merge(b, [2, 1])
    rows = np.concatenate([np.full(20, True), few])
    close(a, summed((Phi[rows], y[rows]), classes=3))
    a.reorder(np.array([2, 0, 1]))
    close(a, summed((Phi[rows], np.array([1, 2, 0])[y[rows]]), classes=3))


def test_merge_refuses_columns_and_coordinates_that_do_not_fit() -> None:
    a, b = Sums(4), Sums(4)
    for sums in (a, b):
        sums.grow(3)
    for columns in ([0, 1], [0, 1, 3], [0, 1, -1], [0, 1, 1]):
        with pytest.raises(InputError, match="columns"):
            a.merge(b, columns)
    with pytest.raises(InputError, match="5 coordinates into 4"):
        Sums(4).merge(Sums(5), [])
