"""LayUP: folds against scikit-learn, the choice against a literal loop, and what blocks mean."""

import numpy as np
import pytest
from reference.closed import ridge
from reference.streams import STREAM, Session
from sklearn.model_selection import StratifiedKFold

from sparcl.base.errors import InputError
from sparcl.methods import build
from sparcl.parts.rules import stratified

GRID = [1e-5, 0.03, 1.0, 30.0]


@pytest.mark.parametrize("sizes", [[8, 8, 8], [9, 5, 7], [4, 30, 6, 5]])
def test_folds_are_stratified_in_the_order_of_rows(sizes: list[int]) -> None:
    y = np.random.default_rng(3).permutation(np.repeat(np.arange(len(sizes)), sizes))
    fold = stratified(y, 4)
    splits = StratifiedKFold(4, shuffle=False).split(np.zeros((len(y), 1)), y)
    for number, (_, held) in enumerate(splits):
        assert np.array_equal(np.flatnonzero(fold == number), held)


@pytest.mark.parametrize("d", [16, 200])  # below and above the rows
def test_the_choice_is_that_of_a_literal_loop(d: int) -> None:
    turn = np.random.default_rng(0).standard_normal((16, d))
    noise = np.random.default_rng(1)
    stream = [(Phi @ turn + noise.standard_normal((36, d)), y) for Phi, y in STREAM]
    learner = build("layup", blocks=2, ridges=GRID)
    seen: list[Session] = []
    for Phi, y in stream:
        learner.fit_session(Phi, y)
        if not seen:
            halves = [Phi[:, : d // 2], Phi[:, d // 2 :]]
            scales = [np.sqrt(np.mean(np.sum(half**2, axis=1))) for half in halves]
        X = np.hstack([Phi[:, : d // 2] / scales[0], Phi[:, d // 2 :] / scales[1]])
        labels = list(learner.classes)
        columns = np.array([labels.index(c) for c in y])
        old_X = np.concatenate([part for part, _ in seen] + [np.zeros((0, d))])
        old_y = np.concatenate([part for _, part in seen] + [np.zeros(0, dtype=int)])
        Y = np.eye(len(labels))
        losses = []
        for a in GRID:
            wrong = []
            for fitted, held in StratifiedKFold(4, shuffle=False).split(X, columns):
                rows = np.concatenate([old_X, X[fitted]])
                W = ridge(rows, Y[np.concatenate([old_y, columns[fitted]])], 2 * a)
                wrong.append(np.mean(np.argmax(X[held] @ W, axis=1) != columns[held]))
            losses.append(np.mean(wrong))
        report = learner.report()
        assert report["validation_losses"] == pytest.approx(losses)
        assert report["ridge"] == pytest.approx(2 * GRID[int(np.argmin(losses))])
        seen.append((X, columns))
    assert len(set(losses)) > 1
    rows, targets = (np.concatenate(part) for part in zip(*seen, strict=True))
    W = ridge(rows, np.eye(12)[targets], report["ridge"])
    assert learner.logits(Phi) == pytest.approx(X @ W, abs=1e-6)


def test_what_layup_refuses() -> None:
    Phi, y = STREAM[0]
    with pytest.raises(InputError, match=r"session 1: features of 16 dimensions are no 3 blocks"):
        build("layup", blocks=3).fit_session(Phi, y)
    with pytest.raises(InputError, match=r"session 1: the session has 3 samples, and 4 folds"):
        build("layup").fit_session(Phi[:3], y[:3])
