"""The scatter inside the classes, from sums.

With R = H^T H, the class sums C and counts n_c it is ``S = R - Q Q^T``, ``Q = C diag(n_c)^(-1/2)``, so
that batches, sessions and the class order cannot move it, a class that returns included.
"""

import numpy as np

from sparcl.algebra import spectra
from sparcl.algebra.backend import host
from sparcl.algebra.sums import Sums
from sparcl.base.errors import NumericalError
from sparcl.base.types import Array

NO_SPREAD = (
    "No class has any spread so far, so that the covariance is zero. Usual cause: one sample a class, or "
    "copies of one; join the session with another."
)


class Scatter:
    """The scatter S (D, D) inside the classes of ``sums``, never formed for a solve."""

    def __init__(self, sums: Sums) -> None:
        self.gram, self.n, self.C = sums.gram, sums.n, sums.C
        self.on = sums.gram.on
        self.Q = sums.C / self.on.array(np.sqrt(sums.counts))

    def trace(self) -> float:
        """Return tr S; zero where it is only what rounding left of R."""
        total = float(self.gram.diagonal.sum())
        trace = total - float(self.on.xp.sum(self.Q**2))
        return trace if trace > self.n * np.finfo(self.on.dtype(self.Q)).eps * total else 0.0

    def oas(self) -> tuple[float, float]:
        """Return the shrinkage rho and mean variance m of S / n: (1 - rho) S / n + rho m I.

        Oracle approximating shrinkage (Chen et al., 2010) in the simplified form that
        scikit-learn's ``OAS`` has: with s the mean square of the entries of S / n,
        ``rho = min(1, (s + m^2) / ((n + 1) (s - m^2 / D)))``.  Cost: 2 D^2 c flops.
        """
        mean, square = self._moments()
        below = (self.n + 1) * (square - mean**2 / len(self.gram))
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
        D = len(self.gram)
        mean, square = self._moments()
        delta = D * square - mean**2
        beta = max(fourth / self.n - D**2 * square, 0.0) / (self.n * D)
        return (min(beta, delta) / delta if delta > 0 else 1.0), mean

    def _moments(self) -> tuple[float, float]:
        """Return the mean variance m of S / n, and the mean square s of its entries."""
        D = len(self.gram)
        total = self.on.xp.sum
        squares = total(self.gram.full**2)
        squares += total((self.Q.T @ self.Q) ** 2) - 2 * total(self.Q * self.gram.times(self.Q))
        return self.trace() / (self.n * D), float(squares) / (self.n * D) ** 2

    def times(self, B: Array) -> Array:
        """Return S B for B (D, c): 2 D^2 c flops."""
        return self.gram.times(B) - self.Q @ (self.Q.T @ B)

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
        with self.gram.factored(b / a, downdate=(1.0, self.Q)) as A:
            return A.solve(B) / a

    def spectrum(self) -> tuple[Array, Array]:
        """Return the eigenvalues (D,), descending, and eigenvectors (D, D) of S: 9 D^3 flops, one copy."""
        return spectra.descending_eigh(self.gram.full - self.Q @ self.Q.T)

    def pseudo_solve(self, B: Array) -> tuple[Array, int]:
        """Return ``S^+ B`` for B (D, c) and the rank of S: 9 D^3 flops.

        Eigenvalues below D eps tr R count as zero: the subtraction leaves as much of rounding.
        """
        values, V = self.spectrum()
        least = len(self.gram) * np.finfo(self.on.dtype(V)).eps * self.gram.diagonal.sum()
        rank = int(np.count_nonzero(host(values) > least))
        V = V[:, :rank]
        return self.on.laid_out(V @ ((V.T @ B) / values[:rank, None])), rank
