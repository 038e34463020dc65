"""RanPAC without phase 1 (methods.md 2.8) and nearest class mean (methods.md 2.11)."""

import numpy as np

from .heads import class_rows, unit
from .ridge import class_list, one_hot

GRID = [10.0**power for power in range(-8, 9)]


def primal_ridge(H: np.ndarray, Y: np.ndarray, ridge: float) -> np.ndarray:
    """Minimise ||H W - Y||^2 + ridge ||W||^2 as least squares on the stacked rows.

    The grid goes down to 1e-8, where an explicit inverse of the normal equations loses the digits
    that a test wants to see; the stacked system does not square the condition number.
    """
    M = H.shape[1]
    rows = np.concatenate([H, np.sqrt(ridge) * np.eye(M)])
    targets = np.concatenate([Y, np.zeros((M, Y.shape[1]))])
    return np.linalg.lstsq(rows, targets, rcond=None)[0]


def ranpac_losses(H: np.ndarray, y: np.ndarray, train: np.ndarray, val: np.ndarray) -> np.ndarray:
    """Return the validation MSE of each of the 17 ridges, by one primal solve each."""
    Y = one_hot(y, sorted({int(v) for v in y}))
    weights = [primal_ridge(H[train], Y[train], ridge) for ridge in GRID]
    return np.array([np.mean((H[val] @ W - Y[val]) ** 2) for W in weights])


def ranpac_weights(
    sessions: list[tuple[np.ndarray, np.ndarray]], weights: np.ndarray, ridge: float
) -> np.ndarray:
    """W_t = (G + ridge I)^-1 C on h = relu(f W_rp), all sessions at the newest ridge."""
    H = np.maximum(np.concatenate([Phi for Phi, _ in sessions]) @ weights, 0.0)
    Y = one_hot(np.concatenate([y for _, y in sessions]), class_list(sessions))
    return primal_ridge(H, Y, ridge)


def ncm_logits(sessions: list[tuple[np.ndarray, np.ndarray]], Phi: np.ndarray) -> np.ndarray:
    """Return the cosine of each row with each class mean, columns by first appearance."""
    means = np.stack([rows.mean(axis=0) for rows in class_rows(sessions)])
    return unit(Phi) @ unit(means).T
