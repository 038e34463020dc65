"""Closed-form peers with a map, as their recursions and formulas print them (methods.md 2.1 to 2.10).

Maps arrive as functions or matrices, random splits as index lists: what is drawn is the caller's.
"""

from collections.abc import Callable, Iterator

import numpy as np

from .ridge import class_list, one_hot

Session = tuple[np.ndarray, np.ndarray]


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-z))


def relu(z: np.ndarray) -> np.ndarray:
    return np.where(z > 0, z, 0.0)


def largest(level: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the activation that keeps the floor(level M) largest signed values of a row."""

    def activation(z: np.ndarray) -> np.ndarray:
        rank = np.argsort(np.argsort(-z, axis=1), axis=1)
        return np.where(rank < int(level * z.shape[1]), z, 0.0)

    return activation


def batches(sessions: list[Session], size: int) -> Iterator[Session]:
    for Phi, y in sessions:
        for start in range(0, len(y), size):
            yield Phi[start : start + size], y[start : start + size]


def recursion(
    sessions: list[Session],
    mapped: Callable[[np.ndarray], np.ndarray],
    ridge: float,
    batch: int,
    passes: int = 1,
) -> np.ndarray:
    """ACIL's recursion, columns appended when a class first shows: R from I / ridge, W from 0."""
    classes = class_list(sessions)
    M = mapped(sessions[0][0][:1]).shape[1]
    R, W = np.eye(M) / ridge, np.zeros((M, len(classes)))
    for Phi, y in batches(sessions, batch):
        X, Y = mapped(Phi), one_hot(y, classes)
        for _ in range(passes):
            K = np.linalg.inv(np.eye(len(X)) + X @ R @ X.T)
            R = R - R @ X.T @ K @ X @ R
            W = W + R @ X.T @ (Y - X @ W)
    return W


def dual_stream(
    sessions: list[Session], W_map: np.ndarray, ridges: tuple[float, float], ratio: float
) -> Callable[[np.ndarray], np.ndarray]:
    """DS-AL with one batch a session, by two recursions; returns the score function."""
    M = W_map.shape[1]
    R_a, R_b = np.eye(M) / ridges[0], np.eye(M) / ridges[1]
    W_a, W_b = np.zeros((M, 0)), np.zeros((M, 0))
    for t, (Phi, y) in enumerate(sessions):
        old = W_a.shape[1]
        classes = class_list(sessions[: t + 1])
        extra = np.zeros((M, len(classes) - old))
        W_a, W_b = np.hstack([W_a, extra]), np.hstack([W_b, extra])
        z, Y = Phi @ W_map, one_hot(y, classes)
        a, b = relu(z), np.tanh(z)
        K = np.linalg.inv(np.eye(len(a)) + a @ R_a @ a.T)
        R_a = R_a - R_a @ a.T @ K @ a @ R_a
        W_a = W_a + R_a @ a.T @ (Y - a @ W_a)
        E = Y - a @ W_a
        E[:, :old] = 0.0
        K = np.linalg.inv(np.eye(len(b)) + b @ R_b @ b.T)
        R_b = R_b - R_b @ b.T @ K @ b @ R_b
        W_b = W_b + R_b @ b.T @ (E - b @ W_b)
    return lambda Phi: relu(Phi @ W_map) @ W_a + ratio * (np.tanh(Phi @ W_map) @ W_b)


def kernel(centres: np.ndarray, sigma: float) -> Callable[[np.ndarray], np.ndarray]:
    """GKEAL's kernels."""

    def mapped(Phi: np.ndarray) -> np.ndarray:
        squares = np.sum((Phi[:, None] - centres) ** 2, axis=2)
        return np.exp(-squares / (2 * sigma**2))

    return mapped


def balanced(
    sessions: list[Session], mapped: Callable[[np.ndarray], np.ndarray], ridge: float
) -> np.ndarray:
    """AIR with every class's own Gram matrix kept."""
    classes = class_list(sessions)
    H = mapped(np.concatenate([Phi for Phi, _ in sessions]))
    y = np.concatenate([labels for _, labels in sessions])
    grams = [H[y == c].T @ H[y == c] for c in classes]
    w = np.array([1.0 / np.count_nonzero(y == c) for c in classes])
    pi = w * len(classes) / w.sum()
    A = sum(p * G for p, G in zip(pi, grams, strict=True)) + ridge * np.eye(H.shape[1])
    return np.linalg.inv(A) @ (H.T @ one_hot(y, classes) @ np.diag(pi))


def gcv_scores(H: np.ndarray, Y: np.ndarray, grid: list[float]) -> np.ndarray:
    """Fly-CL's scores from the thin SVD, the hat matrix written out."""
    U, s, _ = np.linalg.svd(H, full_matrices=False)
    n = len(H)
    scores = []
    for ridge in grid:
        h = s**2 / (s**2 + ridge)
        hat = U @ np.diag(h) @ U.T
        scores.append((np.sum((Y - hat @ Y) ** 2) / n) / (1 - np.sum(h) / n) ** 2)
    return np.array(scores)


def truncated(
    sessions: list[Session],
    mapped: Callable[[np.ndarray], np.ndarray],
    kept: float,
    cap: int,
    block: int,
) -> np.ndarray:
    """LoRanPAC: SVD of [U diag(s), H^T] formed whole at each update, r leading triplets kept."""
    classes = class_list(sessions)
    M = mapped(sessions[0][0][:1]).shape[1]
    U, s, C, n = np.zeros((M, 0)), np.zeros(0), np.zeros((M, len(classes))), 0
    for Phi, y in batches(sessions, block):
        H = mapped(Phi)
        n += len(H)
        C += H.T @ one_hot(y, classes)
        r = min(round(kept * n), cap, int(kept * M))
        U, s, _ = np.linalg.svd(np.hstack([U * s, H.T]), full_matrices=False)
        U, s = U[:, :r], s[:r]
    return U @ np.diag(1 / s**2) @ U.T @ C
