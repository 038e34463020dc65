"""Mild and hard class orders."""

from itertools import pairwise

import numpy as np
import pytest

from sparcl.base.errors import InputError
from sparcl.protocol import stream
from study.streams import orders


def data(classes: int = 24, d: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(classes), 6)
    centres = 3.0 + rng.standard_normal((classes, 10)) @ rng.standard_normal((10, d))
    return centres[labels] + 0.3 * rng.standard_normal((len(labels), d)), labels


def consecutive_overlap(Phi: np.ndarray, labels: np.ndarray, sessions: list) -> float:
    """Mean overlap restated with projectors from pseudo-inverses."""
    means = np.stack([Phi[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
    M = (means - means.mean(axis=0)).T
    shares = []
    for first, second in pairwise(sessions):
        P, Q = (M[:, part] @ np.linalg.pinv(M[:, part]) for part in (first, second))
        ranks = [np.linalg.matrix_rank(M[:, part]) for part in (first, second)]
        shares.append(np.trace(P @ Q) / min(ranks))
    return float(np.mean(shares))


def test_class_means_are_centred() -> None:
    Phi, labels = data()
    assert orders.centred_means(Phi, labels, 24).sum(axis=1) == pytest.approx(0, abs=1e-12)


def test_hard_overlaps_more_than_random_more_than_mild() -> None:
    Phi, labels = data()
    random = stream.split_sessions(stream.class_order(1993, 24), 8)
    found = {hard: orders.greedy(Phi, labels, random, hard=hard) for hard in (True, False)}
    for sessions in found.values():
        assert [len(part) for part in sessions] == [3] * 8
        assert sorted(np.concatenate(sessions).tolist()) == list(range(24))
        assert np.array_equal(sessions[0], random[0])
    mild, between, hard = (
        consecutive_overlap(Phi, labels, s) for s in (found[False], random, found[True])
    )
    assert mild + 0.05 < between < hard - 0.05


def test_orders_look_at_directions_not_at_labels() -> None:
    Phi, labels = data()
    random = stream.split_sessions(stream.class_order(7, 24), 8)
    before = orders.greedy(Phi, labels, random, hard=True)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(before, orders.greedy(5 * Phi + 2, labels, random, hard=True), strict=True)
    )


def test_class_without_samples_is_named() -> None:
    with pytest.raises(InputError, match="Class 2"):
        orders.centred_means(np.ones((3, 2)), np.array([0, 1, 3]), 4)
