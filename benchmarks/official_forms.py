"""The form in which each closed-form peer's own code computes a session, restated from its formulas.

Each class keeps what the public code keeps and computes a session the way that it does: products
left to right, explicit inverses, dense Grams, a candidate after the other.  None of it is copied,
and nothing is slowed down: where the public code leaves a choice (a product on a GPU, a sparse
format), the faster one on a CPU stands here.  Sources: RanPAC (commit 012927f), Fly-CL (193b1b8),
Analytic-continual-learning (0afd6bf: ACIL, AIR), GACL (fc21369), F-OAL (73e4ac1), Deep SRDA (c97b826),
FeNeC (286babf), FSCIL-Calibration (fc4c232: TEEN, C-FeCAM, C-RanPAC), WANN (314f2ae), L3A (1067bbd).

:func:`ranpac` and :func:`flycl` take mapped rows and sums in NumPy or in torch, ``gpu.py`` among
their callers.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Array = NDArray[np.floating]
Labels = NDArray[np.integer]
Solution = tuple[Any, float]  # weights (M, K) and the ridge


def ranpac(
    xp: Any, H: Any, Y: Any, G: Any, C: Any, ridges: Sequence[float], fit: Any, val: Any
) -> Solution:
    """Solve RanPAC's session: 17 LU solves on the rows that fit, one on the sums.

    The public code forms one more Gram, that of the fit rows, for the 17 solves.

    Parameters
    ----------
    xp : numpy or torch
    H, Y : mapped rows (n, M) and one-hot targets (n, K) of the session
    G, C : sums with those of the session
    fit, val : rows that fit a candidate and rows that judge it
    """
    A, B, eye = H[fit].T @ H[fit], H[fit].T @ Y[fit], xp.eye(len(G), dtype=G.dtype, device=G.device)
    losses = []
    for ridge in ridges:
        try:
            loss = float(((H[val] @ xp.linalg.solve(A + ridge * eye, B) - Y[val]) ** 2).mean())
        except xp.linalg.LinAlgError:  # a singular matrix in this precision is no candidate
            loss = np.inf
        losses.append(loss if np.isfinite(loss) else np.inf)
    ridge = ridges[int(np.argmin(losses))]
    return xp.linalg.solve(G + ridge * eye, C), ridge


def flycl(
    xp: Any,
    H: Any,
    Y: Any,
    G: Any,
    C: Any,
    ridges: Sequence[float],
    definite_solve: Callable[[Any, Any], Any],
) -> Solution:
    """Solve Fly-CL's session: a thin SVD of its rows for the scores of cross-validation, one Cholesky solve.

    Parameters are those of :func:`ranpac`; ``definite_solve`` returns A^-1 B by Cholesky.
    """
    n, scores = len(H), []
    U, s, _ = xp.linalg.svd(H, full_matrices=False)
    turned = U.T @ Y
    for ridge in ridges:
        h = s**2 / (s**2 + ridge)
        left = Y - U @ (h[:, None] * turned)
        scores.append(float((left**2).sum()) / n / (1 - float(h.sum()) / n) ** 2)
    ridge = ridges[int(np.argmin(scores))]
    return definite_solve(G + ridge * xp.eye(len(G), dtype=G.dtype, device=G.device), C), ridge


def relu(z: Array) -> Array:
    """Return the positive part, in place."""
    return np.maximum(z, 0, out=z)


def sigmoid(z: Array) -> Array:
    """Return 1 / (1 + exp(-z)), in place."""
    np.negative(z, out=z)
    np.exp(z, out=z)
    z += 1
    return np.reciprocal(z, out=z)


class Form:
    """What the forms share: the map's weights (d, M), K class columns, the weights, the ridge."""

    activation = staticmethod(relu)

    def __init__(self, weights: Array, classes: int) -> None:
        self.map, self.classes = weights, classes
        self.W: Array = np.zeros((weights.shape[1], classes), dtype=weights.dtype)
        self.ridge = np.nan

    def mapped(self, Phi: Array) -> Array:
        """Return h (n, M) of features (n, d)."""
        return self.activation(Phi @ self.map)

    def targets(self, y: Labels) -> Array:
        """Return one-hot rows (n, K)."""
        return (y[:, None] == np.arange(self.classes)).astype(self.map.dtype)

    def logits(self, Phi: Array) -> Array:
        """Return scores (n, K)."""
        return self.mapped(Phi) @ self.W


class Summed(Form):
    """Sums G, C over all sessions, and candidates for the ridge."""

    def __init__(self, weights: Array, classes: int, ridges: Sequence[float]) -> None:
        super().__init__(weights, classes)
        self.ridges, M = ridges, weights.shape[1]
        self.G, self.C = (np.zeros((M, columns), dtype=weights.dtype) for columns in (M, classes))

    def accumulate(self, Phi: Array, y: Labels) -> tuple[Array, Array]:
        """Add a session to the sums without a solve; return its h and one-hot targets."""
        H, Y = self.mapped(Phi), self.targets(y)
        self.C += H.T @ Y
        self.G += H.T @ H
        return H, Y


class RanPAC(Summed):
    """:func:`ranpac`; ``split`` divides n rows into those that fit and those that judge."""

    def __init__(
        self,
        weights: Array,
        classes: int,
        ridges: Sequence[float],
        split: Callable[[int], tuple[Labels, Labels]],
    ) -> None:
        super().__init__(weights, classes, ridges)
        self.split = split

    def session(self, Phi: Array, y: Labels) -> None:
        """Learn a session."""
        H, Y = self.accumulate(Phi, y)
        fit, val = self.split(len(H))
        self.W, self.ridge = ranpac(np, H, Y, self.G, self.C, self.ridges, fit, val)


class FlyCL(Summed):
    """:func:`flycl` on rows whose largest signed outputs are kept, a share ``level`` of them.

    The public code multiplies with a sparse map on a GPU; on a CPU the dense product of the 39%
    dense map is the faster one, so that it stands here.
    """

    def __init__(self, weights: Array, classes: int, ridges: Sequence[float], level: float) -> None:
        super().__init__(weights, classes, ridges)
        self.kept = max(int(level * weights.shape[1]), 1)

    def activation(self, z: Array) -> Array:
        """Return the largest signed outputs of each row, the rest 0."""
        rows, cut = np.arange(len(z))[:, None], z.shape[1] - self.kept
        largest = np.argpartition(z, cut, axis=1)[:, cut:]
        H = np.zeros_like(z)
        H[rows, largest] = z[rows, largest]
        return H

    def session(self, Phi: Array, y: Labels) -> None:
        """Learn a session."""
        H, Y = self.accumulate(Phi, y)
        solve = lambda A, B: cho_solve(cho_factor(A, overwrite_a=True, check_finite=False), B)  # noqa: E731
        self.W, self.ridge = flycl(np, H, Y, self.G, self.C, self.ridges, solve)


class Recursive(Form):
    """Recursive least squares with an M x M inverse, evaluated left to right (ACIL, GACL, F-OAL).

        K = (I + X R X^T)^-1,  R <- R - R X^T K X R,  W <- W + R X^T (Y - X W)

    The last product of the second formula multiplies two M x M matrices, whatever the batch.

    Parameters
    ----------
    batch : rows of an update; passes : updates of each batch
    activation : of the map
    invert : as the code inverts; F-OAL takes the pseudo-inverse
    """

    def __init__(
        self,
        weights: Array,
        classes: int,
        ridge: float,
        batch: int,
        passes: int = 1,
        activation: Callable[[Array], Array] = relu,
        invert: Callable[[Array], Array] = np.linalg.inv,
    ) -> None:
        super().__init__(weights, classes)
        self.ridge, self.batch, self.passes = ridge, batch, passes
        self.activation, self.invert = activation, invert
        self.R = np.eye(len(self.W), dtype=weights.dtype) / ridge

    def session(self, Phi: Array, y: Labels) -> None:
        """Learn a session; any labels may be in it."""
        for start in range(0, len(Phi), self.batch):
            rows = slice(start, start + self.batch)
            X, Y = self.mapped(Phi[rows]), self.targets(y[rows])
            for _ in range(self.passes):
                K = self.invert(np.eye(len(X), dtype=X.dtype) + X @ self.R @ X.T)
                self.R -= self.R @ X.T @ K @ X @ self.R
                self.W += self.R @ X.T @ (Y - X @ self.W)

    accumulate = session


class AIR(Form):
    """One M x M Gram for each class, weighted by one over its count at every solve.

    W = (sum_c pi_c A_c + ridge I)^-1 C diag(pi),  pi_c = K / N_c / sum_j 1 / N_j
    """

    def __init__(self, weights: Array, classes: int, ridge: float) -> None:
        super().__init__(weights, classes)
        self.ridge, M = ridge, weights.shape[1]
        self.A = np.zeros((classes, M, M), dtype=weights.dtype)
        self.C = np.zeros((M, classes), dtype=weights.dtype)
        self.counts = np.zeros(classes)

    def accumulate(self, Phi: Array, y: Labels) -> None:
        """Add a session to the classes' sums without a solve."""
        H, Y = self.mapped(Phi), self.targets(y)
        for label in np.unique(y):
            of_class = H[y == label]
            self.A[label] += of_class.T @ of_class
        self.C += H.T @ Y
        self.counts += Y.sum(axis=0)

    def session(self, Phi: Array, y: Labels) -> None:
        """Learn a session."""
        self.accumulate(Phi, y)
        w = np.divide(1.0, self.counts, out=np.zeros(self.classes), where=self.counts > 0)
        pi = w * np.count_nonzero(w) / w.sum()
        A = np.zeros_like(self.A[0])
        for weight, matrix in zip(pi, self.A, strict=True):
            A += weight * matrix
        A.flat[:: len(A) + 1] += self.ridge
        self.W = np.linalg.inv(A) @ (self.C * pi)


class SRDA:
    """A d x d covariance and an explicit inverse for each class; the pooled one has its exact value here.

    A_k = (1 - epsilon) (own S_k + (1 - own) S) + epsilon I, whose inverse the public code renews only for classes
    that got samples; here all are renewed, since S has moved.
    """

    def __init__(self, d: int, classes: int, own: float, epsilon: float) -> None:
        self.own, self.epsilon = own, epsilon
        self.scatters, self.inverses = (np.zeros((classes, d, d)) for _ in range(2))
        self.means = np.zeros((classes, d))
        self.counts, self.norms = np.zeros(classes), np.zeros(classes)

    def accumulate(self, Phi: Array, y: Labels) -> None:
        """Take in a session of new classes."""
        for label in np.unique(y):
            rows = Phi[y == label]
            self.counts[label], self.means[label] = len(rows), rows.mean(axis=0)
            self.scatters[label] = (rows - self.means[label]).T @ (rows - self.means[label])

    def session(self, Phi: Array, y: Labels) -> None:
        """Learn a session."""
        self.accumulate(Phi, y)
        pooled = self.scatters.sum(axis=0) / self.counts.sum()
        for label, n in enumerate(self.counts):
            mixed = self.own * self.scatters[label] / n + (1 - self.own) * pooled
            self.norms[label] = np.linalg.norm(mixed)
            self.inverses[label] = np.linalg.inv(
                (1 - self.epsilon) * mixed + self.epsilon * np.eye(len(mixed))
            )

    def logits(self, Phi: Array) -> Array:
        """Return scores (n, K)."""
        scores = np.tile(
            np.log(self.counts / self.counts.sum()) - np.log(self.norms) / 2, (len(Phi), 1)
        )
        for label, (mean, inverse) in enumerate(zip(self.means, self.inverses, strict=True)):
            E = Phi - mean
            scores[:, label] -= np.einsum("nd,nd->n", E @ inverse, E) / 2
        return scores


def unit(X: Array) -> Array:
    """Return rows divided by their norm."""
    return X / np.linalg.norm(X, axis=-1, keepdims=True)


def likeness(mean: Array, base: Array) -> Array:
    """Return TEEN's weights (k,) of base classes for the class of a mean (d,)."""
    w = np.exp(16 * (unit(base) @ unit(mean) - 1))
    return w / w.sum()


class TEEN:
    """Prototypes of new classes, one after the other, and cosines."""

    def __init__(self, shift: float) -> None:
        self.shift, self.base = shift, 0
        self.means: list[Array] = []

    def accumulate(self, Phi: Array, y: Labels) -> None:
        """Take in a session of new classes."""
        for label in np.unique(y):
            self.take_in(Phi[y == label])
        self.base = self.base or len(self.means)

    session = accumulate

    def take_in(self, rows: Array) -> None:
        """Take in a class."""
        self.means.append(rows.mean(axis=0))

    def prototype(self, label: int) -> Array:
        """Return the prototype (d,) of a class, of unit norm."""
        own, base = unit(self.means[label]), np.stack(self.means[: self.base])
        if label < self.base:
            return own
        near = unit(likeness(own, base) @ unit(base))
        return unit((1 - self.shift) * own + self.shift * near)

    def logits(self, Phi: Array) -> Array:
        """Return scores (n, K)."""
        return unit(Phi) @ np.stack([self.prototype(j) for j in range(len(self.means))]).T


class CFeCAM(TEEN):
    """A d x d covariance of unit rows a class, and a pseudo-inverse of each at every scoring.

    Parameters
    ----------
    floor : returns what is added to each variance
    """

    def __init__(self, shift: float, floor: Callable[[], float]) -> None:
        super().__init__(shift)
        self.floor = floor
        self.covariances: list[Array] = []

    def take_in(self, rows: Array) -> None:
        """Take in a class."""
        super().take_in(rows)
        own = np.cov(unit(rows).T)
        if self.base:
            w = likeness(self.means[-1], np.stack(self.means[: self.base]))
            own += np.tensordot(w, np.stack(self.covariances[: self.base]), axes=1)
        self.covariances.append(own)

    def shrunk(self, own: Array) -> Array:
        """Return a covariance and what is added to it."""
        return own + self.floor() * np.eye(len(own))

    def points(self, label: int) -> Array:
        """Return what a class's rows are near (k, d)."""
        return self.prototype(label)[None]

    def logits(self, Phi: Array) -> Array:
        """Return scores (n, K): less the squared distance to the nearest point of each class."""
        U, scores = unit(Phi), []
        for label, own in enumerate(self.covariances):
            M = self.shrunk(own)
            root = np.sqrt(np.diag(M))
            P = np.linalg.pinv(M / np.outer(root, root), hermitian=True)
            gaps = (U - point for point in self.points(label))
            scores.append(-np.min([np.einsum("nd,nd->n", E @ P, E) for E in gaps], axis=0))
        return np.stack(scores, axis=1)


class FeNeC(CFeCAM):
    """FeCAM's distance to several centroids a class, by Lloyd's algorithm from k-means++.

    Parameters
    ----------
    alpha, alpha2 : of the mean variance and covariance; centroids : of a class at most
    start : returns the random numbers of k-means++, the same for each class
    """

    def __init__(
        self, alpha: float, alpha2: float, centroids: int, start: Callable[[], np.random.Generator]
    ) -> None:
        super().__init__(0.0, lambda: 0.0)
        self.alpha, self.alpha2, self.k, self.start = alpha, alpha2, centroids, start
        self.centroids: list[Array] = []

    def take_in(self, rows: Array) -> None:
        """Take in a class."""
        self.means.append(rows.mean(axis=0))
        X, rng = unit(rows), self.start()
        self.covariances.append(np.cov(X.T))
        centres = X[[rng.choice(len(X), p=np.full(len(X), 1 / len(X)))]]
        while len(centres) < min(self.k, len(X)):
            near = ((X[:, None] - centres) ** 2).sum(axis=2).min(axis=1)
            centres = np.vstack([centres, X[rng.choice(len(X), p=near / near.sum())]])
        while True:
            owners = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
            moved = np.stack([X[owners == j].mean(axis=0) for j in range(len(centres))])
            if np.array_equal(moved, centres):
                break
            centres = moved
        self.centroids.append(centres)

    def shrunk(self, own: Array) -> Array:
        """Return a covariance and what is added to it."""
        d, off = len(own), 1 - np.eye(len(own))
        added = self.alpha * np.trace(own) / d * np.eye(d)
        return own + added + self.alpha2 * (own * off).sum() / (d * (d - 1)) * off

    def points(self, label: int) -> Array:
        """Return the centroids (k, d) of a class."""
        return self.centroids[label]


class CRanPAC(Summed):
    """Gaussian draws in place of the rows of later classes; ``draw`` returns those of ours, so that outcomes compare.

    The public code draws from the covariance, by its singular values: so does this form, and takes the others.

    Parameters
    ----------
    draw : class, its rows -> drawn rows
    """

    def __init__(
        self,
        weights: Array,
        classes: int,
        ridge: float,
        shift: float,
        draw: Callable[[int, Array], Array],
    ) -> None:
        super().__init__(weights, classes, [ridge])
        self.shift, self.draw, self.ridge = shift, draw, ridge
        self.base: list[tuple[Array, Array]] = []

    def accumulate(self, Phi: Array, y: Labels) -> tuple[Array, Array]:
        """Add the first session."""
        of = (Phi[y == label] for label in np.unique(y))
        self.base = [(rows.mean(axis=0), np.cov(rows.T)) for rows in of]
        return super().accumulate(Phi, y)

    def session(self, Phi: Array, y: Labels) -> None:
        """Learn a session of new classes."""
        means, covariances = (np.stack(part) for part in zip(*self.base, strict=True))
        for label in np.unique(y):
            rows = Phi[y == label]
            w = likeness(rows.mean(axis=0), means)
            mean = (1 - self.shift) * rows.mean(axis=0) + self.shift * w @ means
            covariance = (np.cov(rows.T) + np.tensordot(w, covariances, axes=1)) / 2
            drawn = self.draw(label, rows)
            np.random.default_rng(0).multivariate_normal(mean, covariance, len(drawn))
            super().accumulate(drawn, np.full(len(drawn), label))
        W = np.linalg.solve(self.G + self.ridge * np.eye(len(self.G)), self.C)
        self.W = W / np.linalg.norm(W, axis=0)


class Filtered:
    """A ridge on features; ``judge`` returns targets (n, K) and weights (n,) of rows from rows, labels and this."""

    def __init__(
        self, d: int, classes: int, ridge: float, judge: Callable[..., tuple[Array, Array]]
    ) -> None:
        self.classes, self.ridge, self.judge = classes, ridge, judge
        self.G, self.C, self.counts = np.zeros((d, d)), np.zeros((d, classes)), np.zeros(classes)

    def accumulate(self, Phi: Array, y: Labels) -> None:
        """Add the rows of a session."""
        self.counts += np.bincount(y, minlength=self.classes)
        targets, weights = self.judge(Phi, y, self)
        self.G += Phi.T @ (weights[:, None] * Phi)
        self.C += Phi.T @ (weights[:, None] * targets)

    def solved(self) -> Array:
        """Return the weights (d, K) of the sums so far."""
        return np.linalg.inv(self.G + self.ridge * np.eye(len(self.G))) @ self.C

    def session(self, Phi: Array, y: Labels) -> None:
        """Learn a session."""
        self.accumulate(Phi, y)
        self.W = self.solved()

    def logits(self, Phi: Array) -> Array:
        """Return scores (n, K)."""
        return Phi @ self.W


def wann(Phi: Array, y: Labels, form: Filtered, drops: bool = False) -> tuple[Array, Array]:
    """Weight a row by a / k or [k < 51], k the first of a, a + 2, ... nearest rows whose majority has its label."""
    U, most = unit(Phi), min(51, len(y) - 1)
    apart = ((U**2).sum(axis=1)[:, None] + (U**2).sum(axis=1)) - 2 * U @ U.T
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1, kind="stable")[:, :most]
    weights = np.zeros(len(y))
    for i, near in enumerate(y[nearest]):
        first = min(max(np.count_nonzero(y == y[i]) // 2, 1), 11)
        tried = range(first, most, 2)
        k = next((k for k in tried if np.bincount(near[:k]).argmax() == y[i]), most)
        weights[i] = k < most if drops else first / k
    for label in np.unique(y):  # a class that would lose all of its rows keeps them
        if not weights[y == label].any():
            weights[y == label] = 1
    return np.eye(form.classes)[y], weights


def l3a(Phi: Array, y: Labels, form: Filtered) -> tuple[Array, Array]:
    """Judge each row by the ridge on earlier sums: old classes whose sigmoid is above 0.7 join its labels."""
    Y = np.eye(form.classes)[y]
    if form.G.any():
        old = form.counts - Y.sum(axis=0) > 0
        with np.errstate(over="ignore"):
            Y[:, old] = np.maximum(Y, 1 / (1 + np.exp(-Phi @ form.solved())) > 0.7)[:, old]
    seen = form.counts > 0
    nu = np.where(seen, np.maximum(form.counts, 1) ** -0.5, 0)
    nu *= np.count_nonzero(seen) / nu.sum()
    return Y, (Y @ nu) / Y.sum(axis=1)
