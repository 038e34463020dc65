"""Linear discriminant analysis from sums: class means and one covariance for all classes.

With R = Phi^T Phi, the class sums C and counts n_c, the scatter inside the classes is

    S = R - Q Q^T,    Q = C diag(n_c)^(-1/2),

so that batches, sessions and the class order cannot move it, a class that returns included.  The
score of class c under the precision L = (a S + b I)^-1 is ``f^T L mu_c - mu_c^T L mu_c / 2``.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.linalg import descending_eigh
from sparcl.algebra.statistics import Statistics
from sparcl.base.errors import InputError, NumericalError
from sparcl.learners.learner import Array, Learner


class Scatter:
    """The scatter S (D, D) inside the classes of ``statistics``, never formed for a solve."""

    def __init__(self, statistics: Statistics) -> None:
        self.gram, self.n, self.C = statistics.gram, statistics.n, statistics.C
        self.Q = statistics.C / np.sqrt(statistics.counts)

    def trace(self) -> float:
        """Return tr S; zero where it is only what rounding left of R."""
        total = float(np.trace(self.gram.full))
        trace = total - float(np.sum(self.Q**2))
        return trace if trace > self.n * np.finfo(self.Q.dtype).eps * total else 0.0

    def oas(self) -> tuple[float, float]:
        """Return the shrinkage rho and mean variance m of S / n: (1 - rho) S / n + rho m I.

        Oracle approximating shrinkage (Chen et al., 2010) in the simplified form that
        scikit-learn's ``OAS`` has: with s the mean square of the entries of S / n,
        ``rho = min(1, (s + m^2) / ((n + 1) (s - m^2 / D)))``.  Cost: 2 D^2 c flops.
        """
        D = len(self.gram)
        mean = self.trace() / (self.n * D)
        squares = np.sum(self.gram.full**2)
        squares += np.sum((self.Q.T @ self.Q) ** 2) - 2 * np.sum(self.Q * self.gram.times(self.Q))
        square = float(squares) / (self.n * D) ** 2
        below = (self.n + 1) * (square - mean**2 / D)
        return (min(1.0, (square + mean**2) / below) if below > 0 else 1.0), mean

    def solve(self, a: float, b: float, B: Array) -> Array:
        """Return ``(a S + b I)^-1 B`` for a >= 0, b > 0 and B (D, c): D^3 / 3 flops.

        Raises
        ------
        NumericalError
            When b is not above zero: S alone may be singular.
        """
        if not b > 0:
            raise NumericalError(
                "No class has any spread so far, so that the covariance is zero. Usual cause: one "
                "sample a class, or copies of one; join the session with another."
            )
        if a == 0:
            return np.asfortranarray(B / b)
        with self.gram.factored(b / a, downdate=(1.0, self.Q)) as A:
            return A.solve(B) / a

    def pseudo_solve(self, B: Array) -> tuple[Array, int]:
        """Return ``S^+ B`` for B (D, c) and the rank of S: 9 D^3 flops.

        Eigenvalues below D eps tr R count as zero: the subtraction leaves as much of rounding.
        """
        values, V = descending_eigh(self.gram.full - self.Q @ self.Q.T)
        least = len(V) * np.finfo(V.dtype).eps * np.trace(self.gram.full)
        rank = int(np.count_nonzero(values > least))
        V = V[:, :rank]
        return np.asfortranarray(V @ ((V.T @ B) / values[:rank, None])), rank


class Discriminant(Learner):
    """Scores ``h W + bias`` from class means and a shared covariance: n D^2 + D^3 / 3 a session.

    Attributes
    ----------
    statistics : sums in the coordinates of :meth:`expand`, None before the first session
    weights : W (D, c) = L mu; bias : (c,)
    needs_spread : whether L exists only when some class has two samples
    """

    needs_spread: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.statistics: Statistics | None = None
        self.weights: Array = np.zeros((0, 0))
        self.bias: Array = np.zeros(0)

    def expand(self, Phi: Array) -> Array:
        """Return the coordinates (n, D), float64, in which the scores are linear."""
        return np.asarray(Phi, dtype=np.float64)

    def _begin(self, Phi: Array) -> None:
        """Draw what :meth:`expand` needs, from the features of the first session."""

    @abstractmethod
    def _precision_times(self, means: Array) -> Array:
        """Return L times the class means (D, c)."""

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        counts = np.bincount(columns, minlength=classes)
        if self.statistics is not None:
            counts[:old] += self.statistics.counts
        if self.needs_spread and counts.max() < 2:
            raise InputError(
                "no class has two samples so far, so that there is no covariance inside the "
                "classes: join the session with another."
            )
        if self.statistics is None:
            self._begin(np.asarray(Phi, dtype=np.float64))
        H = self.expand(Phi)
        if self.statistics is None:
            self.statistics = Statistics(H.shape[1])
        self.statistics.grow(classes)
        self.statistics.accumulate(H, columns)
        means = self.statistics.C / self.statistics.counts
        self.weights = self._precision_times(means)
        self.bias = -0.5 * np.sum(means * self.weights, axis=0)

    def _logits(self, Phi: Array) -> Array:
        return self.expand(Phi) @ self.weights + self.bias

    def _sums(self) -> dict[str, Any]:
        """Return sums and weights for the state; nothing before the first session."""
        if self.statistics is None:
            return {}
        return {
            "statistics": self.statistics.state(),
            "weights": self.weights,
            "bias": self.bias,
        }

    def _take_sums(self, state: dict[str, Any]) -> None:
        """Take what :meth:`_sums` gave."""
        if "statistics" in state:
            self.statistics = Statistics.from_state(state["statistics"])
            self.weights = np.asfortranarray(state["weights"])
            self.bias = np.array(state["bias"])
