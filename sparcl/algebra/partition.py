"""Core and residual: the split of the feature space by the spectrum of R."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import eigvalsh, qr

from sparcl.algebra import spectra
from sparcl.algebra.backend import Backend, host, of
from sparcl.algebra.host import HOST
from sparcl.algebra.sums import Gram
from sparcl.base.checks import check_fraction, check_int
from sparcl.base.errors import InputError
from sparcl.base.state import Shape, Stateful
from sparcl.base.types import Array


def check_size(tau: float | None, k: int | None) -> None:
    """Raise InputError unless a core has a rank ``k``, or else an energy threshold ``tau`` in (0, 1)."""
    if k is not None:
        check_int("k", k, least=0)
    else:
        check_fraction(
            "tau",
            tau,
            "It is the share of the trace of R that the core holds; for an empty or a full core give "
            "k = 0 or k = d instead.",
        )


@dataclass(eq=False)
class Partition(Stateful):
    """A core basis and what was measured when it was chosen.

    Attributes
    ----------
    U_core : (d, k) orthonormal, columns in order of falling eigenvalue
    energy, energy_before : share of the trace held by k and by k - 1 directions
    origin : of which decomposition (sessions before it, pairs computed); such cores are nested
    """

    U_core: Array
    energy: float
    energy_before: float
    origin: tuple[int, int] = (0, 0)
    kept: ClassVar[dict[str, Shape | None]] = {"U_core": (None, None)}

    @property
    def k(self) -> int:
        """Core rank."""
        return self.U_core.shape[1]

    @property
    def r(self) -> int:
        """Residual rank d - k."""
        return self.U_core.shape[0] - self.k


def empty(d: int, dtype: DTypeLike = np.float64, on: Backend = HOST) -> Partition:
    """Return the partition of the first session: R_0 = 0, so the core is empty."""
    return Partition(on.zeros((d, 0), dtype), 0.0, 0.0)


@dataclass
class Spectrum:
    """Eigenpairs of R (d, d), computed when asked for and only as many as are needed.

    R must stay as it is while the spectrum is in use.  Cost: O(d^2 k) while k is far below d
    (``spectra.leading_eigh``), O(d^3) otherwise, once for all splits.

    Parameters
    ----------
    source : has R; d : take its leading d rows; origin : sessions summed
    expected : rank of the largest core of fewer sessions: no truncated decomposition is tried in vain
    """

    source: Gram
    origin: int = 0
    d: int | None = None
    expected: int = 0
    _pairs: tuple[Array, Array] | None = field(default=None, repr=False)

    @cached_property
    def R(self) -> Array:
        """The matrix (d, d) that is decomposed, whole from the first look on."""
        return self.source.R[: self.d, : self.d]

    def split(self, *, tau: float | None = None, k: int | None = None) -> Partition:
        """Return the smallest core with ``sum_{i<=k} lambda_i >= tau sum_i lambda_i``, or of rank k.

        Source: paper, section "Spectral Partition of Analytic Memory".

        Raises
        ------
        InputError
            When k is above d.
        """
        R, on = self.R, self.source.on
        if k is not None and k > R.shape[0]:
            raise InputError(
                f"k = {k} exceeds the {R.shape[0]} feature dimensions that can be split."
            )
        trace = float(on.diagonal(R).sum(dtype=np.float64))
        if trace == 0 or k == 0:
            return empty(R.shape[0], on=on, dtype=on.dtype(R))
        if tau is None:
            values, vectors = self._leading(k or 0)
        elif self._pairs is None or self._pairs[0].sum() < tau * trace:
            self._pairs = spectra.leading_eigh(on, R, energy=tau * trace, expected=self.expected)
            values, vectors = self._pairs
        else:
            values, vectors = self._pairs
        size = (k or 0) if tau is None else spectra.energy_rank(values, trace, tau)
        shares = np.cumsum(np.maximum(values, 0), dtype=np.float64) / trace
        shares = np.concatenate([[0.0], shares])
        U_core = on.laid_out(vectors[:, :size])
        energies = float(shares[size]), float(shares[max(size - 1, 0)])
        return Partition(U_core, *energies, (self.origin, len(values)))

    def leading(self, k: int) -> Array:
        """Return the k leading eigenvectors (d, k)."""
        return self._leading(k)[1][:, :k]

    def _leading(self, k: int) -> tuple[Array, Array]:
        """Return k eigenpairs or more."""
        if self._pairs is None or self._pairs[1].shape[1] < k:
            self._pairs = spectra.leading_eigh(self.source.on, self.R, rank=k)
        return self._pairs


def residual_condition(R: Array, ridge: float, U_core: Array) -> float:
    """Return the condition number of ``U_res^T (R + ridge I) U_res``, U_res (d, r) a basis of the residual: O(d^3)."""
    R, U_res = host(R), complement(U_core)
    block = U_res.T @ (R @ U_res)
    values = np.maximum(eigvalsh((block + block.T) / 2, check_finite=False), 0.0)
    return float((values[-1] + ridge) / (values[0] + ridge)) if len(values) else 1.0


def residual_directions(U_core: Array, m: int, rng: np.random.Generator) -> Array:
    """Draw Q (d, m), orthonormal with ``U_core^T Q = 0`` (paper, "Orthonormal residual RP"), on the host.

    Cost: 4 d m k + 4 d m^2 flops.

    Raises
    ------
    InputError
        When m exceeds the rank r = d - k of the residual.
    """
    U_core = host(U_core)
    d, k = U_core.shape
    if m > d - k:
        raise InputError(
            f"m = {m} orthonormal directions do not fit into a residual of rank {d - k} "
            f"(d = {d}, k = {k}): lower m, or lower tau so that the core is smaller."
        )
    G: Array = rng.standard_normal((d, m))
    for _ in range(2):  # twice is enough for orthogonality to working precision
        G -= U_core @ (U_core.T @ G)
        G = qr(G, mode="economic", check_finite=False)[0]
    return G


def embedded(U_core: Array, D: int) -> Array:
    """Return a core basis (d, k), padded with zero rows to mapped coordinates (D, k)."""
    if U_core.shape[0] == D:
        return U_core
    on = of(U_core)
    padded = on.zeros((D, U_core.shape[1]), on.dtype(U_core))
    padded[: U_core.shape[0], :] = U_core
    return padded


def complement(U: Array) -> Array:
    """Return U_res (d, d - k), an orthonormal basis of what U (d, k) leaves, on the host: O(d^3)."""
    U, k = host(U), U.shape[1]
    if k == 0:
        return np.eye(len(U), dtype=U.dtype, order="F")
    return np.asfortranarray(qr(U, mode="full", check_finite=False)[0][:, k:])
