"""The joint ridge on bundled sets: the same end for any T (tests/algebra/test_ridge.py has scikit-learn's weights)."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sparcl.base.rows import unit
from sparcl.features import store
from sparcl.protocol import stream
from study.loop import experiment

BUNDLE = Path(__file__).resolve().parents[2] / "data" / "features"
# few and equal samples a class, and many and unequal ones
SETS = ["cub-50/vit-s14-focus", "grocery-81/efficientnet-lite0"]
RIDGE = 0.1


@cache
def split(dataset: str, name: str) -> experiment.Split:
    data = store.read(BUNDLE / dataset / f"{name}.h5")
    return experiment.Split(unit(data.features), data.labels)


def sessions(dataset: str, T: int) -> list[np.ndarray]:
    order = stream.class_order(1993, int(split(dataset, "train").labels.max()) + 1)
    return stream.split_sessions(order, T)


@pytest.mark.parametrize("dataset", SETS)
def test_acil_ends_with_the_same_counts_for_any_number_of_sessions(dataset: str) -> None:
    train, test = split(dataset, "train"), split(dataset, "test")
    last = {
        T: experiment.run(train, test, sessions(dataset, T), "acil", {"ridge": RIDGE})["correct"][
            -1
        ]
        for T in (1, 5, 10, 20)
    }
    assert 0.3 * len(test.labels) < sum(last[1]) < len(test.labels)
    assert last[5] == last[10] == last[20] == last[1]
