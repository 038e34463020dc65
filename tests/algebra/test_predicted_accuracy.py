"""The accuracy that held-out sums predict, against loops over rows and against what comes true."""

import numpy as np
import pytest
from reference.ridge import predicted_accuracy as by_rows

from sparcl.algebra import ridge


def blobs(seed: int, c: int, n: int, d: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((c, d))
    y = rng.integers(0, c, n)
    return means[y] + spread * rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) / d, y


def sums(Phi: np.ndarray, y: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    Y = np.eye(c)[y]
    return Phi.T @ Phi, Phi.T @ Y, Y.sum(axis=0).astype(int)


@pytest.mark.parametrize(("c", "d", "n"), [(2, 5, 60), (7, 20, 300), (7, 400, 300)])
def test_sums_say_what_rows_say(c: int, d: int, n: int) -> None:
    Phi, y = blobs(1, c, n, d, 2.0)
    W = np.random.default_rng(2).standard_normal((d, c))
    assert ridge.predicted_accuracy(W, *sums(Phi, y, c)) == pytest.approx(by_rows(W, Phi, y))


def test_a_class_without_rows_counts_for_nothing() -> None:
    Phi, y = blobs(1, 4, 200, 10, 2.0)
    keep = y != 2
    W = np.random.default_rng(2).standard_normal((10, 4))
    predicted = ridge.predicted_accuracy(W, *sums(Phi[keep], y[keep], 4))
    assert predicted == pytest.approx(by_rows(W, Phi[keep], y[keep]))


def test_the_prediction_comes_true_on_gaussian_classes() -> None:
    Phi, y = blobs(3, 5, 6000, 12, 4.0)
    R, C, _ = sums(Phi[:2000], y[:2000], 5)
    W = np.linalg.solve(R + np.eye(12), C)
    predicted = ridge.predicted_accuracy(W, *sums(Phi[2000:4000], y[2000:4000], 5))
    measured = np.mean(np.argmax(Phi[4000:] @ W, axis=1) == y[4000:])
    assert 0.5 < measured < 0.98
    # rivals are not quite independent, so the model is a little pessimistic
    assert predicted == pytest.approx(measured, abs=0.05)
