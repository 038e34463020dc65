"""Prototype, Gaussian and softmax heads (methods.md 2.12, 3), class by class and sample by sample."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import softmax

from .ridge import class_list

Sessions = list[tuple[np.ndarray, np.ndarray]]


# --- shared covariance ----------------------------------------------------------------------------


def class_rows(sessions: Sessions) -> list[np.ndarray]:
    """Return the samples of each class, in the order of :func:`class_list`."""
    Phi = np.concatenate([np.asarray(block, dtype=np.float64) for block, _ in sessions])
    y = np.concatenate([labels for _, labels in sessions])
    return [Phi[y == label] for label in class_list(sessions)]


def within(classes: list[np.ndarray]) -> np.ndarray:
    """Return the sum of outer products about the class means (d, d)."""
    return sum(np.cov(rows.T, bias=True) * len(rows) for rows in classes)


def distances(X: np.ndarray, centre: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return (x - centre)^T L (x - centre) of each row x."""
    return np.sum((X - centre) @ precision * (X - centre), axis=1)


def oas(cov: np.ndarray, n: int) -> tuple[np.ndarray, float]:
    """Return the OAS-shrunk covariance and the shrinkage, as scikit-learn states it."""
    d = len(cov)
    mu = np.trace(cov) / d
    alpha = np.mean(cov**2)
    rho = min(1.0, (alpha + mu**2) / ((n + 1) * (alpha - mu**2 / d)))
    return (1 - rho) * cov + rho * mu * np.eye(d), rho


def lda_scores(classes: list[np.ndarray], precision: np.ndarray, probe: np.ndarray) -> np.ndarray:
    """score = f^T L mu - mu^T L mu / 2, one class at a time."""
    means = [rows.mean(axis=0) for rows in classes]
    return np.stack([probe @ precision @ mu - mu @ precision @ mu / 2 for mu in means], axis=1)


def slda(sessions: Sessions, probe: np.ndarray, shrinkage: float, *, frozen: bool) -> np.ndarray:
    classes = class_rows(sessions)
    if frozen:
        base = class_rows(sessions[:1])
        n = sum(map(len, base))
        sigma, _ = oas(within(base) / n, n)
    else:
        sigma = within(classes) / sum(map(len, classes))
    d = len(sigma)
    L = np.linalg.inv((1 - shrinkage) * sigma + shrinkage * np.eye(d))
    return lda_scores(classes, L, probe)


def fourier(Phi: np.ndarray, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.sqrt(2 / len(b)) * np.cos(Phi @ W + b)


def klda(
    sessions: Sessions, probe: np.ndarray, W: np.ndarray, b: np.ndarray, ridge: float
) -> np.ndarray:
    """Minus the squared Mahalanobis distance, under the pseudo-inverse where the ridge is 0."""
    classes = class_rows([(fourier(Phi, W, b), y) for Phi, y in sessions])
    S = within(classes)
    if ridge == 0:
        inverse = np.linalg.pinv(S, rcond=1e-12, hermitian=True)
    else:
        inverse = np.linalg.inv(S + ridge * np.trace(S) / len(S) * np.eye(len(S)))
    H = fourier(probe, W, b)
    return np.stack([-distances(H, rows.mean(axis=0), inverse) for rows in classes], axis=1)


def randumb(
    sessions: Sessions, probe: np.ndarray, expand: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, float]:
    """Return LDA scores with log priors on the mapped features, and the shrinkage."""
    classes = class_rows([(expand(Phi), y) for Phi, y in sessions])
    n = sum(map(len, classes))
    sigma, rho = oas(within(classes) / n, n)
    priors = np.log([len(rows) / n for rows in classes])
    return lda_scores(classes, np.linalg.inv(sigma), expand(probe)) + priors, rho


# --- a covariance for each class ------------------------------------------------------------------


def unit(Phi: np.ndarray) -> np.ndarray:
    return Phi / np.linalg.norm(Phi, axis=1, keepdims=True)


def fecam(sessions: Sessions, probe: np.ndarray, alpha: float) -> np.ndarray:
    """Minus the squared Mahalanobis distance under the correlation matrix of the shrunk covariance."""
    scores = []
    for rows in class_rows([(unit(Phi), y) for Phi, y in sessions]):
        cov = np.cov(rows.T)
        cov = cov + alpha * np.mean(np.diag(cov)) * np.eye(len(cov))
        sd = np.sqrt(np.diag(cov))
        inverse = np.linalg.pinv(cov / np.outer(sd, sd))
        scores.append(-distances(unit(probe), rows.mean(axis=0), inverse))
    return np.array(scores).T


def fenec(
    sessions: Sessions,
    probe: np.ndarray,
    shrinkage: tuple[float, float],
    points: list[np.ndarray],
    neighbours: int,
    by_distance: bool,
) -> np.ndarray:
    """Return the class (n,) of each row by a vote of the nearest of ``points`` (k_c, d) of every class."""
    found = [[] for _ in probe]
    for j, rows in enumerate(class_rows([(unit(Phi), y) for Phi, y in sessions])):
        cov, d = np.cov(rows.T), probe.shape[1]
        off = cov[~np.eye(d, dtype=bool)].mean()
        cov = cov + shrinkage[0] * np.mean(np.diag(cov)) * np.eye(d)
        cov = cov + shrinkage[1] * off * (np.ones((d, d)) - np.eye(d))
        sd = np.sqrt(np.diag(cov))
        inverse = np.linalg.pinv(cov / np.outer(sd, sd))
        for m in points[j]:
            for pairs, square in zip(found, distances(unit(probe), m, inverse), strict=True):
                pairs.append((np.sqrt(square), j))
    result = []
    for pairs in found:
        votes: dict[int, float] = {}
        for distance, j in sorted(pairs)[:neighbours]:  # a class enters with its nearest
            votes[j] = votes.get(j, 0) + (1 / distance if by_distance else 1)
        result.append(max(votes, key=votes.get))
    return np.array(result)


# --- exemplars ------------------------------------------------------------------------------------


def herding(rows: np.ndarray, m: int) -> list[int]:
    """Greedily bring the mean of the chosen rows near the mean of all, literally."""
    mean, chosen = rows.mean(axis=0), []
    for k in range(1, min(m, len(rows)) + 1):
        distances = {
            i: np.linalg.norm(mean - (rows[i] + sum(rows[c] for c in chosen)) / k)
            for i in range(len(rows))
            if i not in chosen
        }
        chosen.append(min(distances, key=distances.get))
    return chosen


def icarl_nme(sessions: Sessions, probe: np.ndarray, memory: int) -> np.ndarray:
    """Cosine with the means of exemplars, after all sessions; no class returns."""
    kept: list[np.ndarray] = []
    for t in range(len(sessions)):
        m = memory // len(class_list(sessions[: t + 1]))
        kept = [rows[:m] for rows in kept]
        kept += [rows[herding(rows, m)] for rows in map(unit, class_rows(sessions[t : t + 1]))]
    means = unit(np.stack([rows.mean(axis=0) for rows in kept]))
    return unit(probe) @ means.T


# --- softmax heads --------------------------------------------------------------------------------


def gradients(
    W: np.ndarray, b: np.ndarray, X: np.ndarray, targets: np.ndarray, first: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient of the mean cross-entropy over the columns from ``first`` on."""
    error = np.zeros((len(X), len(b)))
    error[:, first:] = softmax(X @ W[:, first:] + b[first:], axis=1)
    error[np.arange(len(X)), targets] -= 1
    return X.T @ error / len(X), error.mean(axis=0)


def chunks(n: int, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    order = rng.permutation(n)
    return (order[start : start + size] for start in range(0, n, size))


class Sgd:
    """p <- p - rate v with v <- momentum v + gradient + decay p, for W and b."""

    def __init__(self, momentum: float, decay: float) -> None:
        self.momentum, self.decay, self.v = momentum, decay, [0.0, 0.0]

    def __call__(
        self, rate: float, pair: tuple[np.ndarray, np.ndarray], slopes: tuple
    ) -> tuple[np.ndarray, np.ndarray]:
        self.v = [
            self.momentum * v + g + self.decay * p
            for v, g, p in zip(self.v, slopes, pair, strict=True)
        ]
        return tuple(p - rate * v for p, v in zip(pair, self.v, strict=True))


def columns_of(sessions: Sessions, t: int) -> tuple[np.ndarray, int, int]:
    """Return the columns of session t's labels, and the number of classes before and after."""
    classes = class_list(sessions[: t + 1])
    columns = np.array([classes.index(int(label)) for label in sessions[t][1]])
    return columns, len(class_list(sessions[:t])), len(classes)


def ft_head(
    sessions: Sessions, rngs: list, rate: float, epochs: int, batch: int
) -> tuple[np.ndarray, np.ndarray]:
    d = sessions[0][0].shape[1]
    W, b = np.zeros((d, 0)), np.zeros(0)
    for t, ((X, _), rng) in enumerate(zip(sessions, rngs, strict=True)):
        columns, old, new = columns_of(sessions, t)
        bound = np.sqrt(3 / d)
        W = np.hstack([W, rng.uniform(-bound, bound, (d, new - old))])
        b = np.append(b, np.zeros(new - old))
        step = Sgd(0.9, 2e-4 if t else 5e-4)
        for _ in range(epochs):
            for rows in chunks(len(X), batch, rng):
                W, b = step(rate, (W, b), gradients(W, b, X[rows], columns[rows], old))
    return W, b


def derpp_head(
    sessions: Sessions,
    rngs: list,
    buffer: int,
    alpha: float,
    beta: float,
    rate: float,
    epochs: int,
    batch: int,
) -> tuple[np.ndarray, np.ndarray]:
    d = sessions[0][0].shape[1]
    W, b = np.zeros((d, 0)), np.zeros(0)
    kept: list[tuple[np.ndarray, int, np.ndarray]] = []
    seen = 0
    for t, ((X, _), rng) in enumerate(zip(sessions, rngs, strict=True)):
        columns, old, new = columns_of(sessions, t)
        drawn = rng.uniform(-1 / np.sqrt(d), 1 / np.sqrt(d), (d + 1, new - old))
        W, b = np.hstack([W, drawn[:d]]), np.append(b, drawn[d])
        for _ in range(epochs):
            for rows in chunks(len(X), batch, rng):
                logits = X[rows] @ W + b
                dW, db = gradients(W, b, X[rows], columns[rows])
                if kept:
                    size = min(batch, len(kept))
                    one, two = (rng.choice(len(kept), size, replace=False) for _ in range(2))
                    for x, _, past in (kept[i] for i in one):
                        known = len(
                            past
                        )  # classes when it was stored; mean over size x 100 entries
                        error = 2 * alpha * (x @ W[:, :known] + b[:known] - past) / (size * 100)
                        dW[:, :known] += np.outer(x, error)
                        db[:known] += error
                    rehearsed = np.stack([kept[i][0] for i in two])
                    again = gradients(W, b, rehearsed, np.array([kept[i][1] for i in two]))
                    dW, db = dW + beta * again[0], db + beta * again[1]
                W, b = W - rate * dW, b - rate * db
                slots = rng.integers(0, seen + np.arange(len(rows)) + 1)
                for i, slot, z in zip(rows, slots, logits, strict=True):
                    if len(kept) < buffer:
                        kept.append((X[i], int(columns[i]), z))
                    elif slot < buffer:
                        kept[slot] = (X[i], int(columns[i]), z)
                    seen += 1
    return W, b


def normalised_gradient(z: np.ndarray, target: int, sizes: list[int]) -> np.ndarray:
    """Gradient at z of CE(z / (0.1 N)), N the mean norm of the sessions' logits, by its Jacobian."""
    ends = np.cumsum(sizes)
    parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    N = np.mean([np.linalg.norm(z[part]) + 1e-7 for part in parts])
    dN = np.concatenate([z[part] / np.linalg.norm(z[part]) for part in parts]) / len(sizes)
    jacobian = (np.eye(len(z)) / N - np.outer(z, dN) / N**2) / 0.1
    error = softmax(z / (0.1 * N))
    error[target] -= 1
    return jacobian.T @ error


def slca_frozen(
    sessions: Sessions,
    rngs: list,
    draws: list[np.ndarray],
    rate: float,
    epochs: int,
    alignment: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the aligned head; ``draws`` are the samples of each class and epoch, in order."""
    d, left = sessions[0][0].shape[1], iter(draws)
    W, b, sizes = np.zeros((d, 0)), np.zeros(0), []
    aligned = W, b
    for t, ((X, _), rng) in enumerate(zip(sessions, rngs, strict=True)):
        columns, old, new = columns_of(sessions, t)
        sizes.append(new - old)
        head = 0.02 * rng.standard_normal((d, new - old)), np.zeros(new - old)
        step = Sgd(0.9, 5e-4)
        for epoch in range(epochs):
            for rows in chunks(len(X), 64, rng):
                slopes = gradients(*head, X[rows], columns[rows] - old)
                head = step(rate if epoch < 18 else rate / 10, head, slopes)
        W, b = np.hstack([W, head[0]]), np.append(b, head[1])
        aligned, step = (W, b), Sgd(0.9, 5e-4)
        for epoch in range(alignment if t else 0):
            samples = [next(left) for _ in range(new)]
            S = np.concatenate(samples)
            targets = np.repeat(np.arange(new), [len(s) for s in samples])
            for rows in chunks(len(S), 256, rng):
                dW, db = np.zeros_like(W), np.zeros_like(b)
                for i in rows:
                    z = aligned[0].T @ S[i] + aligned[1]
                    slope = normalised_gradient(z, targets[i], sizes) / len(rows)
                    dW, db = dW + np.outer(S[i], slope), db + slope
                cosine = (1 + np.cos(np.pi * epoch / alignment)) / 2
                aligned = step(rate * cosine, aligned, (dW, db))
    return aligned
