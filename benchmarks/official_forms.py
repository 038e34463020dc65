"""The official form of each closed-form peer's session, restated from its formulas (numpy, scipy).

Each class keeps what the public code keeps and computes a session the way that it does: products
left to right, explicit inverses, dense Grams, a candidate after the other.  None of it is copied,
and nothing is slowed down: where the public code leaves a choice (a product on a GPU, a sparse
format), the faster one on a CPU stands here.  Sources: RanPAC (commit 012927f), Fly-CL (193b1b8),
Analytic-continual-learning (0afd6bf: ACIL, AIR), GACL (fc21369), F-OAL (73e4ac1).

Every operation goes through :class:`Count`, which adds flops from the shapes of the very arrays
that it is given; the closed formulas to compare with are ``flops`` of each class.  n rows, d
features, M outputs of the map, K class columns:

    map           2 n d M
    product       2 a b c for (a, b) times (b, c)
    LU solve      2/3 M^3 + 2 M^2 K
    inverse       2 n^3
    Cholesky      1/3 M^3, its solve 2 M^2 K
    thin SVD      6 n^2 M + 20 n^3 for n <= M (Golub and Van Loan's count of left vectors)
    pseudo-inverse of n x n: its SVD 26 n^3 and a product 2 n^3

Elementwise work, sums of matrices among it, is timed but not counted; AIR's weighted sum of K
matrices is the exception.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, svd

Array = NDArray[np.floating]
Labels = NDArray[np.integer]


class Count:
    """Linear algebra that adds up its flops."""

    def __init__(self) -> None:
        self.flops = 0.0

    def product(self, first: Array, *others: Array) -> Array:
        """Return a product, evaluated left to right."""
        for other in others:
            self.flops += 2 * first.shape[0] * first.shape[1] * other.shape[1]
            first = first @ other
        return first

    def solve(self, A: Array, B: Array) -> Array:
        """Return ``A^-1 B`` by LU."""
        self.flops += 2 / 3 * len(A) ** 3 + 2 * len(A) ** 2 * B.shape[1]
        return np.linalg.solve(A, B)

    def inverse(self, A: Array) -> Array:
        """Return ``A^-1``."""
        self.flops += 2 * len(A) ** 3
        return np.linalg.inv(A)

    def pseudo_inverse(self, A: Array) -> Array:
        """Return the pseudo-inverse of square A."""
        self.flops += 28 * len(A) ** 3
        return np.linalg.pinv(A)

    def thin_svd(self, H: Array) -> tuple[Array, Array]:
        """Return left vectors (n, r) and singular values (r,), r the shorter side."""
        short, long = sorted(H.shape)
        self.flops += 6 * short**2 * long + 20 * short**3
        U, s, _ = svd(H, full_matrices=False, check_finite=False)
        return U, s

    def definite_solve(self, A: Array, B: Array) -> Array:
        """Return ``A^-1 B`` by Cholesky."""
        self.flops += len(A) ** 3 / 3 + 2 * len(A) ** 2 * B.shape[1]
        return cho_solve((cholesky(A, lower=True, check_finite=False), True), B)

    def weighted_sum(self, weights: Array, matrices: Array) -> Array:
        """Return ``sum_c w_c A_c`` of matrices (K, M, M)."""
        self.flops += 2 * matrices.size
        total = np.zeros_like(matrices[0])
        for weight, matrix in zip(weights, matrices, strict=True):
            total += weight * matrix
        return total


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
    """What the forms share: the map's weights (d, M), K class columns, the counter, the weights."""

    def __init__(self, weights: Array, classes: int) -> None:
        self.map, self.classes, self.count = weights, classes, Count()
        self.d, self.M = weights.shape
        self.W: Array = np.zeros((self.M, classes), dtype=weights.dtype)
        self.ridge = np.nan

    def mapped(self, Phi: Array) -> Array:
        """Return h (n, M) of features (n, d)."""
        return relu(self.count.product(Phi, self.map))

    def targets(self, y: Labels) -> Array:
        """Return one-hot rows (n, K)."""
        return (y[:, None] == np.arange(self.classes)).astype(self.map.dtype)

    def logits(self, Phi: Array) -> Array:
        """Return scores (n, K)."""
        return self.mapped(Phi) @ self.W

    def _gram_flops(self, n: int) -> float:
        """Map, dense Gram and H^T Y of n rows."""
        d, M, K = self.d, self.M, self.classes
        return 2 * n * d * M + 2 * n * M**2 + 2 * n * M * K


class RanPAC(Form):
    """Sums G, C over all sessions; 17 LU solves on 4/5 of the session, one on the sums.

    The public code forms one more Gram, that of the fit rows, for the 17 solves.

    Parameters
    ----------
    split : rows (n,) -> the rows that fit and those that validate
    """

    def __init__(
        self,
        weights: Array,
        classes: int,
        grid: tuple[float, ...],
        split: Callable[[int], tuple[Labels, Labels]],
    ) -> None:
        super().__init__(weights, classes)
        self.grid, self.split = grid, split
        self.G = np.zeros((self.M, self.M), dtype=weights.dtype)
        self.C = np.zeros((self.M, classes), dtype=weights.dtype)

    def _solved(self, G: Array, C: Array, ridge: float) -> Array:
        A = G.copy()
        A.flat[:: len(A) + 1] += A.dtype.type(ridge)
        return self.count.solve(A, C)

    def accumulate(self, Phi: Array, y: Labels) -> tuple[Array, Array]:
        """Add a session to the sums without a solve; return its h and one-hot targets."""
        H, Y = self.mapped(Phi), self.targets(y)
        self.C += self.count.product(H.T, Y)
        self.G += self.count.product(H.T, H)
        return H, Y

    def session(self, Phi: Array, y: Labels) -> None:
        """Learn a session."""
        H, Y = self.accumulate(Phi, y)
        fit, val = self.split(len(H))
        H, Y = np.concatenate([H[fit], H[val]]), np.concatenate([Y[fit], Y[val]])
        cut = len(fit)
        G, C = self.count.product(H[:cut].T, H[:cut]), self.count.product(H[:cut].T, Y[:cut])
        losses = []
        for ridge in self.grid:
            try:
                scores = self.count.product(H[cut:], self._solved(G, C, ridge))
                losses.append(np.mean((scores - Y[cut:]) ** 2))
            except np.linalg.LinAlgError:  # a singular matrix in this precision is no candidate
                losses.append(np.inf)
        losses = np.array(losses)
        self.ridge = self.grid[int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))]
        self.W = self._solved(self.G, self.C, self.ridge)

    def flops(self, n: int) -> float:
        """Return the flops of a session of n rows."""
        M, K = self.M, self.classes
        fit, val = map(len, self.split(n))
        solve = 2 / 3 * M**3 + 2 * M**2 * K
        search = 2 * fit * M**2 + 2 * fit * M * K + len(self.grid) * (solve + 2 * val * M * K)
        return self._gram_flops(n) + search + solve


class FlyCL(Form):
    """Sums over all sessions; the session's thin SVD for GCV scores; one Cholesky.

    The public code multiplies with a sparse map on a GPU; on a CPU the dense product of the 39%
    dense map is the faster one, so that it stands here.
    """

    def __init__(self, weights: Array, classes: int, grid: tuple[float, ...], level: float) -> None:
        super().__init__(weights, classes)
        self.grid, self.kept = grid, max(int(level * self.M), 1)
        self.G = np.zeros((self.M, self.M), dtype=weights.dtype)
        self.C = np.zeros((self.M, classes), dtype=weights.dtype)

    def mapped(self, Phi: Array) -> Array:
        """Return h (n, M): the largest signed outputs of each row, the rest 0."""
        z = self.count.product(Phi, self.map)
        rows = np.arange(len(z))[:, None]
        largest = np.argpartition(z, self.M - self.kept, axis=1)[:, self.M - self.kept :]
        H = np.zeros_like(z)
        H[rows, largest] = z[rows, largest]
        return H

    def accumulate(self, Phi: Array, y: Labels) -> tuple[Array, Array]:
        """Add a session to the sums without a solve; return its h and one-hot targets."""
        H, Y = self.mapped(Phi), self.targets(y)
        self.G += self.count.product(H.T, H)
        self.C += self.count.product(H.T, Y)
        return H, Y

    def session(self, Phi: Array, y: Labels) -> None:
        """Learn a session."""
        H, Y = self.accumulate(Phi, y)
        n = len(H)
        U, s = self.count.thin_svd(H)
        UtY = self.count.product(U.T, Y)
        scores = []
        for ridge in self.grid:
            h = s**2 / (s**2 + s.dtype.type(ridge))
            residual = Y - self.count.product(U, h[:, None] * UtY)
            scores.append(np.sum(residual**2) / n / (1 - h.sum() / n) ** 2)
        self.ridge = self.grid[int(np.argmin(scores))]
        A = self.G.copy()
        A.flat[:: len(A) + 1] += A.dtype.type(self.ridge)
        self.W = self.count.definite_solve(A, self.C)

    def flops(self, n: int) -> float:
        """Return the flops of a session of n rows."""
        M, K, r = self.M, self.classes, min(n, self.M)
        svd_flops = 6 * r**2 * max(n, M) + 20 * r**3
        search = svd_flops + (1 + len(self.grid)) * 2 * n * r * K
        return self._gram_flops(n) + search + M**3 / 3 + 2 * M**2 * K


class Recursive(Form):
    """Recursive least squares with an M x M inverse, evaluated left to right (ACIL, GACL, F-OAL).

        K = (I + X R X^T)^-1,  R <- R - R X^T K X R,  W <- W + R X^T (Y - X W)

    The last product of the second formula multiplies two M x M matrices, whatever the batch.

    Parameters
    ----------
    batch : rows of an update; passes : updates of each batch
    activation : of the map
    pseudo : take the pseudo-inverse, as F-OAL does
    """

    def __init__(
        self,
        weights: Array,
        classes: int,
        ridge: float,
        batch: int,
        passes: int = 1,
        activation: Callable[[Array], Array] = relu,
        pseudo: bool = False,
    ) -> None:
        super().__init__(weights, classes)
        self.ridge, self.batch, self.passes = ridge, batch, passes
        self.activation, self.pseudo = activation, pseudo
        self.R = np.eye(self.M, dtype=weights.dtype) / ridge

    def mapped(self, Phi: Array) -> Array:
        """Return h (n, M) of features (n, d)."""
        return self.activation(self.count.product(Phi, self.map))

    def session(self, Phi: Array, y: Labels) -> None:
        """Learn a session; any labels may be in it."""
        product = self.count.product
        invert = self.count.pseudo_inverse if self.pseudo else self.count.inverse
        for start in range(0, len(Phi), self.batch):
            rows = slice(start, start + self.batch)
            X, Y = self.mapped(Phi[rows]), self.targets(y[rows])
            for _ in range(self.passes):
                K = invert(np.eye(len(X), dtype=X.dtype) + product(X, self.R, X.T))
                self.R -= product(self.R, X.T, K, X, self.R)
                self.W += product(product(self.R, X.T), Y - product(X, self.W))

    accumulate = session

    def flops(self, n: int) -> float:
        """Return the flops of a session of n rows."""
        M, K, total = self.M, self.classes, 0.0
        for start in range(0, n, self.batch):
            b = min(self.batch, n - start)
            inverse = (28 if self.pseudo else 2) * b**3
            update = 8 * b * M**2 + 4 * b**2 * M + 2 * M**3 + inverse + 4 * b * M * K
            total += 2 * b * self.d * M + self.passes * update
        return total


class AIR(Form):
    """One M x M Gram for each class, weighed by one over its count at every solve.

    W = (sum_c pi_c A_c + ridge I)^-1 C diag(pi),  pi_c = K / N_c / sum_j 1 / N_j
    """

    def __init__(self, weights: Array, classes: int, ridge: float) -> None:
        super().__init__(weights, classes)
        self.ridge = ridge
        self.A = np.zeros((classes, self.M, self.M), dtype=weights.dtype)
        self.C = np.zeros((self.M, classes), dtype=weights.dtype)
        self.counts = np.zeros(classes)

    def accumulate(self, Phi: Array, y: Labels) -> None:
        """Add a session to the classes' sums without a solve."""
        H, Y = self.mapped(Phi), self.targets(y)
        for label in np.unique(y):
            of_class = H[y == label]
            self.A[label] += self.count.product(of_class.T, of_class)
        self.C += self.count.product(H.T, Y)
        self.counts += Y.sum(axis=0)

    def session(self, Phi: Array, y: Labels) -> None:
        """Learn a session."""
        self.accumulate(Phi, y)
        w = np.divide(1.0, self.counts, out=np.zeros(self.classes), where=self.counts > 0)
        pi = w * np.count_nonzero(w) / w.sum()
        A = self.count.weighted_sum(pi, self.A)
        A.flat[:: len(A) + 1] += self.ridge
        self.W = self.count.product(self.count.inverse(A), self.C * pi)

    def flops(self, n: int) -> float:
        """Return the flops of a session of n rows."""
        M, K = self.M, self.classes
        return self._gram_flops(n) + 2 * K * M**2 + 2 * M**3 + 2 * M**2 * K
