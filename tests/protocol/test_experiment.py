"""The session loop and the selection, against loops that fit and count by hand."""

import numpy as np
import pytest
from reference import metrics as naive
from reference.streams import synthetic_stream

from sparcl.methods import build
from study import selection
from study.loop import experiment

HYPER = {
    "ncm": {},
    "acil": {"ridge": 0.2},
    "sparcl": {"ridge": 0.2, "tau": 0.7, "refresh": 2},
    "sparcl-plus-1": {"ridge": 0.2, "tau": 0.7, "width": 20, "seed": 2},
}


def splits() -> tuple[experiment.Split, experiment.Split, list[np.ndarray]]:
    """Twelve classes in four sessions, unequal test counts."""
    blocks = synthetic_stream(seed=8, sessions=4, classes=3, samples=16, noise=1.2)
    train = [(Phi[:32], y[:32]) for Phi, y in blocks]
    test = [(Phi[32:], y[32:]) for Phi, y in blocks]
    pair = [
        experiment.Split(np.concatenate([P for P, _ in part]), np.concatenate([y for _, y in part]))
        for part in (train, test)
    ]
    order = [np.array(sorted(set(y.tolist())))[::-1] for _, y in blocks]
    return pair[0], pair[1], order


@pytest.mark.parametrize("method", HYPER)
def test_run_counts_what_a_loop_counts(method: str) -> None:
    train, test, sessions = splits()
    record = experiment.run(train, test, sessions, method, HYPER[method])
    order = np.concatenate(sessions).tolist()
    assert list(record["classes"]) == order
    assert list(record["test_counts"]) == [int(np.sum(test.labels == c)) for c in order]
    assert list(record["session_of_class"]) == [t for t, part in enumerate(sessions) for _ in part]
    learner, previous = build(method, **HYPER[method]), None
    for t, part in enumerate(sessions):
        rows = np.isin(train.labels, part)
        learner.fit_session(train.features[rows], train.labels[rows])
        seen = [c for s in sessions[: t + 1] for c in s.tolist()]
        mine = np.isin(test.labels, seen)
        predicted = learner.predict(test.features[mine])
        expected = [
            int(np.sum((test.labels[mine] == c) & (predicted == c))) if c in seen else 0
            for c in order
        ]
        assert list(record["correct"][t]) == expected
        if previous is not None:
            old = np.isin(test.labels, [c for s in sessions[:t] for c in s.tolist()])
            now = learner.logits(test.features[old])[:, : previous.shape[1]]
            drift, scaled = naive.drift(previous, now)
            assert record["drift"][t] == pytest.approx(drift, rel=1e-5, abs=1e-12)
            assert record["drift_scaled"][t] == pytest.approx(scaled, rel=1e-5, abs=1e-12)
        else:
            assert record["drift"][0] is None
        previous = learner.logits(test.features[mine])
    assert 0 < np.sum(record["correct"][-1]) < len(test.labels)


@pytest.mark.parametrize(
    ("ridges", "prefer", "expected"),
    [([0.1], 1.0, 0.1), ([10.0, 0.1, 0.01], 1.0, 0.1), ([0.01, 0.1, 10.0], 10.0, 10.0)],
)
def test_selection_ties_go_to_the_smallest_tau_and_the_preferred_ridge(
    ridges: list[float], prefer: float, expected: float
) -> None:
    # Classes so far apart that every point is right.
    Phi = np.repeat(np.eye(8), 10, axis=0)
    y = np.repeat(np.arange(8), 10)
    result = selection.select(
        experiment.Split(Phi, y),
        np.arange(8),
        "sparcl",
        {"refresh": 1},
        {"ridge": ridges, "tau": [0.95, 0.5, 0.7]},
        sub_sessions=4,
        fit_share=0.8,
        prefer_ridge=prefer,
        seed=0,
    )
    assert {point["A_bar"] for point in result["scores"]} == {100.0}
    assert result["chosen"] == {"tau": 0.5, "ridge": expected}


def test_selection_reads_the_base_session_only() -> None:
    blocks = synthetic_stream(seed=3, sessions=3, classes=4, samples=12, noise=1.2)
    Phi, y = (np.concatenate([b[i] for b in blocks]) for i in (0, 1))
    base = np.array(sorted(set(blocks[0][1].tolist())))
    spoiled = Phi.copy()
    spoiled[~np.isin(y, base)] = np.nan
    arguments = (base, "sparcl", {"refresh": 1}, {"ridge": [0.1, 1.0], "tau": [0.5, 0.9]})
    options = {"sub_sessions": 2, "fit_share": 0.8, "prefer_ridge": 1.0, "seed": 0}
    clean = selection.select(experiment.Split(Phi, y), *arguments, **options)
    assert selection.select(experiment.Split(spoiled, y), *arguments, **options) == clean
