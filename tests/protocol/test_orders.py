"""Mild and hard class orders, and the streams of the failure cases."""

from itertools import pairwise

import numpy as np
import pytest
from reference.streams import synthetic_stream

from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.protocol import orders, stream, stress
from sparcl.protocol.experiment import Split


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


class Data:
    """What a feature file gives."""

    def __init__(self, Phi: np.ndarray, y: np.ndarray) -> None:
        self.features, self.labels = Phi, y


SETTINGS = {
    "near-duplicate": {"move": 0.9},
    "saturated": {"scale": 10.0},
    "long-tail": {"imbalance": 50.0, "least": 2},
}


def stressed(kind: str) -> tuple[list[Split], list[Split], list[np.ndarray]]:
    blocks = synthetic_stream(seed=3, sessions=4, classes=3, samples=20)
    Phi, y = (np.concatenate([b[i] for b in blocks]) for i in (0, 1))
    sessions = [np.array(sorted(set(labels.tolist()))) for _, labels in blocks]
    half = np.arange(len(y)) % 2 == 0
    parts = [Data(Phi[half], y[half]), Data(Phi[~half], y[~half])]
    plain = stress.splits({"normalize": True, "stress": {}}, sessions, *parts)
    return (
        plain,
        stress.splits({"normalize": True, "stress": {kind: SETTINGS[kind]}}, sessions, *parts),
        sessions,
    )


def test_near_duplicates_move_onto_their_partners() -> None:
    plain, got, sessions = stressed("near-duplicate")
    order = np.concatenate(sessions)
    for old, new in zip(order[:6], order[6:], strict=True):
        for before, after in zip(plain, got, strict=True):
            assert np.array_equal(before.labels, after.labels)
            assert after.features[after.labels == old] == pytest.approx(
                before.features[before.labels == old], abs=1e-12
            )
        means = [
            [p.features[p.labels == c].mean(axis=0) for c in (old, new)] for p in (plain[0], got[0])
        ]
        apart = [np.linalg.norm(a - b) for a, b in means]
        assert apart[1] < 0.25 * apart[0]
        # a test row moves by what the training means say
        shift = 0.9 * (means[0][0] - means[0][1])
        rows = plain[1].labels == new
        assert got[1].features[rows] == pytest.approx(unit(plain[1].features[rows] + shift))


def test_saturation_leaves_little_but_signs() -> None:
    plain, got, _ = stressed("saturated")
    d = plain[0].features.shape[1]
    expected = unit(np.tanh(10.0 * np.sqrt(d) * plain[0].features))
    assert got[0].features == pytest.approx(expected)
    assert np.mean(np.abs(got[0].features) > 0.9 / np.sqrt(d)) > 0.8


def test_long_tail_thins_training_rows_only() -> None:
    plain, got, sessions = stressed("long-tail")
    assert got[1].features == pytest.approx(plain[1].features, abs=1e-12)
    for classes in sessions:
        kept = [int(np.sum(got[0].labels == c)) for c in classes]
        full = [int(np.sum(plain[0].labels == c)) for c in classes]
        wanted = [max(round(n * 50.0 ** (-j / 2)), 2) for j, n in enumerate(full)]
        assert kept == wanted
        assert kept[0] == full[0] and kept[-1] == 2


def test_unknown_stress_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="near-duplicate"):
        stress.splits({"normalize": True, "stress": {"heavy": {}}}, [])
