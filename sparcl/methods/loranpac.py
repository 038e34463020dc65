"""LoRanPAC: least squares on h = relu(f W) through a truncated decomposition, without a ridge.

``path = "svd"`` (official): with H^T = U diag(s) V^T kept as (U, s), each block of new samples
extends the decomposition (``spectra.extended_svd``) and r = min(round(0.75 N), cap, 0.75 M) leading
pairs stay, N the samples seen.  The result depends on where the blocks end.  ``path = "gram"``: the
r leading eigenpairs of G = sum of h^T h, the same truncation without the path, O(M^2) memory at any
N: for small M.  Both end with W = U diag(1 / s^2) U^T C.
Source: LoRanPAC (ICLR 2025), repository commit 32782f9.

Official: M = 100,000, cap 10,000 (20,000 for OmniBenchmark and ObjectNet), 25% truncated, blocks of
10,000 samples and session ends, float32, features as they are, the map drawn from the run's seed.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import spectra
from sparcl.algebra.sums import Sums, check_lengths, squared_lengths
from sparcl.base.checks import DTYPES, check_choice, check_fraction, check_int
from sparcl.base.state import Shape
from sparcl.base.types import Array
from sparcl.learners.learner import Learner
from sparcl.parts.maps import RandomMap

BLOCK = 10_000  # samples between two truncations inside a session (official)


@dataclass(eq=False)
class TruncatedLeastSquares(Learner):
    """Per block of n rows O(M (r + n)^2 + (r + n)^3) by SVD, n M^2 and O(M^3) a session by Gram."""

    width: int
    kept_share: float
    cap: int
    path: str
    seed: int
    dtype: str
    cannot_forget: ClassVar[str] = (
        "what its decomposition leaves out depends on the order of samples, and on the last bits of their sums"
    )
    kept: ClassVar[dict[str, Shape | None]] = {
        "map": RandomMap,
        "n": int,
        "U": ("D", "r"),
        "s": ("r",),
        "C": ("D", "c"),
        "sums": Sums | None,
        "weights": ("D", "c"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("cap", self.cap, least=1)
        check_fraction(
            "kept", self.kept_share, "It is the share of samples and of M that bounds the rank."
        )
        check_choice("path", self.path, ("svd", "gram"))
        check_choice("dtype", self.dtype, DTYPES)
        self.map = RandomMap(self.width, self.seed)
        self.n = 0
        self.U: Array = np.zeros((self.width, 0), dtype=self.dtype)
        self.s: Array = np.zeros(0, dtype=self.dtype)
        self.C: Array = np.zeros((self.width, 0), dtype=self.dtype)
        self.sums = Sums(self.width, self.dtype) if self.path == "gram" else None
        self.weights: Array = np.zeros((self.width, 0), dtype=self.dtype)

    def expand(self, Phi: Array) -> Array:
        """Return h (n, M) of features Phi (n, d)."""
        return self.map(np.asarray(Phi, dtype=self.dtype))

    def report(self) -> dict[str, Any]:
        """Return the rank kept after the last session."""
        return {"rank": len(self.s)}

    def _rank(self) -> int:
        """Return how many pairs stay; at least one."""
        return max(
            min(round(self.kept_share * self.n), self.cap, int(self.kept_share * self.width)), 1
        )

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        if self.session == 0:
            self.map.begin(Phi)
        self.C = np.pad(self.C, ((0, 0), (0, classes - old)))
        if self.sums is not None:
            self.sums.grow(classes)
        for start in range(0, len(Phi), BLOCK):
            rows = slice(start, start + BLOCK)
            H = self.expand(Phi[rows])
            check_lengths(squared_lengths(H), float(np.sum(self.s**2)) / max(self.n, 1))
            self.n += len(H)
            if self.sums is None:
                self.C += H.T @ (columns[rows, None] == np.arange(classes)).astype(self.dtype)
                self.U, self.s = spectra.extended_svd(self.U, self.s, H.T, self._rank())
            else:
                self.sums.accumulate(H, columns[rows])
        if self.sums is not None:
            self.C = self.sums.C
            values, vectors = spectra.descending_eigh(self.sums.R)
            self.U = vectors[:, : self._rank()]
            self.s = np.sqrt(np.maximum(values[: self._rank()], 0))
        # directions that no sample has would be divided by rounding
        live = self.s > self.s[0] * np.sqrt(self.width * np.finfo(self.dtype).eps)
        U, s = self.U[:, live], self.s[live]
        self.weights = U @ ((U.T @ self.C) / s[:, None] ** 2)

    def _logits(self, Phi: Array) -> Array:
        return self.expand(Phi) @ self.weights


def build(
    *,
    width: int = 100_000,
    kept: float = 0.75,
    cap: int = 10_000,
    path: str = "svd",
    seed: int = 0,
    dtype: str = "float64",
) -> TruncatedLeastSquares:
    """Build the learner.

    Parameters
    ----------
    width : M, outputs of the map
    kept : share of samples and of M that bounds the rank, in (0, 1)
    cap : largest rank
    path : ``svd`` (official) or ``gram``
    seed : of the map's weights
    dtype : float64 (default) or float32 (official)
    """
    return TruncatedLeastSquares(width, kept, cap, path, seed, dtype)
