"""Class orders from class means, and few shots after the first session."""

from itertools import pairwise

import numpy as np
import pytest

from sparcl.protocol import stream
from study import order_rules
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


def adjacent(s: np.ndarray, sessions: list) -> float:
    """Adjacent similarity by loops over pairs of classes."""
    return float(np.mean([np.mean([s[i, j] for i in a for j in b]) for a, b in pairwise(sessions)]))


def test_a_hand_example_of_adjacent_orders() -> None:
    """Directions at 0, 10, 180 and 190 degrees; the first session holds class 3, which was drawn first."""
    angles = np.deg2rad([0, 10, 180, 190])
    s = np.cos(angles[:, None] - angles)
    drawn = [np.array([3, 0]), np.array([1, 2])]
    least, most = (orders.by_similarity(s, drawn, most=most) for most in (False, True))
    assert [set(part.tolist()) for part in least] == [{2, 3}, {0, 1}]
    assert [set(part.tolist()) for part in most] == [{1, 3}, {0, 2}]
    expected = -(1 + np.cos(np.deg2rad(10))) / 2
    assert orders.adjacent_similarity(s, least) == pytest.approx(expected)
    assert orders.adjacent_similarity(s, most) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("sizes", [[3] * 8, [4] * 4 + [2] * 4, [9, 5, 5, 5]])
def test_adjacent_orders_are_below_and_above_drawn_ones(sizes: list[int]) -> None:
    Phi, labels = data()
    s = orders.similarities(Phi, labels, 24)
    means = np.stack([Phi[labels == c].mean(axis=0) for c in range(24)])
    means -= means.mean(axis=0)
    norms = np.linalg.norm(means, axis=1)
    assert s == pytest.approx(means @ means.T / np.outer(norms, norms))
    drawn, found = [], {}
    for number in range(10):
        sessions = stream.split_sessions(stream.class_order(number, 24), sizes)
        drawn.append(adjacent(s, sessions))
        for most in (False, True):
            made = orders.by_similarity(s, sessions, most=most)
            assert [len(part) for part in made] == sizes
            assert sorted(np.concatenate(made).tolist()) == list(range(24))
            found.setdefault(most, []).append(adjacent(s, made))
    assert max(found[False]) < np.mean(drawn) < min(found[True])
    assert np.mean(found[False]) < min(drawn) and np.mean(found[True]) > max(drawn)
    assert len(set(found[True])) > 1  # numbers give different orders


def test_few_shots_begin_after_the_first_session() -> None:
    labels = np.repeat(np.arange(6), [7, 3, 7, 7, 7, 7])
    sessions = [np.array([4, 0]), np.array([1, 3]), np.array([2])]
    found = np.array(order_rules.few_after_first(labels, sessions, 5, 1993))
    assert [np.count_nonzero(found == t) for t in (0, 1, 2, -1)] == [14, 3 + 5, 5, 7 + 4]
    for t, classes in enumerate(sessions):
        assert set(labels[found == t]) == set(classes)
    other = np.array(order_rules.few_after_first(labels, sessions, 5, 1994))
    assert (found != other).any()
    more = np.array(order_rules.few_after_first(labels, sessions, 6, 1993))
    assert (more[found >= 0] >= 0).all()  # more shots add to fewer
