"""The form in which the code of a closed-form peer computes a session, restated from its formulas.

Each form keeps what the public code keeps and computes a session the way that it does: products
left to right, explicit inverses, dense Grams, a candidate after the other.  None of it is copied,
and nothing is slowed down: where the public code leaves a choice (a product on a GPU, a sparse
format), the faster one on a CPU stands here.  Sources: RanPAC (commit 012927f), Fly-CL (193b1b8),
Analytic-continual-learning (0afd6bf: ACIL, AIR), GACL (fc21369), F-OAL (73e4ac1).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from sparcl.learners.composed import Composed
from sparcl.parts.rules import Newest

Array = NDArray[np.floating]
Labels = NDArray[np.integer]
Solution = tuple[Any, float]  # weights (M, K) and the ridge


def solve(xp: Any, ours: Composed, H: Any, Y: Any, G: Any, C: Any) -> Solution:
    """Solve a session of RanPAC or Fly-CL: whose it is, the candidates and the split are those of our learner.

    Parameters
    ----------
    xp : numpy or torch
    ours : learner after the session
    H, Y : mapped rows (n, M) and one-hot targets (n, K) of the session
    G, C : sums with those of the session
    """
    if not isinstance(ours.rule, Newest):
        return flycl(xp, H, Y, G, C, ours.rule.ridges)
    fit, val = ours.rule.holdout.split(np.zeros(len(H), dtype=np.int64), ours.session - 1)
    return ranpac(xp, H, Y, G, C, ours.rule.ridges, fit, val)


def ranpac(
    xp: Any, H: Any, Y: Any, G: Any, C: Any, ridges: Sequence[float], fit: Labels, val: Labels
) -> Solution:
    """Solve RanPAC's session: 17 LU solves on the rows that fit, one on the sums.

    The public code forms one more Gram, that of the fit rows, for the 17 solves.  ``fit`` are the
    rows that fit a candidate, ``val`` those that judge it.
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


def flycl(xp: Any, H: Any, Y: Any, G: Any, C: Any, ridges: Sequence[float]) -> Solution:
    """Solve Fly-CL's session: a thin SVD of its rows for the scores of cross-validation, one Cholesky solve."""
    n, scores = len(H), []
    U, s, _ = xp.linalg.svd(H, full_matrices=False)
    turned = U.T @ Y
    for ridge in ridges:
        h = s**2 / (s**2 + ridge)
        left = Y - U @ (h[:, None] * turned)
        scores.append(float((left**2).sum()) / n / (1 - float(h.sum()) / n) ** 2)
    ridge = ridges[int(np.argmin(scores))]
    A = G + ridge * xp.eye(len(G), dtype=G.dtype, device=G.device)
    if xp is np:
        return cho_solve(cho_factor(A, overwrite_a=True, check_finite=False), C), ridge
    return xp.cholesky_solve(C, xp.linalg.cholesky(A)), ridge


def relu(z: Array) -> Array:
    """Return the positive part, in place."""
    return np.maximum(z, 0, out=z)


def sigmoid(z: Array) -> Array:
    """Return 1 / (1 + exp(-z)), in place."""
    np.negative(z, out=z)
    np.exp(z, out=z)
    z += 1
    return np.reciprocal(z, out=z)


def largest(level: float) -> Callable[[Array], Array]:
    """Return Fly-CL's activation: the largest signed outputs of each row, a share ``level``, the rest 0.

    The public code multiplies with a sparse map on a GPU; on a CPU the dense product of the 39%
    dense map is the faster one, so that it stands here.
    """

    def activation(z: Array) -> Array:
        rows, cut = np.arange(len(z))[:, None], z.shape[1] - max(int(level * z.shape[1]), 1)
        kept = np.argpartition(z, cut, axis=1)[:, cut:]
        H = np.zeros_like(z)
        H[rows, kept] = z[rows, kept]
        return H

    return activation


class Form:
    """What the forms share: the map's weights (d, M), K class columns, the weights W (M, K)."""

    ridge = np.nan

    def __init__(
        self, weights: Array, classes: int, activation: Callable[[Array], Array] = relu
    ) -> None:
        self.map, self.classes, self.activation = weights, classes, activation
        self.W: Array = np.zeros((weights.shape[1], classes), dtype=weights.dtype)

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
    """Sums G, C over all sessions, and :func:`solve` by the rule of our learner."""

    xp: Any = np

    def __init__(self, ours: Composed, classes: int, activation: Callable[[Array], Array]) -> None:
        super().__init__(ours.map.weights, classes, activation)
        self.ours, self.C = ours, np.zeros_like(self.W)
        self.G = np.zeros((len(self.W), len(self.W)), dtype=self.W.dtype)

    def accumulate(self, Phi: Array, y: Labels) -> tuple[Array, Array]:
        """Add a session to the sums without a solve; return its h and one-hot targets."""
        H, Y = self.mapped(Phi), self.targets(y)
        self.C += H.T @ Y
        self.G += H.T @ H
        return H, Y

    def session(self, Phi: Array, y: Labels) -> None:
        """Learn a session."""
        self.W, self.ridge = solve(self.xp, self.ours, *self.accumulate(Phi, y), self.G, self.C)


class Recursive(Form):
    """Recursive least squares with an M x M inverse, evaluated left to right (ACIL, GACL, F-OAL).

        K = (I + X R X^T)^-1,  R <- R - R X^T K X R,  W <- W + R X^T (Y - X W)

    The last product of the second formula multiplies two M x M matrices, whatever the batch.

    Parameters
    ----------
    batch : rows of an update; passes : updates of each batch
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
        super().__init__(weights, classes, activation)
        self.batch, self.passes, self.invert = batch, passes, invert
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
