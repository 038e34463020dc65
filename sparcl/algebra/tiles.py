"""A Cholesky factor over the upper tiles of a symmetric matrix, on the backend of torch tensors.

torch has no symmetric update and no factorisation in place.  Here a matrix R (d, d) is cut into
tiles: an update with n rows writes the tiles of its lower triangle, n d^2 flops in place of 2 n d^2;
a factorisation writes its factor over the upper tiles, so that no second d x d matrix is needed.
Nearly all of the work is in products of tiles, which is what a GPU does best.  Tiles on the diagonal
are copied: d times a tile's side of numbers.

In float32 solutions are refined: the residual ``B - A X`` is taken in float64 from R, and the factor
corrects X until the residual is as small as float32 can tell (Moler, 1967).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparcl.base.errors import NumericalError
from sparcl.base.types import Array

TILE = 1024  # side of a tile
STEPS = 20  # of refinement, at most
STALLED = 0.5  # a step that leaves more than this share of the residual is the last
RESIDUAL_LIMIT = 1e-3  # relative; a solution with a larger one is no solution


@dataclass
class Downdated:
    """``A = R + ridge I - weight Q Q^T``, whose lower tiles of R stay as they are.

    Parameters
    ----------
    on : backend; R (d, d) whole at first, its upper tiles are workspace
    """

    on: Any
    R: Any
    ridge: float
    downdate: tuple[float, Any] | None

    def times(self, X: Any) -> Any:
        """Return ``A X`` (d, c) in the precision of X, from the lower tiles: 2 d^2 c flops."""
        on, xp = self.on, self.on.xp
        Y = self.ridge * X
        for s in on.tiles(self.R.shape[0]):
            diagonal = on.array(self.R[s, s], X.dtype)
            Y[s, :] += diagonal @ X[s, :]
            below = slice(s.stop, None)
            if s.stop < self.R.shape[0]:
                L = on.array(self.R[below, s], X.dtype)
                Y[below, :] += L @ X[s, :]
                Y[s, :] += L.T @ X[below, :]
        if self.downdate is not None:
            weight, Q = self.downdate
            Q = xp.astype(Q, X.dtype)
            Y -= weight * (Q @ (Q.T @ X))
        return Y


class TileFactor:
    """Cholesky factor U, ``A = U^T U``: off-diagonal tiles in the upper triangle of R, others apart."""

    def __init__(self, A: Downdated) -> None:
        self.A, self.on = A, A.on
        self.residual: float | None = None
        self.corners: list[Any] = []  # lower factors of the tiles on the diagonal

    def compute(self) -> int:
        """Factor A; the number, from 1, of the first row of a tile that is not positive, or 0."""
        on, R, A = self.on, self.A.R, self.A
        slices = on.tiles(R.shape[0])
        corners = [on.shifted(R[s, s], A.ridge) for s in slices]
        if A.downdate is not None:
            weight, Q = A.downdate
            for i, s in enumerate(slices):
                corners[i] = corners[i] - weight * (Q[s, :] @ Q[s, :].T)
                if s.stop < R.shape[0]:
                    on.add_product(R, s, slice(s.stop, None), Q[s, :], Q[s.stop :, :].T, -weight)
        minors = []
        for k, s in enumerate(slices):
            L, minor = on.cholesky(corners[k])
            minors.append((s.start, minor))
            corners[k] = L
            if s.stop == R.shape[0]:
                break
            R[s, s.stop :] = on.lower_solve(L, R[s, s.stop :])
            for i in range(k + 1, len(slices)):
                t = slices[i]
                left = R[s, t].T
                corners[i] = corners[i] - left @ R[s, t]
                if t.stop < R.shape[0]:
                    on.add_product(R, t, slice(t.stop, None), left, R[s, t.stop :], -1.0)
        self.corners = corners
        return on.first_minor(minors)

    @property
    def pivots(self) -> Array:
        """Diagonal (d,) of the factor."""
        parts = [self.on.diagonal(L) for L in self.corners]
        return np.concatenate(parts) if parts else np.zeros(0)

    def solve(self, B: Any) -> Any:
        """Return ``A^-1 B`` for B (d, c): 2 d^2 c flops; in float32 as many again for each step of refinement.

        Raises
        ------
        NumericalError
            When refinement in float32 cannot bring the residual below RESIDUAL_LIMIT of B.
        """
        B = self.on.array(B, self.A.R.dtype)
        refined = self.on.refines(self.on.dtype(B)) and 0 not in B.shape
        return self._refined(B) if refined else self._substituted(B)

    def inverse(self) -> Any:
        """Return ``A^-1`` (d, d): 2 d^3 flops."""
        on, d = self.on, self.A.R.shape[0]
        return self.solve(on.array(np.eye(d, dtype=on.dtype(self.A.R))))

    def _substituted(self, B: Any) -> Any:
        on, U, X = self.on, self.A.R, self.on.xp.asarray(B, copy=True)
        slices = on.tiles(U.shape[0])
        for s, L in zip(slices, self.corners, strict=True):
            if s.start:
                X[s, :] -= U[: s.start, s].T @ X[: s.start, :]
            X[s, :] = on.lower_solve(L, X[s, :])
        for s, L in reversed(list(zip(slices, self.corners, strict=True))):
            if s.stop < U.shape[0]:
                X[s, :] -= U[s, s.stop :] @ X[s.stop :, :]
            X[s, :] = on.upper_solve(L, X[s, :])
        return X

    def _refined(self, B: Any) -> Any:
        on, xp = self.on, self.on.xp
        wide, narrow = on.array(B, "float64"), B.dtype
        scale = np.sqrt(on.squared_lengths(wide.T))
        scale[scale == 0] = 1.0  # of a class without a row
        X = on.array(self._substituted(B), "float64")
        goal, before = float(np.finfo(np.float32).eps), np.inf
        for _ in range(STEPS):
            rest = wide - self.A.times(X)
            reached = float((np.sqrt(on.squared_lengths(rest.T)) / scale).max())
            if not reached < before * STALLED or reached <= goal:
                break
            before = reached
            # scaled: a small residual must not leave the range of float32
            unit = on.array(np.maximum(np.sqrt(on.squared_lengths(rest.T)), np.finfo(float).tiny))
            step = self._substituted(xp.astype(rest / unit, narrow))
            X = X + xp.astype(step, X.dtype) * unit
        self.residual = max(self.residual or 0.0, reached)
        if not reached <= RESIDUAL_LIMIT:
            raise NumericalError(
                f"Refinement of a float32 solution ends at a relative residual of {reached:.1e} (d = "
                f"{B.shape[0]}, ridge {self.A.ridge:g}; at most {RESIDUAL_LIMIT:g} counts as solved). Usual cause: "
                "a ridge too small for float32; raise ridge or use dtype float64."
            )
        return xp.astype(X, narrow)
