"""The streams of the failure cases."""

import numpy as np
import pytest
from reference.streams import synthetic_stream

from sparcl.base.rows import unit
from study import streams as stress
from study.loop.experiment import Split

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
    parts = [Split(Phi[half], y[half]), Split(Phi[~half], y[~half])]
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
