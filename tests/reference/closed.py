"""Closed-form peers, restated with explicit inverses and loops: LR-RGDA, SRDA, KLDA-E, AnaCP, LayUP."""

import numpy as np
from scipy.special import softmax
from scipy.stats import norm

from .heads import class_rows, distances, fourier, oas, within
from .heads import unit as unit_rows

Sessions = list[tuple[np.ndarray, np.ndarray]]


def gelu(Z: np.ndarray) -> np.ndarray:
    return Z * norm.cdf(Z)


def ridge(H: np.ndarray, Y: np.ndarray, value: float) -> np.ndarray:
    return np.linalg.inv(H.T @ H + value * np.eye(H.shape[1])) @ H.T @ Y


# --- LR-RGDA --------------------------------------------------------------------------------------


def lr_rgda(
    sessions: Sessions, probe: np.ndarray, own: float, shared: float, a3: float | None, rank: int
) -> np.ndarray:
    """Return scores (n, c); a3 = None is 0.36 times the mean variance."""
    classes = class_rows(sessions)
    several = [rows for rows in classes if len(rows) > 1]
    mean = sum(np.cov(rows.T) for rows in several) / len(several)
    d = len(mean)
    B = shared * mean + (0.36 * np.trace(mean) / d if a3 is None else a3) * np.eye(d)
    covariances = [B + own * own_covariance(rows, np.eye(d), rank) for rows in classes]
    return np.stack([gaussian(probe, *pair) for pair in zip(classes, covariances, strict=True)], 1)


def gaussian(X: np.ndarray, rows: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Return the log-density (n,) of X about the mean of rows, up to a constant."""
    squares = distances(X, rows.mean(axis=0), np.linalg.inv(sigma))
    return -0.5 * (squares + np.linalg.slogdet(sigma)[1])


# --- SRDA -----------------------------------------------------------------------------------------


def srda(
    sessions: Sessions, probe: np.ndarray, own: float, epsilon: float, official: bool
) -> np.ndarray:
    """Return scores (n, c); official: epsilon is absolute, and a Frobenius norm stands for the determinant."""
    classes = class_rows(sessions)
    n, d = sum(map(len, classes)), probe.shape[1]
    pooled = within(classes) / n
    floor = epsilon * (1.0 if official else np.trace(pooled) / d)
    scores = []
    for rows in classes:
        mixed = own * within([rows]) / len(rows) + (1 - own) * pooled
        sigma = (1 - epsilon) * mixed + floor * np.eye(d)
        size = np.log(np.linalg.norm(mixed)) if official else np.linalg.slogdet(sigma)[1]
        squares = distances(probe, rows.mean(axis=0), np.linalg.inv(sigma))
        scores.append(np.log(len(rows) / n) - 0.5 * (size + squares))
    return np.stack(scores, axis=1)


# --- SPARCL+ --------------------------------------------------------------------------------------


def shared_covariance(classes: list[np.ndarray], alpha: float = 1.0) -> tuple[np.ndarray, float]:
    """Return S + a s I (D, D) of SPARCL+ from the rows of each class, and a s."""
    n, D = sum(map(len, classes)), classes[0].shape[1]
    S = within(classes) / n
    rho = min(oas(S, n)[1], 0.99)
    floor = (min(alpha, D / n) + rho / (1 - rho)) * np.trace(S) / D
    return S + floor * np.eye(D), floor


def own_covariance(rows: np.ndarray, U: np.ndarray, rank: int) -> np.ndarray:
    """Return ``U S_c^(r) U^T`` (D, D), S_c^(r) the leading pairs of a class's covariance in the core."""
    if len(rows) < 2:
        return np.zeros((len(U), len(U)))
    values, V = np.linalg.eigh(U.T @ np.cov(rows.T) @ U)
    top = U @ V[:, ::-1][:, :rank]
    return top @ np.diag(values[::-1][:rank]) @ top.T


def sparcl_plus(
    sessions: Sessions,
    probe: np.ndarray,
    U: np.ndarray,
    rank: int,
    own: float,
    weight: float,
    unit: bool = False,
) -> np.ndarray:
    """Return scores (n, c) from D x D covariances of every class, up to a term that all classes share."""
    classes = class_rows(sessions)
    A, floor = shared_covariance(classes)
    n = sum(map(len, classes))
    M = np.stack([rows.mean(axis=0) for rows in classes], axis=1)
    densities = []
    for rows in classes:
        share = own * len(rows) / (len(rows) + 20)
        densities.append(gaussian(probe, rows, A + share * own_covariance(rows, U, rank)))
    H = np.concatenate(classes)
    R = H.T @ H
    W_ridge = np.linalg.inv(R + n * floor * np.eye(len(R))) @ (M * [len(rows) for rows in classes])
    if unit:
        W_ridge = np.stack([w / np.linalg.norm(w) for w in W_ridge.T], axis=1)
    scores = np.stack(densities, axis=1) / noise(np.linalg.inv(A) @ M, A)
    return scores + weight * (probe @ W_ridge) / noise(W_ridge, A)


def noise(W: np.ndarray, covariance: np.ndarray) -> float:
    """Return the deviation of a score less the mean of all scores."""
    centred = W - W.mean(axis=1, keepdims=True)
    return float(np.sqrt(np.mean([v @ covariance @ v for v in centred.T])))


# --- KLDA-E ---------------------------------------------------------------------------------------


def klda_e(
    sessions: Sessions, probe: np.ndarray, maps: list[tuple[np.ndarray, np.ndarray]], ridge: float
) -> np.ndarray:
    """Return mean posteriors (n, c); ``ridge`` in units of the trace over the samples."""
    total = 0.0
    for W, b in maps:
        classes = class_rows([(fourier(Phi, W, b), y) for Phi, y in sessions])
        S = within(classes)
        n = sum(map(len, classes))
        inverse = np.linalg.inv(S + ridge * np.trace(S) / n * np.eye(len(S)))
        H = fourier(probe, W, b)
        squares = np.stack([distances(H, rows.mean(axis=0), inverse) for rows in classes], axis=1)
        total = total + softmax(-squares, axis=1) / len(maps)
    return np.asarray(total)


# --- AnaCP ----------------------------------------------------------------------------------------


class AnaCp:
    """Heads with the draws given; statistics sample by sample."""

    def __init__(self, Ws: list[np.ndarray], W0: np.ndarray, value: float, official: bool) -> None:
        self.Ws, self.W0, self.value, self.official = Ws, W0, value, official
        self.sessions: Sessions = []
        self.covariance = np.zeros((0, 0))

    def fit(self, Phi: np.ndarray, y: np.ndarray, normal: list[np.ndarray] | None = None) -> None:
        """Learn a session; ``normal`` are standard normal rows of each class, in the order of classes."""
        self.sessions.append((unit_rows(Phi), y))
        classes = class_rows(self.sessions)
        means = np.stack([rows.mean(axis=0) for rows in classes])
        self._covariance(classes, means)
        self.P = self._targets(means)
        H = np.concatenate([rows for rows in classes])
        Y = np.repeat(np.eye(len(classes)), [len(rows) for rows in classes], axis=0)
        # targets as the code has them: d columns in place of a one-hot ridge
        self.Ts = [ridge(gelu(H @ W), Y @ self.P, self.value) for W in self.Ws]
        if normal is not None:
            values, V = np.linalg.eigh(self.covariance)
            root = V @ np.diag(np.sqrt(np.maximum(values, 0))) @ V.T
            rows = np.concatenate([m + z @ root for m, z in zip(means, normal, strict=True)])
            drawn = np.repeat(np.eye(len(classes)), [len(z) for z in normal], axis=0)
            self.theta = ridge(gelu(self.first(rows) @ self.W0), drawn, self.value)

    def _covariance(self, classes: list[np.ndarray], means: np.ndarray) -> None:
        d, n = means.shape[1], sum(map(len, classes))
        if not self.official:
            self.covariance = within(classes) / n + 1e-4 * np.eye(d)
            return
        newest = within(class_rows(self.sessions[-1:])) / len(self.sessions[-1][1])
        if len(self.sessions) == 1:
            self.covariance = newest + 1e-4 * np.eye(d)
        else:
            new = len(self.sessions[-1][1])
            self.covariance = (self.covariance * n + newest * new) / (n + new)

    def _targets(self, means: np.ndarray) -> np.ndarray:
        s, V = np.linalg.eigh(self.covariance)
        A = V @ np.diag((s + 1e-8) ** -0.5) @ V.T
        centre = means.mean(axis=0)
        U, sigma, G = np.linalg.svd((means - centre) @ A, full_matrices=False)
        added = np.ones(len(sigma))
        added[len(means) - 1 :] = 0  # centred means span one direction less than there are classes
        return unit_rows(U @ np.diag(sigma + added) @ G @ A + centre)

    def first(self, rows: np.ndarray) -> np.ndarray:
        return sum(
            unit_rows(gelu(rows @ W) @ T) for W, T in zip(self.Ws, self.Ts, strict=True)
        ) / len(self.Ws)

    def nearest(self, probe: np.ndarray) -> np.ndarray:
        return self.first(unit_rows(probe)) @ self.P.T

    def scores(self, probe: np.ndarray) -> np.ndarray:
        return gelu(self.first(unit_rows(probe)) @ self.W0) @ self.theta
