"""The contaminated fraction of a session, against its definition and against streams of which it is known."""

import numpy as np
import pytest

from sparcl.algebra.contamination import contaminated_share
from sparcl.algebra.sums import Sums

D = 12
OLD = np.pad(np.random.default_rng(7).normal(size=(6, D - 3)), ((0, 0), (0, 3)))
NEW = np.vstack([OLD.mean(axis=0) + 3 * axis for axis in np.eye(D)[-3:]])  # apart from OLD's spread


def drawn(means: np.ndarray, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat(np.arange(len(means)), n)
    return means[labels] + 0.4 * np.random.default_rng(seed).normal(size=(len(labels), D)), labels


def summed(H: np.ndarray, labels: np.ndarray) -> Sums:
    sums = Sums(D)
    sums.grow(int(labels.max()) + 1)
    sums.accumulate(H, labels)
    return sums


def session(share: float, n: int = 900, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three new classes, columns 6 to 8, of which a share is of old classes."""
    H, labels = drawn(NEW, n, seed)
    rng = np.random.default_rng(seed + 1)
    strange = rng.random(len(H)) < share
    H[strange] = rng.permutation(drawn(OLD, n, seed + 2)[0])[: strange.sum()]
    return H, labels + len(OLD)


def test_the_estimate_is_its_definition() -> None:
    old, (H, labels) = summed(*drawn(OLD, 30, 0)), session(0.3, 20)
    M = (old.C / old.counts).T
    B = np.cov(M.T, bias=True)
    within = old.R - M.T @ np.diag(old.counts) @ M
    spreads = []
    for label in np.unique(labels):
        X = H[labels == label] - H[labels == label].mean(axis=0)
        spreads.append(np.sum((X.T @ X) * B) / (len(X) - 1))
    expected = np.mean(spreads) - np.sum(within * B) / (old.n - len(OLD))
    share, error = contaminated_share(old, H, labels)
    assert share == pytest.approx(expected / np.sum(B * B))
    assert error == pytest.approx(np.std(spreads, ddof=1) / np.sqrt(3) / np.sum(B * B))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.6])
def test_a_known_share_is_found(share: float) -> None:
    found, error = contaminated_share(summed(*drawn(OLD, 900, 0)), *session(share))
    assert found == pytest.approx(share, abs=0.03)
    assert error < 0.05


def test_a_share_among_the_old_rows_is_made_up_for() -> None:
    H, labels = drawn(OLD, 2000, 0)
    wrong = np.random.default_rng(5).random(len(H)) < 0.2
    labels[wrong] = np.random.default_rng(6).integers(len(OLD), size=wrong.sum())
    old, new = summed(H, labels), session(0.4)
    without, made_up = (
        contaminated_share(old, *new)[0],
        contaminated_share(old, *new, inside=0.2)[0],
    )
    assert made_up == pytest.approx(without + 0.2)


def test_nothing_is_told_where_nothing_spreads() -> None:
    H, labels = session(0.5, 20)
    one, same = drawn(OLD[:1], 30, 0), np.repeat(OLD[:1], 60, axis=0)
    assert contaminated_share(summed(*one), H, labels) == (0, 0)
    assert contaminated_share(summed(same, np.repeat([0, 1], 30)), H, labels) == (0, 0)
    old = summed(*drawn(OLD, 30, 0))
    assert contaminated_share(old, H[[0, 20]], labels[[0, 20]]) == (0, 0)  # one row a class
    assert contaminated_share(old, H[:20], labels[:20])[1] == 0  # one class: no error is known
