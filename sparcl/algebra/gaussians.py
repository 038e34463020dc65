"""A Gaussian for each class: its mean, and its covariance as a thin factor."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import Factor, product
from sparcl.algebra.host import HOST
from sparcl.algebra.spectra import descending_eigh
from sparcl.base.errors import InputError
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array


@dataclass(eq=False)
class Gaussians(Stateful):
    """Means and covariances of classes, exact whatever the sessions: 2 n_c^2 d flops per class.

    Attributes
    ----------
    counts : (c,) samples; means : (c, d); factors : F (r_c, d) of each class
    """

    d: int
    kept: ClassVar[dict[str, Shape | None]] = {
        "counts": ("c",),
        "means": ("c", "d"),
        "factors": (None, "d"),
    }

    def __post_init__(self) -> None:
        self.counts = np.zeros(0, dtype=np.int64)
        self.means = np.zeros((0, self.d))
        self.factors: list[Array] = []

    def add(self, X: Array, columns: NDArray[np.integer], classes: int) -> None:
        """Add samples X (n, d) whose class is ``columns`` (n,), one of ``classes``."""
        self.grow(classes)
        for j in np.unique(columns):
            rows = X[columns == j]
            mean = rows.mean(axis=0)
            self.join(j, len(rows), mean, rows - mean)

    def grow(self, classes: int) -> None:
        """Append classes without samples until there are ``classes`` of them."""
        extra = classes - len(self.factors)
        self.counts = np.concatenate([self.counts, np.zeros(extra, dtype=np.int64)])
        self.means = np.vstack([self.means, np.zeros((extra, self.d))])
        self.factors += [np.zeros((0, self.d)) for _ in range(extra)]

    def join(self, j: int, n: int, mean: Array, factor: Array) -> None:
        """Add n samples of class j from their mean (d,) and a factor (m, d) of their scatter about it."""
        before = int(self.counts[j])
        parts = [self.factors[j], factor]
        if before:
            # the scatter between the two parts of a class that returned
            gap = mean - self.means[j]
            parts.append(np.sqrt(before * n / (before + n)) * gap[None])
            mean = self.means[j] + n / (before + n) * gap
        self.factors[j] = thin(np.vstack(parts))
        self.means[j] = mean
        self.counts[j] += n

    def take_away(self, X: Array, columns: NDArray[np.integer]) -> None:
        """Take away samples X (n, d) that are in these: O(m r d + r^3) flops for m samples of a class with r axes.

        With F = diag(s) V and the scatter E^T E of the samples, their distance to the rest among it, the rest has
        the scatter ``V^T (diag(s)^2 - V E^T E V^T) V``.  Its eigenvalues below 8 (r + m) eps s_1^2 are zeros.

        Raises
        ------
        InputError
            When a class would have a negative scatter, or samples have a part outside the span of F: they were not
            learned.  The class is then changed.
        """
        for j in np.unique(columns):
            rows, F = X[columns == j], self.factors[j]
            n, m = int(self.counts[j]), len(rows)
            mean, s = rows.mean(axis=0), np.linalg.norm(F, axis=1)
            rest = self.means[j] + m / max(n - m, 1) * (self.means[j] - mean)
            gap = np.sqrt(m * (n - m) / n) * (mean - rest)[None]
            E = np.vstack([rows - mean, gap if n > m else mean - self.means[j]])
            V = F / s[:, None]
            A, top, apart = E @ V.T, float(s.max(initial=0)), 1e-12 * float(np.linalg.norm(mean))
            values, U = np.linalg.eigh(np.diag(s**2) - A.T @ A)
            outside = np.linalg.norm(E - A @ V, axis=1).max()
            least = values.min(initial=0) if n > m else -np.abs(values).max(initial=0)
            if least < -1e-9 * top**2 - apart**2 or outside > 1e-6 * top + apart:
                raise InputError(
                    "these rows were not learned as they are given: without them the scatter of a class would be that "
                    "of no rows. Usual cause: features that were extracted again; give the rows that were learned."
                )
            values[values < 8 * (len(s) + m) * np.finfo(np.float64).eps * top**2] = 0
            self.factors[j] = thin((np.sqrt(values) * U).T @ V) if values.any() else F[:0]
            self.means[j], self.counts[j] = rest, n - m

    def reorder(self, order: NDArray[np.integer]) -> None:
        """Keep the classes ``order`` (c,), in this order."""
        self.counts, self.means = self.counts[order], self.means[order]
        self.factors = [self.factors[j] for j in order]


def thin(B: Array) -> Array:
    """Return F (r, d), r <= min(m, d), with orthogonal rows, the longest first, and F^T F = B^T B for B (m, d)."""
    if len(B) <= B.shape[1]:
        values, U = descending_eigh(product(B, B.T))
        F = product(U.T, B)
    else:
        values, U = descending_eigh(product(B.T, B))
        F = np.sqrt(np.maximum(values, 0))[:, None] * U.T
    least = len(B) * np.finfo(B.dtype).eps * values[0]
    F = np.ascontiguousarray(F[values > least])
    # LAPACK's sign of an eigenvector differs between processors, and draws from the Gaussian follow it
    largest = np.abs(F).argmax(axis=1, keepdims=True)
    return F * np.where(np.take_along_axis(F, largest, axis=1) < 0, -1, 1)


def axes(F: Array) -> Array:
    """Return orthonormal E (m, r) that turn F (m, d), m <= d, into its :func:`thin` form ``E^T F``, up to signs."""
    values, E = descending_eigh(product(F, F.T))
    least = len(F) * np.finfo(F.dtype).eps * values.max(initial=0)
    return E[:, : int(np.count_nonzero(values > least))]


@dataclass(frozen=True)
class Excess:
    """The term that a class's own covariance adds to its score under the shared B alone.

    With e = x - m, Q = I + U^T B^-1 U = L L^T and P = B^-1 U L^-T, the Gaussian's logarithm is
    ``-e^T B^-1 e / 2 + |P^T e|^2 / 2 - log |L|`` and a constant that all classes share.

    Attributes
    ----------
    P : (d, r); shift : P^T m (r,); log_det : log |L|
    """

    P: Array
    shift: Array
    log_det: float

    @classmethod
    def of(cls, B: Factor, U: Array, mean: Array) -> "Excess":
        """Solve for U (d, r) and mean m (d,): 2 d^2 r + O(d r^2) flops.

        Raises
        ------
        NumericalError
            When Q is not positive definite in this precision.
        """
        if not U.shape[1]:
            return cls(U, np.zeros(0), 0.0)
        V = B.solve(np.asfortranarray(U))
        A = np.eye(U.shape[1]) + U.T @ V
        L = np.tril(HOST.block_factor(np.asfortranarray((A + A.T) / 2)))
        P = HOST.lower_solve(L, V.T).T
        return cls(P, P.T @ mean, float(np.sum(np.log(L.diagonal()))))

    def __call__(self, X: Array) -> Array:
        """Return the excess (n,) of rows X (n, d): 2 n d r flops."""
        return 0.5 * np.sum((X @ self.P - self.shift) ** 2, axis=1) - self.log_det


def stacked_excess(F: Array, G: Array) -> tuple[Array, Array]:
    """Return P (c, r, k) and log |L| (c,) of several classes at once, whose U lies in one subspace.

    With ``U_c = K F_c^T``, K (d, k), and ``G = K^T B^-1 K`` the excess is ``|P_c K^T B^-1 e|^2 / 2 - log |L_c|``:
    c (2 r k^2 + r^2 k) flops, where :meth:`Excess.of` takes 2 d^2 r a class.

    Parameters
    ----------
    F : (c, r, k), rows of zeros where a class has fewer; G : (k, k)
    """
    c, r, k = F.shape
    FG = product(F.reshape(c * r, k), G).reshape(c, r, k)
    L = np.linalg.cholesky(np.eye(r) + FG @ F.transpose(0, 2, 1))
    return np.linalg.solve(L, F), np.sum(np.log(np.diagonal(L, axis1=1, axis2=2)), axis=1)
