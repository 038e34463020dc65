"""Discriminants from sums against rows, explicit inverses and scikit-learn; a rule that chooses for them."""

import numpy as np
import pytest
from reference import heads
from reference.ridge import predicted_accuracy
from reference.streams import PROBE, STREAM, Session, fit, growing, scores_of, split_again
from sklearn.covariance import OAS
from sklearn.covariance import LedoitWolf as LedoitWolfOfRows

from sparcl.methods import build

SHRUNK = {"oracle-shrinkage": OAS, "ledoit-wolf": LedoitWolfOfRows}


def centred(sessions: list[Session]) -> np.ndarray:
    """Rows less their class means."""
    return np.concatenate([rows - rows.mean(axis=0) for rows in heads.class_rows(sessions)])


@pytest.mark.parametrize("name", SHRUNK)
@pytest.mark.parametrize(
    "width", [0, 200]
)  # 16 features; more outputs of a map than the 144 samples
def test_shrinkage_from_sums_is_that_of_the_rows(name: str, width: int) -> None:
    layer = {"random": {"width": width}} if width else "none"
    learner = build("compose", head={name: {"prior": False}}, map=layer)
    for sessions in growing(learner, STREAM):
        mapped = [(learner.expand(Phi), y) for Phi, y in sessions]
        estimate = SHRUNK[name]().fit(centred(mapped))
        assert learner.report()["shrinkage"] == pytest.approx(estimate.shrinkage_, abs=1e-10)
        L = np.linalg.inv(estimate.covariance_)
        expected = heads.lda_scores(heads.class_rows(mapped), L, learner.expand(PROBE))
        scale = np.abs(expected).max()
        assert learner.logits(PROBE) == pytest.approx(expected, rel=1e-8, abs=1e-8 * scale)
    halves = fit(build("compose", head={name: {"prior": False}}, map=layer), split_again(STREAM, 2))
    found = scores_of(halves, learner.classes, PROBE)
    assert found == pytest.approx(learner.logits(PROBE), rel=1e-8, abs=1e-8 * scale)


def test_ledoit_wolf_counts_a_class_once_however_often_it_returns() -> None:
    """The old part's move is approximate: near the rows' own estimate, and nearer than no move at all."""
    parts = []
    for Phi, y in STREAM:  # ordered within a class, so that its mean moves
        order = np.lexsort((Phi[:, 0], y))
        parts += [(Phi[order[i::2]], y[order[i::2]]) for i in range(2)]
        low = np.concatenate([order[12 * j : 12 * j + 6] for j in range(3)])
        parts[-2:] = [
            (Phi[low], y[low]),
            (Phi[np.setdiff1d(order, low)], y[np.setdiff1d(order, low)]),
        ]
    learner = build("compose", head="ledoit-wolf")
    unmoved = 0.0
    for session in parts:
        learner.fit_session(*session)
        unmoved += float(np.sum(np.sum(centred([session]) ** 2, axis=1) ** 2))
    exact = float(np.sum(np.sum(centred(STREAM) ** 2, axis=1) ** 2))
    assert learner.head.fourth == pytest.approx(exact, rel=0.05)
    assert abs(unmoved - exact) > 3 * abs(learner.head.fourth - exact)


@pytest.mark.parametrize("width", [10, 300])
def test_plain_rule_is_scatter_and_its_trace_over_the_samples(width: int) -> None:
    head = {"ridged-scatter": {"per": "sample"}}
    learner = fit(build("compose", head=head, map={"random": {"width": width}}, ridge=0.5), STREAM)
    mapped = [(learner.expand(Phi), y) for Phi, y in STREAM]
    S = heads.within(heads.class_rows(mapped))
    L = 2 * np.linalg.inv(S + 0.5 * np.trace(S) / 144 * np.eye(width))
    expected = heads.lda_scores(heads.class_rows(mapped), L, learner.expand(PROBE))
    assert learner.logits(PROBE) == pytest.approx(
        expected, rel=1e-8, abs=1e-8 * np.abs(expected).max()
    )
    assert learner.report() == {"shrinkage": 0.5}


def test_rule_predicts_accuracy_with_the_bias() -> None:
    grid = [0.01, 0.3, 10.0]
    learner = build(
        "compose", head={"ridged-scatter": {"per": "sample"}}, ridge="gaussian", ridges=grid, seed=4
    )
    fitted, held = [], []
    for t, (Phi, y) in enumerate(STREAM):
        learner.fit_session(Phi, y)
        columns = np.searchsorted(np.unique(y), y)
        rows, validate = learner.rule.holdout.split(columns + 3 * t, t)
        fitted.append((Phi[rows], y[rows]))
        held.append((Phi[validate], y[validate]))
    means = np.stack([rows.mean(axis=0) for rows in heads.class_rows(fitted)], axis=1)
    S = heads.within(heads.class_rows(fitted))
    n = sum(len(y) for _, y in fitted)
    labels = list(learner.classes)
    rows = np.concatenate([Phi for Phi, _ in held])
    y = np.array([labels.index(c) for _, ys in held for c in ys])
    expected = []
    for a in grid:
        W = 2 * np.linalg.inv(S + a * np.trace(S) / n * np.eye(16)) @ means
        b = -0.5 * np.sum(means * W, axis=0)
        wide = np.hstack([rows, np.ones((len(rows), 1))])  # the bias as the weight of a constant
        expected.append(-predicted_accuracy(np.vstack([W, b]), wide, y))
    assert learner.report()["validation_losses"] == pytest.approx(expected, abs=1e-9)
    assert learner.solutions.points[0][2] == grid[int(np.argmin(expected))]
    assert len(set(np.round(expected, 6))) == 3
