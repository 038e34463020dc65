"""The sum of ridge and discriminant: one factor for both, and what the held-out rows choose, row by row."""

from itertools import product

import numpy as np
import pytest
from reference import heads
from reference.ridge import joint_ridge, predicted_accuracy, sums
from reference.streams import PROBE, STREAM, Session, fit

from sparcl.algebra.paired import Paired
from sparcl.algebra.sums import Sums
from sparcl.methods import build
from study.methods.ridge_lda import spread

GRID = [1e-3, 0.1, 3.0]
MIXTURES = [0.0, 0.3, 1.0]


def explicit(
    sessions: list[Session], classes: list[int], shift: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ridge's weights, the discriminant's and its bias, by inverses."""
    R, C = sums(sessions, classes)
    rows = heads.class_rows(sessions)
    means = np.stack([part.mean(axis=0) for part in rows], axis=1)
    W = np.linalg.inv(heads.within(rows) + shift * np.eye(len(R))) @ means
    return joint_ridge(R, C, shift), W, -0.5 * np.sum(means * W, axis=0)


def spread_by_rows(scores: np.ndarray, y: np.ndarray) -> float:
    """Return the deviation of differences between two scores, pair by pair."""
    c = scores.shape[1]
    labels = np.unique(y)
    centred = np.concatenate([scores[y == j] - scores[y == j].mean(axis=0) for j in labels])
    free = len(scores) - len(labels)
    pairs = [(i, j) for i, j in product(range(c), range(c)) if i != j]
    return float(
        np.sqrt(np.mean([np.sum((centred[:, i] - centred[:, j]) ** 2) / free for i, j in pairs]))
    )


@pytest.mark.parametrize("d", [5, 60])  # below and above the 40 rows
@pytest.mark.parametrize("shift", [0.01, 5.0])
def test_both_heads_from_one_factor(d: int, shift: float) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), [25, 9, 5, 1])
    Phi = rng.standard_normal((40, d)) + rng.standard_normal((4, d))[y]
    total = Sums(d)
    total.grow(4)
    total.accumulate(Phi, y)
    pair = Paired.of(total, shift)
    ridge, lda, bias = explicit([(Phi, y)], [0, 1, 2, 3], shift)
    assert pair.V @ pair.ridge == pytest.approx(ridge, abs=1e-9)
    scale = np.abs(lda).max()
    assert pair.V @ pair.discriminant == pytest.approx(lda, abs=1e-9 * scale)
    assert pair.bias == pytest.approx(bias, rel=1e-8)
    scores = Phi @ lda
    R, C = pair.V.T @ total.R @ pair.V, pair.V.T @ total.C
    B = pair.discriminant
    assert spread(B.T @ R @ B, B.T @ C, total.counts) == pytest.approx(spread_by_rows(scores, y))


@pytest.mark.parametrize("width", [0, 60])
def test_the_choice_row_by_row(width: int) -> None:
    layer = {"random": {"width": width}} if width else "none"
    learner = build("ridge-lda", map=layer, ridges=GRID, mixtures=MIXTURES, seed=5)
    fitted, held, seen = [], [], []
    for t, (Phi, y) in enumerate(STREAM[:2]):
        learner.fit_session(Phi, y)
        H, labels = learner.expand(Phi), list(learner.classes)
        columns = np.array([labels.index(c) for c in y])
        if t == 0:
            unit = float(np.mean(np.sum(H**2, axis=1)))
        rows, validate = learner.holdout.split(columns, t)
        fitted.append((H[rows], columns[rows]))
        held.append((H[validate], columns[validate]))
        seen.append((H, columns))
        X = np.concatenate([part for part, _ in held])
        target = np.concatenate([part for _, part in held])
        classes = list(range(len(labels)))
        tried = [explicit(fitted, classes, a * unit) for a in GRID]
        by_ridge = [predicted_accuracy(W, X, target) for W, _, _ in tried]
        wide = np.hstack([X, np.ones((len(X), 1))])  # a bias is the weight of a constant
        by_lda = [predicted_accuracy(np.vstack([W, b]), wide, target) for _, W, b in tried]
        i, j = int(np.argmax(by_ridge)), int(np.argmax(by_lda))
        s = spread_by_rows(X @ tried[i][0], target), spread_by_rows(X @ tried[j][1], target)
        mixed = []
        for w in MIXTURES:
            W = (1 - w) * tried[i][0] / s[0] + w * tried[j][1] / s[1]
            b = w * tried[j][2] / s[1]
            mixed.append(predicted_accuracy(np.vstack([W, b]), wide, target))
        w = MIXTURES[int(np.argmax(mixed))]
        report = learner.report()
        assert report["ridge"] == pytest.approx(GRID[i] * unit)
        assert report["shift"] == pytest.approx(GRID[j] * unit)
        assert report["weight"] == w
        assert report["scales"] == pytest.approx(s, rel=1e-6)
        assert report["accuracy"] == pytest.approx(max(mixed), abs=1e-8)
        ridge, _, _ = explicit(seen, classes, GRID[i] * unit)
        _, lda, bias = explicit(seen, classes, GRID[j] * unit)
        Z = learner.expand(PROBE)
        expected = (1 - w) * Z @ ridge / s[0] + w * (Z @ lda + bias) / s[1]
        assert learner.logits(PROBE) == pytest.approx(
            expected, rel=1e-6, abs=1e-6 * np.abs(expected).max()
        )


def test_the_first_session_chooses_the_exponent() -> None:
    """The root of features that were squared with their sign: what an exponent of 1/2 undoes."""
    squared = [(np.sign(Phi) * Phi**2, y) for Phi, y in STREAM]
    learner = build("ridge-lda", exponents=[1.0, 0.5, 0.25], seed=2)
    alone = [fit(build("ridge-lda", exponents=[e], seed=2), squared[:1]) for e in (1.0, 0.5, 0.25)]
    accuracies = [one.report()["accuracy"] for one in alone]
    best = (1.0, 0.5, 0.25)[int(np.argmax(accuracies))]
    fit(learner, squared)
    assert learner.report()["power"] == best
    same = fit(build("ridge-lda", transform={"power": {"exponent": best}}, seed=2), squared)
    assert learner.logits(PROBE) == pytest.approx(same.logits(PROBE), rel=1e-9, abs=1e-9)
    assert len(set(accuracies)) == 3


def test_a_transform_learns_from_the_first_session() -> None:
    positive = [(np.abs(Phi), y) for Phi, y in STREAM]
    rooted = fit(build("ridge-lda", transform="rooted"), positive)
    power = fit(build("ridge-lda", exponents=[0.5]), positive)
    assert rooted.logits(np.abs(PROBE)) == pytest.approx(power.logits(np.abs(PROBE)), rel=1e-9)
    assert rooted.report()["exponent"] == 0.5
