"""TEEN, C-FeCAM and C-RanPAC, restated class by class with explicit matrices."""

import numpy as np
from scipy.special import softmax

from .heads import class_rows, distances, unit

Sessions = list[tuple[np.ndarray, np.ndarray]]


def like(mean: np.ndarray, base: np.ndarray, cosine: bool = True) -> np.ndarray:
    """Softmax over base means of 16 times the cosine, or the product, with a mean."""
    z = [16 * m @ mean / (np.linalg.norm(m) * np.linalg.norm(mean) if cosine else 1) for m in base]
    return softmax(z)


def prototypes(classes: list[np.ndarray], base: int, shift: float) -> np.ndarray:
    """Prototypes (c, d), the first ``base`` their means, all of unit norm."""
    U = unit(np.stack([rows.mean(axis=0) for rows in classes]))
    found = list(U[:base])
    for u in U[base:]:
        delta = like(u, U[:base]) @ U[:base]
        found.append((1 - shift) * u + shift * delta / np.linalg.norm(delta))
    return unit(np.stack(found))


def teen(sessions: Sessions, probe: np.ndarray, shift: float) -> np.ndarray:
    base = len(class_rows(sessions[:1]))
    return unit(probe) @ prototypes(class_rows(sessions), base, shift).T


def covariance(rows: np.ndarray) -> np.ndarray:
    return np.cov(rows.T) if len(rows) > 1 else np.zeros((rows.shape[1],) * 2)


def c_fecam(
    sessions: Sessions, probe: np.ndarray, shift: float, alpha: float, literal: bool
) -> np.ndarray:
    """Minus squared distances under np.corrcoef of the covariance, or its correlation."""
    classes = class_rows([(unit(Phi), y) for Phi, y in sessions])
    base = len(class_rows(sessions[:1]))
    d = classes[0].shape[1]
    inside = sum(np.sum((rows - rows.mean(axis=0)) ** 2) for rows in classes[:base])
    v = inside / (sum(map(len, classes[:base])) * d)
    means = np.stack([rows.mean(axis=0) for rows in classes])
    points, scores = prototypes(classes, base, shift), []
    for j, rows in enumerate(classes):
        M = covariance(rows) + alpha * v * np.eye(d)
        if j >= base:
            weights = like(means[j], means[:base])
            M += sum(w * covariance(of) for w, of in zip(weights, classes[:base], strict=True))
        sd = np.sqrt(np.diag(M))
        inverse = np.linalg.pinv(np.corrcoef(M) if literal else M / np.outer(sd, sd))
        scores.append(-distances(unit(probe), points[j], inverse))
    return np.array(scores).T


def c_ranpac(
    sessions: Sessions, probe: np.ndarray, W: np.ndarray, ridge: float, drawn: list[np.ndarray]
) -> np.ndarray:
    """Cosines with the ridge's weights on the first session's rows and draws of each later class."""
    first = class_rows(sessions[:1])
    H = np.maximum(np.concatenate([*first, *drawn]) @ W, 0)
    sizes = [len(rows) for rows in [*first, *drawn]]
    Y = np.repeat(np.eye(len(sizes)), sizes, axis=0)
    weights = np.linalg.inv(H.T @ H + ridge * np.eye(H.shape[1])) @ H.T @ Y
    return np.maximum(probe @ W, 0) @ weights / np.linalg.norm(weights, axis=0)


def moments(
    classes: list[np.ndarray], base: int, j: int, shift: float, cosine: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Mean (d,) and covariance (d, d) from which C-RanPAC draws class j."""
    means = np.stack([rows.mean(axis=0) for rows in classes])
    weights = like(means[j], means[:base], cosine)
    shared = sum(w * covariance(of) for w, of in zip(weights, classes[:base], strict=True))
    own = classes[j]
    S = (shared + covariance(own)) / 2 if len(own) > 1 else shared
    return (1 - shift) * means[j] + shift * weights @ means[:base], S
