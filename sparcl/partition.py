"""Core and residual: the split of the feature space by the spectrum of R."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparcl import linalg
from sparcl.checks import share, whole
from sparcl.errors import InputError


@dataclass(frozen=True)
class Rule:
    """How large a core is: an energy threshold ``tau`` in (0, 1), or its rank ``k``."""

    tau: float | None = None
    k: int | None = None

    def __post_init__(self) -> None:
        if (self.tau is None) == (self.k is None):
            raise InputError("A core has either an energy threshold tau or a rank k: give one.")
        if self.k is not None:
            whole("k", self.k, least=0)
        else:
            share("tau", self.tau)


@dataclass(frozen=True)
class Partition:
    """A core basis and what was measured when it was chosen.

    Attributes
    ----------
    U_core : (d, k) orthonormal, columns in order of falling eigenvalue
    energy, energy_before : share of the trace held by k and by k - 1 directions
    """

    U_core: NDArray[np.floating]
    energy: float
    energy_before: float

    @property
    def k(self) -> int:
        """Core rank."""
        return self.U_core.shape[1]

    @property
    def r(self) -> int:
        """Residual rank d - k."""
        return self.U_core.shape[0] - self.k


def empty(d: int, dtype: np.dtype | type = np.float64) -> Partition:
    """Return the partition of the first session: R_0 = 0, so the core is empty."""
    return Partition(np.zeros((d, 0), dtype=dtype, order="F"), 0.0, 0.0)


def partition(R: NDArray[np.floating], rules: list[Rule]) -> list[Partition]:
    """Split the space of R (d, d) by every rule; all share one eigendecomposition.

    k is the smallest rank with ``sum_{i<=k} lambda_i >= tau sum_i lambda_i`` (paper, section
    "Spectral Partition of Analytic Memory").  Cost: O(d^2 k) while k is far below d, else O(d^3).

    Raises
    ------
    InputError
        When a rule asks for a rank above d.
    """
    d = len(R)
    for rule in rules:
        if rule.k is not None and rule.k > d:
            raise InputError(f"k = {rule.k} exceeds the {d} feature dimensions that can be split.")
    trace = float(np.trace(R, dtype=np.float64))
    if trace == 0 or all(rule.k == 0 for rule in rules):
        return [empty(d, R.dtype) for _ in rules]
    if any(rule.k for rule in rules):
        values, vectors = linalg.descending_eigh(R)
    else:
        values, vectors = linalg.leading_eigh(R, max(rule.tau for rule in rules if rule.tau))
    shares = np.concatenate([[0.0], np.cumsum(np.maximum(values, 0), dtype=np.float64) / trace])
    result = []
    for rule in rules:
        if rule.k is None:
            # rounding may leave the last share a few ulp below a tau close to 1
            k = min(int(np.searchsorted(shares, rule.tau)), len(values))
        else:
            k = rule.k
        U_core = np.asfortranarray(vectors[:, :k])
        result.append(Partition(U_core, float(shares[k]), float(shares[max(k - 1, 0)])))
    return result
