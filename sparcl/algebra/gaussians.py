"""A Gaussian for each class: its mean, and its covariance as a thin factor.

n_c samples have a covariance of rank below n_c, so r < n_c rows of length d hold it, where the
matrix itself takes d x d: F (r, d) with ``F^T F`` the scatter about the mean.  The rows of F are
orthogonal to each other, scaled principal directions of the class and no samples.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.spectra import descending_eigh
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array


@dataclass(eq=False)
class Gaussians(Stateful):
    """Means and covariances of classes, exact whatever the sessions: 2 n_c^2 d flops a class.

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
        d, extra = X.shape[1], classes - len(self.factors)
        self.counts = np.concatenate([self.counts, np.zeros(extra, dtype=np.int64)])
        self.means = np.vstack([self.means, np.zeros((extra, d))])
        self.factors += [np.zeros((0, d)) for _ in range(extra)]
        for j in np.unique(columns):
            rows = X[columns == j]
            before, n = self.counts[j], len(rows)
            mean = rows.mean(axis=0)
            parts = [self.factors[j], rows - mean]
            if before:
                # the scatter between the two parts of a class that returned
                gap = mean - self.means[j]
                parts.append(np.sqrt(before * n / (before + n)) * gap[None])
                mean = self.means[j] + n / (before + n) * gap
            self.factors[j] = _thin(np.vstack(parts))
            self.means[j] = mean
            self.counts[j] += n


def _thin(B: Array) -> Array:
    """Return F (r, d), r <= min(m, d), with orthogonal rows and F^T F = B^T B for B (m, d)."""
    if len(B) <= B.shape[1]:
        values, U = descending_eigh(B @ B.T)
        F = U.T @ B
    else:
        values, U = descending_eigh(B.T @ B)
        F = np.sqrt(np.maximum(values, 0))[:, None] * U.T
    least = len(B) * np.finfo(B.dtype).eps * values[0]
    F = np.ascontiguousarray(F[values > least])
    # LAPACK's sign of an eigenvector differs between processors, and draws from the Gaussian follow it
    largest = np.abs(F).argmax(axis=1, keepdims=True)
    return F * np.where(np.take_along_axis(F, largest, axis=1) < 0, -1, 1)
