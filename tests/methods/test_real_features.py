"""The joint ridge on bundled sets: scikit-learn's weights, and the same end for any T."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from sparcl.base.rows import unit
from sparcl.features import store
from sparcl.methods import build
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
def test_acil_is_scikit_learns_ridge(dataset: str) -> None:
    train, test = split(dataset, "train"), split(dataset, "test")
    learner = build("acil", ridge=RIDGE)
    for classes in sessions(dataset, 10):
        part = train.rows(classes)
        learner.fit_session(part.features, part.labels)
    Y = (train.labels[:, None] == learner.classes).astype(float)
    peer = Ridge(alpha=RIDGE, fit_intercept=False, solver="cholesky").fit(train.features, Y)
    assert np.abs(learner.weights - peer.coef_.T).max() < 1e-8
    assert np.abs(learner.logits(test.features) - peer.predict(test.features)).max() < 1e-8


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
