"""Paired comparison over orders and over test samples."""

import numpy as np
import pytest

from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.protocol.metrics import pack_answers
from study.report import comparison


def record(method: str, order: int, hits: np.ndarray) -> dict:
    """One session, two classes of half the samples each."""
    n = len(hits) // 2
    return {
        "suite": "toy",
        "dataset": "one",
        "backbone": "net",
        "method": method,
        "order": order,
        "seed": 0,
        "correct": [[int(hits[:n].sum()), 0], [int(hits[:n].sum()), int(hits[n:].sum())]],
        "test_counts": [n, len(hits) - n],
        "session_of_class": [0, 1],
        "classes": [0, 1],
        "answers": pack_answers([hits[:n], hits]),
    }


def test_bootstrap_agrees_with_the_normal_interval() -> None:
    rng = np.random.default_rng(0)
    of, against = rng.random((3, 2000)) < 0.8, rng.random((3, 2000)) < 0.7
    difference = of.mean(axis=0) - against.mean(axis=0)
    error = difference.std() / np.sqrt(2000)
    low, high = comparison.bootstrap(of, against, 2000, generator("test"))
    assert low == pytest.approx(100 * (difference.mean() - 1.96 * error), abs=0.2)
    assert high == pytest.approx(100 * (difference.mean() + 1.96 * error), abs=0.2)
    assert comparison.bootstrap(of, of, 50, generator("test")) == (0.0, 0.0)


def test_compare_counts_and_pairs() -> None:
    rng = np.random.default_rng(1)
    hits = {(m, o): rng.random(40) < p for m, p in (("a", 0.9), ("b", 0.5)) for o in (1, 2, 3)}
    records = [record(m, o, h) for (m, o), h in hits.items()]
    rows = comparison.compare(records, "a", ["b"], draws=100)
    assert [row["measure"] for row in rows] == ["A_bar", "A_last", "forgetting"]
    last = rows[1]
    expected = [100 * (hits["a", o].mean() - hits["b", o].mean()) for o in (1, 2, 3)]
    assert last["difference"] == pytest.approx(np.mean(expected))
    assert last["sample_low"] < last["difference"] < last["sample_high"]
    assert last["orders"] == 3
    with pytest.raises(InputError, match="same orders"):
        comparison.compare(records[:-1], "a", ["b"], draws=10)
