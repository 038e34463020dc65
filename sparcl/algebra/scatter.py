"""The scatter inside the classes, from sums."""

import numpy as np

from sparcl.algebra import spectra
from sparcl.algebra.backend import host, product
from sparcl.algebra.sums import Sums
from sparcl.base.errors import NumericalError
from sparcl.base.rows import unit
from sparcl.base.types import Array

NO_SPREAD = (
    "No class has any spread so far, so that the covariance is zero. Usual cause: one sample a class, or "
    "copies of one; join the session with another."
)


class Scatter:
    """The scatter S (D, D) inside the classes of ``sums``, never formed for a solve."""

    def __init__(self, sums: Sums) -> None:
        self.sums, self.n = sums, sums.n
        self.on = sums.on
        self.Q = sums.C / self.on.array(np.sqrt(sums.counts))

    def trace(self) -> float:
        """Return tr S; zero where it is only what rounding left of R."""
        total = float(self.sums.diagonal.sum())
        trace = total - float(self.on.xp.sum(self.Q**2))
        return trace if trace > self.n * np.finfo(self.on.dtype(self.Q)).eps * total else 0.0

    def oas(self) -> tuple[float, float]:
        """Return the shrinkage rho and mean variance m of S / n: (1 - rho) S / n + rho m I.

        Oracle approximating shrinkage (Chen et al., 2010) in the simplified form that
        scikit-learn's ``OAS`` has: with s the mean square of the entries of S / n,
        ``rho = min(1, (s + m^2) / ((n + 1) (s - m^2 / D)))``.  Cost: 2 D^2 c flops.
        """
        mean, square = self._moments()
        below = (self.n + 1) * (square - mean**2 / self.sums.D)
        return (min(1.0, (square + mean**2) / below) if below > 0 else 1.0), mean

    def ledoit_wolf(self, fourth: float) -> tuple[float, float]:
        """Return the shrinkage rho and mean variance m of S / n: (1 - rho) S / n + rho m I.

        Ledoit and Wolf (2004): with s as for :meth:`oas`, ``delta = D s - m^2`` is the spread of the
        entries about m I, ``beta = (fourth / n - D^2 s) / (n D)`` what sampling alone makes of it, and
        ``rho = min(beta, delta) / delta``.  Cost: 2 D^2 c flops.

        Parameters
        ----------
        fourth : sum over all samples of the fourth power of the distance to their class mean
        """
        D = self.sums.D
        mean, square = self._moments()
        delta = D * square - mean**2
        beta = max(fourth / self.n - D**2 * square, 0.0) / (self.n * D)
        return (min(beta, delta) / delta if delta > 0 else 1.0), mean

    def _moments(self) -> tuple[float, float]:
        """Return the mean variance m of S / n, and the mean square s of its entries."""
        D = self.sums.D
        total = self.on.xp.sum
        squares = total(self.sums.R**2)
        squares += total(product(self.Q.T, self.Q) ** 2) - 2 * total(
            self.Q * self.sums.times(self.Q)
        )
        return self.trace() / (self.n * D), float(squares) / (self.n * D) ** 2

    def times(self, B: Array) -> Array:
        """Return S B for B (D, c): 2 D^2 c flops."""
        return self.sums.times(B) - self.Q @ (self.Q.T @ B)

    def solve(self, a: float, b: float, B: Array) -> Array:
        """Return ``(a S + b I)^-1 B`` for a >= 0, b > 0 and B (D, c): D^3 / 3 flops.

        Raises
        ------
        NumericalError
            When b is not above zero: S alone may be singular.
        """
        if not b > 0:
            raise NumericalError(NO_SPREAD)
        if a == 0:
            return self.on.laid_out(B / b)
        with self.sums.factored(b / a, downdate=(1.0, self.Q)) as A:
            return A.solve(B) / a

    def spectrum(self) -> tuple[Array, Array]:
        """Return the eigenvalues (D,), descending, and eigenvectors (D, D) of S: 9 D^3 flops, one copy."""
        return spectra.descending_eigh(self.sums.R - self.Q @ self.Q.T)

    def pseudo_solve(self, B: Array) -> tuple[Array, int]:
        """Return ``S^+ B`` for B (D, c) and the rank of S: 9 D^3 flops.

        Eigenvalues below D eps tr R count as zero: the subtraction leaves as much of rounding.
        """
        values, V = self.spectrum()
        least = self.sums.D * np.finfo(self.on.dtype(V)).eps * self.sums.diagonal.sum()
        rank = int(np.count_nonzero(host(values) > least))
        V = V[:, :rank]
        return self.on.laid_out(V @ ((V.T @ B) / values[:rank, None])), rank


FLOOR = 1e-8  # added to each eigenvalue before its root is divided by


def spread_means(means: Array, values: Array, vectors: Array) -> Array:
    """Return unit targets (c, d): class means with 1 added to their singular values after whitening.

    With the covariance ``V diag(s) V^T``, ``A = V diag((s + 1e-8)^-1/2) V^T`` and the thin decomposition
    ``(m - mean(m)) A = U Sigma G^T``, targets are the unit rows of ``U (Sigma + I) G^T A + mean(m)``
    (AnaCP, NeurIPS 2025: its public code, which multiplies by A where the paper has its inverse).
    A singular value that is zero but for rounding stays so: centred means have one, along a vector that
    rounding decides, and the code moves all targets along it.  Cost: 4 c d^2 + O(c^2 d) flops.

    Parameters
    ----------
    means : (c, d), of which the mean counts each class the same
    values : (d,) eigenvalues of the covariance; vectors : (d, d)
    """
    root = np.sqrt(values + FLOOR)
    centre = means.mean(axis=0)
    whitened = (means - centre) @ vectors / root
    U, sigma, G = np.linalg.svd(whitened, full_matrices=False)
    least = max(whitened.shape) * np.finfo(whitened.dtype).eps * sigma.max(initial=0)
    added = (sigma > least).astype(whitened.dtype)
    return unit((U * (sigma + added)) @ G / root @ vectors.T + centre)
