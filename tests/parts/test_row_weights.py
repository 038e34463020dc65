"""Rows of a session that count in part: each kind against its equations, and what all must keep."""

import numpy as np
import pytest

import study.parts.row_weights
from sparcl.algebra.sums import Sums
from sparcl.base.errors import InputError
from sparcl.methods import build
from sparcl.parts import catalogue
from sparcl.parts.batch import Batch
from sparcl.parts.heads import Ridge, RidgedScatter
from sparcl.parts.row_weights import ContaminationFilter
from study.parts.row_weights import (
    RIDGE,
    AdaptiveNeighbours,
    AgreeingOnly,
    Clusters,
    Huber,
    Neighbours,
    NoiseMatrix,
    OldModel,
    PseudoLabels,
    Rechecked,
    Trim,
    Weighing,
    Weighted,
    first_agreeing,
    nearest_rows,
)

D = 12
KINDS = [name for name in catalogue.load()["row_weights"] if name != "all"]


def identity(Phi: np.ndarray) -> np.ndarray:
    return Phi


def rows(classes: range, n: int, seed: int, spread: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    means = np.random.default_rng(7).standard_normal((12, D))
    labels = np.repeat(np.array(classes), n)
    noise = np.random.default_rng(seed).standard_normal((len(labels), D))
    return means[labels] + spread * noise, labels


def summed(H: np.ndarray, labels: np.ndarray, classes: int) -> Sums:
    sums = Sums(D)
    sums.grow(classes)
    sums.accumulate(H, labels)
    return sums


def contaminated(wrong_rows: int = 10) -> tuple[Batch, Sums, np.ndarray]:
    """Return a session of classes 4 to 7 with rows of classes 0 to 3 among them, and the sums before it."""
    old = summed(*rows(range(4), 20, seed=1), 4)
    H, labels = rows(range(4, 8), 15, seed=2)
    wrong, _ = rows(range(4), 10, seed=3)
    wrong = wrong[np.random.default_rng(4).permutation(len(wrong))[:wrong_rows]]
    told = np.random.default_rng(5).integers(4, 8, len(wrong))
    is_old = np.arange(len(H) + len(wrong)) >= len(H)
    H, labels = np.vstack([H, wrong]), np.concatenate([labels, told])
    return Batch(labels, 4, 8, 1, H, identity), old, is_old


def weights(kind: Weighing, batch: Batch, old: Sums) -> np.ndarray:
    return kind.weights(batch, old, Ridge(), RIDGE)


def kept(kind: ContaminationFilter, batch: Batch, old: Sums) -> np.ndarray:
    """Return which rows stay."""
    left = kind.judge(batch, old, Ridge(), RIDGE).H
    return (batch.H[:, None] == left).all(axis=2).any(axis=1)


def test_fractional_weights_are_those_of_the_naive_sums() -> None:
    H, labels = rows(range(3), 8, seed=8)
    w, Y = np.random.default_rng(9).uniform(0, 1, len(H)), np.eye(3)[labels]
    for given in (None, Y):
        sums = Sums(D)
        batch = Weighted(labels, 0, 3, 0, H, identity, row_weights=w, labels=given)
        batch.take(slice(10)).add_to(sums)
        batch.take(np.arange(10, len(H))).add_to(sums)
        assert sums.R == pytest.approx(sum(w[i] * np.outer(H[i], H[i]) for i in range(len(H))))
        assert sums.C == pytest.approx(sum(w[i] * np.outer(H[i], Y[i]) for i in range(len(H))))
        assert sums.counts == pytest.approx([w[labels == c].sum() for c in range(3)])


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_composes_with_every_head_and_keeps_no_row(name: str) -> None:
    heads = {"ridge": 0.1, "ridged-scatter": 1.0, "shrunk-covariance": 0.3}
    if name == "noise-matrix":  # its scatter may be indefinite: a ridge has none
        heads = {"ridge": 0.1}
    for head, ridge in heads.items():
        weights = {"noise-matrix": {"rate": 0.1}} if name == "noise-matrix" else name
        learner = build("compose", head=head, ridge=ridge, row_weights=weights)
        learner.fit_session(*rows(range(4), 20, seed=1))
        batch, _, _ = contaminated()
        learner.fit_session(batch.Phi, batch.columns)
        assert all(len(batch.Phi) not in np.shape(v) for v in learner.state().values())
        H, labels = rows(range(8), 20, seed=11)
        assert np.mean(learner.predict(H) == labels) > 0.8
        with pytest.raises(InputError, match="whole"):
            learner.accumulate(*rows(range(4), 2, seed=1))
    with pytest.raises(InputError, match="balanced-ridge"):
        build("compose", head="balanced-ridge", row_weights=weights)


def test_what_a_rule_holds_out_comes_from_the_rows_that_stay() -> None:
    learner = build("compose", ridge="gaussian", ridges=[0.1, 1.0], row_weights="old-model")
    learner.fit_session(*rows(range(4), 20, seed=1))
    batch, old, _ = contaminated()
    learner.fit_session(batch.Phi, batch.columns)
    kept = len(OldModel().judge(batch, old, Ridge(), 0.1).columns)
    assert kept < len(batch.columns)
    assert learner.total.counts.sum() == 80 + kept
    held, fitted = learner.rule.validation.counts.sum(), learner.rule.fitted.total.counts.sum()
    assert held + fitted == 80 + kept


def test_contaminated_rows_are_found_and_wrong_ones_weigh_less() -> None:
    batch, old, is_old = contaminated()
    first = Batch(batch.columns - 4, 0, 4, 0, batch.Phi, identity)
    for finding in (OldModel(), Rechecked()):
        found = weights(finding, batch, old)
        assert found[is_old].mean() < 0.2 and found[~is_old].mean() > 0.9
        assert (weights(finding, first, Sums(D)) == 1).all()  # there are no old classes
    filtering = ContaminationFilter(limit=0.05)
    found = kept(filtering, batch, old)
    assert found[is_old].mean() < 0.2 and found[~is_old].mean() > 0.9
    assert kept(filtering, first, Sums(D)).all()
    for kind in (Trim(), Neighbours(), Huber(), AdaptiveNeighbours(), AgreeingOnly()):
        found = weights(kind, batch, old)
        assert found[is_old].mean() < 0.6 * found[~is_old].mean()


def test_a_class_that_would_lose_every_row_keeps_them() -> None:
    old = summed(*rows(range(4), 20, seed=1), 4)
    H, _ = rows(range(1), 6, seed=3)  # all of class 0, told to be class 4
    batch = Batch(np.full(6, 4), 4, 5, 1, H, identity)
    kind = Rechecked()
    assert (weights(kind, batch, old) == 0).all()
    assert len(kind.judge(batch, old, Ridge(), RIDGE).columns) == 6


def test_trim_leaves_out_what_is_far() -> None:
    H, labels = rows(range(1), 20, seed=2, spread=0.1)
    H[3] += 5
    found = weights(Trim(), Batch(labels, 0, 1, 0, H, identity), Sums(D))
    assert found[3] == 0 and found.mean() > 0.6


def test_huber_residuals_are_those_of_rows_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study.parts.row_weights, "REWEIGHTED", 1)
    batch, old, _ = contaminated()
    H, n = batch.H, len(batch.columns)
    Y, C_old = np.eye(8)[batch.columns], np.hstack([old.C, np.zeros((D, 4))])
    residual = np.empty(n)
    for i in range(n):
        rest = np.arange(n) != i
        A = old.R + H[rest].T @ H[rest] + RIDGE * np.eye(D)
        W = np.linalg.solve(A, C_old + H[rest].T @ Y[rest])
        residual[i] = np.linalg.norm(Y[i] - H[i] @ W)
    expected = np.minimum(1, np.median(residual) / residual)
    assert weights(Huber(), batch, old) == pytest.approx(expected)


def test_neighbours_count_labels_by_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study.parts.row_weights, "NEAREST", 2)
    H = np.zeros((4, D))
    H[:, 0] = [0, 0, 1, 3]  # the second row is a copy of the first
    batch = Batch(np.array([0, 0, 0, 1]), 0, 2, 0, H, identity)
    found = weights(Neighbours(), batch, Sums(D))
    assert found[:2] == pytest.approx(1)
    assert found[2] == pytest.approx(1) and found[3] == pytest.approx(0)


def test_adaptive_neighbours_vote_as_in_the_example() -> None:
    # of equal distances the first row is nearer: row 1 has row 0 before row 2
    near, _ = nearest_rows(np.array([[0.0], [1], [2], [3], [10]]), 4)
    own = np.array([0, 0, 1, 0, 1])
    assert first_agreeing(own[near], own, np.ones(5, int), 5).tolist() == [1, 1, 5, 3, 5]


def test_adaptive_neighbours_are_those_of_a_loop() -> None:
    batch, old, _ = contaminated()
    H, labels = batch.H, batch.columns
    H[5], labels[5] = H[0], labels[0] + 1  # a copy of a row under another label is its nearest row
    X = H / np.linalg.norm(H, axis=1)[:, None]
    expected, kept = [], []
    for i in range(len(X)):
        others = np.delete(np.arange(len(X)), i)
        near = others[np.argsort(np.linalg.norm(X[others] - X[i], axis=1), kind="stable")]
        first = min(11, np.count_nonzero(labels == labels[i]) // 2)
        agreeing = [
            k for k in range(first, 51, 2) if np.bincount(labels[near[:k]]).argmax() == labels[i]
        ]
        expected.append(first / min([*agreeing, 51]))
        kept.append(float(bool(agreeing)))
    assert weights(AdaptiveNeighbours(), batch, old) == pytest.approx(expected)
    assert weights(AgreeingOnly(), batch, old).tolist() == kept
    assert 0 < np.mean(kept) < 1


def test_few_clean_rows_pass_the_adaptive_neighbours() -> None:
    """Five rows a class have no majority among eleven neighbours."""
    H, labels = rows(range(5), 5, seed=2)
    few = Batch(labels, 0, 5, 0, H, identity)
    assert (weights(AgreeingOnly(), few, Sums(D)) == 1).all()
    for n in (1, 2, 3):  # fewer rows than k_min
        part = Batch(np.arange(n), 0, n, 0, H[:n], identity)
        kept = AgreeingOnly().judge(part, Sums(D), Ridge(), RIDGE)
        assert len(kept.columns) == n


def test_pseudo_labels_weigh_as_in_the_example() -> None:
    kind, batch = PseudoLabels(), Batch(np.array([0, 0, 1]), 0, 3, 0, np.eye(3, D), identity)
    kind.came = np.array([2.0])
    assert kind.judge(batch, Sums(D), Ridge(), RIDGE).row_weights == pytest.approx([1, 1, 2])
    assert kind.came.tolist() == [4, 1, 0]
    # rows that score 1 for class 0: two labels, nu = (1, 2, 0)
    old = summed(np.eye(1, D) * 1e3, np.array([0]), 1)
    kind.came = np.array([4.0])
    double = Batch(np.array([1]), 1, 3, 1, np.eye(1, D) * 1e3, identity)
    judged = kind.judge(double, old, Ridge(), RIDGE)
    assert judged.row_weights == pytest.approx([1.5])
    assert judged.labels.tolist() == [[1, 1, 0]]


@pytest.mark.parametrize("threshold", ["own", 0.6])
def test_pseudo_labels_are_those_of_the_ridge_before(threshold: str | float) -> None:
    batch, old, is_old = contaminated()
    W = np.linalg.solve(old.R + RIDGE * np.eye(D), old.C)
    limit = np.sum(W * old.C / old.counts, axis=0) if threshold == "own" else threshold
    high = batch.H @ W > limit
    assert high[is_old].any() and not high[is_old].all()
    multi = PseudoLabels(balance="none", threshold=threshold).judge(batch, old, Ridge(), RIDGE)
    Y = np.eye(8)[batch.columns]
    Y[:, :4] += high
    assert multi.labels.tolist() == Y.tolist() and multi.row_weights is None
    swap = PseudoLabels(labels="swap", threshold=threshold).judge(batch, old, Ridge(), RIDGE)
    called = np.argmax(np.where(high, batch.H @ W, -np.inf), axis=1)
    assert np.array_equal(swap.columns, np.where(high.any(axis=1), called, batch.columns))
    assert swap.labels is None
    nu = 1 / np.sqrt(np.bincount(batch.columns, minlength=8).clip(1))
    nu[:4] = 0  # no row came under these labels: the sums before are of another learner
    assert swap.row_weights == pytest.approx((8 / nu.sum() * nu)[swap.columns])
    # shares keep the scatter positive semidefinite; whole labels do not
    least = []
    for head in (RidgedScatter(), Ridge()):
        sums = old.copy()
        kind = PseudoLabels(balance="none", threshold=threshold)
        kind.judge(batch, old, head, RIDGE).add_to(sums)
        S = sums.R - (sums.C / sums.counts) @ sums.C.T
        least.append(np.linalg.eigvalsh(S)[0])
    assert least[0] > -1e-9


def test_without_high_scores_and_with_equal_classes_pseudo_labels_change_nothing() -> None:
    learners = [build("compose", ridge=0.1)]
    for balance in ("sqrt", "none"):
        settings = {"threshold": 1e9, "balance": balance}
        learners.append(build("compose", ridge=0.1, row_weights={"pseudo-labels": settings}))
    for learner in learners:
        for t in range(2):
            learner.fit_session(*rows(range(4 * t, 4 * t + 4), 20, seed=t))
        assert learner.weights == pytest.approx(learners[0].weights, abs=1e-12)
    everything = Batch(np.full(6, 4), 4, 5, 1, rows(range(1), 6, seed=3)[0], identity)
    old = summed(*rows(range(4), 20, seed=1), 4)
    kind = PseudoLabels(labels="swap", threshold=0.1)
    assert kind.judge(everything, old, Ridge(), RIDGE).columns.tolist() == [4] * 6


def test_the_old_model_compares_with_the_mean_of_the_others() -> None:
    batch, old, _ = contaminated()
    S = old.R - (old.C / old.counts) @ old.C.T
    L = np.linalg.inv(S + np.trace(S) / D * np.eye(D))
    expected = []
    for i in range(len(batch.columns)):
        others = (batch.columns == batch.columns[i]) & (np.arange(len(batch.columns)) != i)
        e = batch.H[i] - batch.H[others].mean(axis=0)
        away = [batch.H[i] - m for m in (old.C / old.counts).T]
        expected.append(min(a @ L @ a for a in away) >= e @ L @ e)
    assert weights(OldModel(), batch, old) == pytest.approx(np.array(expected, dtype=float))


def test_the_filter_drops_no_more_rows_than_it_finds_and_none_from_a_clean_session() -> None:
    found = []
    for wrong_rows in (0, 10, 30):
        batch, old, _ = contaminated(wrong_rows)
        kind = ContaminationFilter()
        dropped = ~kept(kind, batch, old)
        found.append(kind.report()["contamination"])
        assert np.count_nonzero(dropped) <= round(kind.contamination * len(batch.columns))
        assert dropped.any() == (wrong_rows > 0)
        assert (weights(OldModel(), batch, old)[dropped] == 0).all()
    assert found[0] == 0 and 0.1 < found[1] < found[2] < 0.5


def test_clusters_relabel_by_majority() -> None:
    H, truth = rows(range(4), 10, seed=2, spread=0.05)
    told = truth.copy()
    told[[0, 11, 22]] = [3, 2, 0]
    batch = Batch(told, 0, 4, 0, H, identity)
    assert np.array_equal(Clusters().judge(batch, Sums(D), Ridge(), 1.0).columns, truth)
    told[10:] = np.arange(30) % 4  # of three clusters nobody knows whose they are: no class is lost
    mixed = Batch(told, 0, 4, 0, H, identity)
    assert set(Clusters().judge(mixed, Sums(D), Ridge(), 1.0).columns) == set(range(4))


def test_the_noise_matrix_is_unbiased() -> None:
    H, truth = rows(range(5), 4000, seed=2, spread=0.05)
    rng, told = np.random.default_rng(3), truth.copy()
    flipped = rng.random(len(told)) < 0.4
    told[flipped] = (told[flipped] + rng.integers(1, 5, flipped.sum())) % 5
    batch = Batch(told, 0, 5, 0, H, identity)
    judged = NoiseMatrix(0.4).judge(batch, Sums(D), Ridge(), 1.0)
    sums, clean = Sums(D), summed(H, truth, 5)
    judged.add_to(sums)
    assert sums.R == pytest.approx(clean.R)
    assert sums.C == pytest.approx(clean.C, abs=0.05 * np.abs(clean.C).max())
    assert sums.counts == pytest.approx(clean.counts, rel=0.05)
    with pytest.raises(InputError, match="say nothing"):
        NoiseMatrix(0.8).judge(batch, Sums(D), Ridge(), 1.0)


def test_new_only_never_learns_an_old_class_again() -> None:
    learner = build("compose", ridge=0.1, row_weights="new-only")
    learner.fit_session(*rows(range(4), 20, seed=1))
    before = learner.total.counts.copy()
    learner.fit_session(*rows(range(2, 6), 20, seed=2))
    assert learner.total.counts[:4].tolist() == before.tolist()
    weights = learner.weights.copy()
    learner.fit_session(*rows(range(2), 20, seed=3))
    assert learner.weights == pytest.approx(weights, abs=1e-12)
