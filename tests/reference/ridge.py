"""Ridge regression on one-hot targets, joint and with equality constraints, and how it is validated."""

import math

import numpy as np
from scipy.stats import norm


def class_list(sessions: list[tuple[np.ndarray, np.ndarray]]) -> list[int]:
    """Return classes by first appearance; inside a session by ascending label."""
    seen: list[int] = []
    for _, y in sessions:
        for label in sorted({int(v) for v in y}):
            if label not in seen:
                seen.append(label)
    return seen


def one_hot(y: np.ndarray, classes: list[int]) -> np.ndarray:
    """Return Y (n, c) with a single 1 a row, columns in the order of `classes`."""
    return (np.asarray(y)[:, None] == classes).astype(float)


def sums(
    sessions: list[tuple[np.ndarray, np.ndarray]], classes: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return R = sum Phi^T Phi and C = sum Phi^T Y from all rows at once."""
    Phi = np.concatenate([np.asarray(block, dtype=np.float64) for block, _ in sessions])
    y = np.concatenate([labels for _, labels in sessions])
    return Phi.T @ Phi, Phi.T @ one_hot(y, classes)


def joint_ridge(R: np.ndarray, C: np.ndarray, ridge: float) -> np.ndarray:
    """W = (R + ridge I)^-1 C, equation (2) of the paper, by the explicit inverse."""
    return np.linalg.inv(R + ridge * np.eye(len(R))) @ C


def constrained_ridge(
    R: np.ndarray, C: np.ndarray, ridge: float, U: np.ndarray, G: np.ndarray
) -> np.ndarray:
    """Minimise ||Phi W - Y||^2 + ridge ||W||^2 subject to U^T W = G, by its KKT system.

    [A U; U^T 0] [W; L] = [C; G] with A = R + ridge I (Lemma 1 of the paper, with a multiplier L).
    """
    d, k = U.shape
    A = R + ridge * np.eye(d)
    kkt = np.block([[A, U], [U.T, np.zeros((k, k))]])
    return np.linalg.solve(kkt, np.concatenate([C, G]))[:d]


def objective(R: np.ndarray, C: np.ndarray, ridge: float, W: np.ndarray) -> np.ndarray:
    """Return the ridge objective of each column less ||y||^2, shape (c,)."""
    A = R + ridge * np.eye(len(R))
    return np.sum(W * (A @ W), axis=0) - 2.0 * np.sum(W * C, axis=0)


def predicted_accuracy(W: np.ndarray, Phi: np.ndarray, y: np.ndarray) -> float:
    """Return the accuracy that a Gaussian model of the scores of rows predicts, rival by rival.

    Column j of W (d, c) is class j; y (n,) are columns.  Classes without a row count for nothing.
    """
    live = [c for c in range(W.shape[1]) if np.any(y == c)]
    Z = Phi @ W[:, live]
    means = {i: Z[y == c].mean(axis=0) for i, c in enumerate(live)}
    centred = np.concatenate([Z[y == c] - means[i] for i, c in enumerate(live)])
    S = centred.T @ centred / max(len(Z) - len(live), 1)
    total = 0.0
    for i, c in enumerate(live):
        rivals = [j for j in range(len(live)) if j != i]
        spread = [math.sqrt(S[i, i] + S[j, j] - 2 * S[i, j]) for j in rivals]
        wins = norm.cdf((means[i][i] - means[i][rivals]) / spread)
        total += np.prod(wins) * np.sum(y == c)
    return total / len(Z)
