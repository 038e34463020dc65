"""Symmetric linear algebra for the numerics above, on whichever device the arrays lie.

What is computed stands here; how, on NumPy arrays or on a GPU's, in
:mod:`sparcl.algebra.backend`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import eigvalsh, qr, svd
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from sparcl.algebra.backend import Backend, Factor, host, of
from sparcl.algebra.lapack import HOST
from sparcl.base.errors import NumericalError
from sparcl.base.randomness import generator
from sparcl.base.types import Array

ROUNDING = 4  # a pivot below so many units in the last place of its diagonal entry is no number
# A truncated eigendecomposition is tried with these ranks while the rank is below d / TRUNCATED:
# measured at d = 384 to 2,048, Lanczos is faster than the dense driver up to about there.
TRUNCATED_RANKS = (8, 32, 96)
TRUNCATED = 10


def product(A: Array, B: Array) -> Array:
    """Return ``A B`` (n, m): 2 n d m flops, no copy of A (n, d) or B (d, m) in C or F order."""
    return of(A).product(A, B)


def one_hot(columns: NDArray[np.integer], wanted: NDArray[np.integer], like: Array) -> Array:
    """Return the targets (n, c) of rows of columns (n,), where ``like`` lies: 1 in the wanted column (c,)."""
    on = of(like)
    return on.array((columns[:, None] == wanted).astype(on.dtype(like)))


class Gram:
    """A symmetric matrix (d, d) of which the lower triangle counts and the upper one is workspace.

    Sums and factorisations touch one triangle each, so neither copies the matrix; the upper one is
    filled in again when somebody asks for the whole.

    Attributes
    ----------
    residual : largest relative residual of the solutions that were refined since rows or sums were added
        last; None where none was
    """

    def __init__(self, d: int, dtype: DTypeLike = np.float64, on: Backend = HOST) -> None:
        on.check_room("R", (d, d), dtype)
        self.on = on
        self._array = on.zeros((d, d), dtype)
        self._whole = True
        self.residual: float | None = None

    @classmethod
    def wrap(cls, R: Array) -> "Gram":
        """Return symmetric R (d, d) as a Gram; R itself, where its layout is that of products."""
        gram = cls(0, on=of(R))
        gram._array = gram.on.in_place(R)
        return gram

    @classmethod
    def of_rows(cls, H: Array) -> "Gram":
        """Return ``H H^T`` (n, n) of H (n, M): n^2 M flops (symmetric rank-M update)."""
        on = of(H)
        gram = cls(H.shape[0], on.dtype(H), on)
        on.outer_update(gram._array, H)
        gram._whole = False
        return gram

    def __len__(self) -> int:
        return self._array.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Working precision."""
        return self.on.dtype(self._array)

    @property
    def refines(self) -> bool:
        """Whether solutions by a factor are refined in this precision."""
        return self.on.refines(self.dtype)

    @property
    def diagonal(self) -> Array:
        """The diagonal (d,), on the host; do not write into it."""
        return self.on.diagonal(self._array)

    @property
    def full(self) -> Array:
        """The whole matrix; do not write into it."""
        if not self._whole:
            self.on.mirror(self._array)
            self._whole = True
        return self._array

    def add(self, Phi: Array, sign: float = 1.0) -> None:
        """Add ``sign Phi^T Phi`` for Phi (n, d): n d^2 flops (symmetric rank-n update)."""
        self.on.rank_update(self._array, Phi, sign)
        self._whole, self.residual = False, None

    def merge(self, other: "Gram") -> None:
        """Add another symmetric matrix of the same size, of any device, in place: d^2 flops."""
        R = self.full
        R += self.on.array(other.full, R.dtype)
        self.residual = None

    def times(self, B: Array) -> Array:
        """Return the product with B (d,) or (d, n): 2 n d^2 flops."""
        R = self._array if self.on.reads_triangle else self.full
        return self.on.symmetric_times(R, B)

    @contextmanager
    def factored(
        self, shift: float, *, downdate: tuple[float, Array] | None = None
    ) -> Iterator[Factor]:
        """Factor ``A = R + shift I - weight Q Q^T`` in the upper triangle for the block's length.

        R must not be used inside the block; on leaving it is what it was, to the bit.  ``downdate``
        is ``(weight, Q)`` with Q (d, m).  Cost: d^3 / 3 flops, no d x d copy.

        Raises
        ------
        NumericalError
            When A is not positive definite to working precision.
        """
        R, diagonal = self.full, self.diagonal.copy()
        self._whole = False
        with self.on.factored(R, shift, downdate) as (factor, info):
            if not info:
                # a pivot that is only what rounding left of its diagonal entry
                least = ROUNDING * np.finfo(self.dtype).eps * (diagonal + shift)
                lost = factor.pivots**2 <= least
                info = int(np.argmax(lost)) + 1 if lost.any() else 0
            if info:
                raise NumericalError(
                    f"R + {shift:g} I is not positive definite (d = {len(self)}, {self.dtype}, leading "
                    f"minor {info}; largest diagonal entry {diagonal.max():.3g}, so the condition "
                    f"number is about {diagonal.max() / shift:.1e} or more). Usual cause: a ridge "
                    "too small for the scale of the features or for float32; raise ridge or use "
                    "dtype float64."
                )
            yield factor
            if factor.residual is not None:
                self.residual = max(self.residual or 0.0, factor.residual)

    def resolvents(self, B: Array, shifts: Array) -> Iterator[tuple[float, float]]:
        """Yield ``s tr (R + s I)^-1`` and ``|s (R + s I)^-1 B|_F^2`` of each shift s; R is used up."""
        return self.on.resolvents(self._array, B, shifts)


def descending_eigh(R: Array) -> tuple[Array, Array]:
    """Return all eigenvalues (d,), descending, and eigenvectors (d, d) of symmetric R: O(d^3)."""
    return of(R).descending_eigh(R)


def trace(R: Array) -> float:
    """Return the trace of R (d, d), summed in float64."""
    return float(of(R).diagonal(R).sum(dtype=np.float64))


def leading_eigh(
    R: Array, *, energy: float | None = None, rank: int | None = None
) -> tuple[Array, Array]:
    """Return leading eigenpairs of R (d, d): ``rank`` of them, or enough for ``energy`` of its trace.

    Eigenvalues (k,) descend, on the host; eigenvectors (d, k).  Lanczos with a growing rank,
    O(d^2 k), while the rank is far below d, and then there may be more pairs than were asked for;
    otherwise a dense decomposition, O(d^3).  Lanczos runs on the host, its products with R where R
    lies, so that it takes the same steps on every device.

    Raises
    ------
    NumericalError
        When Lanczos does not converge.
    """
    d, gram = int(R.shape[0]), Gram.wrap(R)
    on, dtype = gram.on, gram.dtype
    target = np.inf if energy is None else energy * trace(R)
    # A start that belongs to d alone: equal input gives equal bytes.
    start = generator("lanczos", d).standard_normal(d).astype(dtype)
    least = 1.0 if rank is None else float(rank)

    def multiplied(v: Array) -> Array:
        return host(gram.times(on.array(v, R.dtype)))

    operator = LinearOperator((d, d), matvec=multiplied, dtype=dtype)
    for tried in TRUNCATED_RANKS:
        if max(least, tried) * TRUNCATED > d:
            break
        if tried < least:
            continue
        try:
            values, vectors = eigsh(operator, k=tried, which="LA", v0=start)
        except ArpackError as error:
            raise NumericalError(
                f"The eigenvalues of R (d = {d}) did not converge: {error}"
            ) from error
        if energy is None or values.sum() >= target:
            falling = np.argsort(-values, kind="stable")
            return values[falling], on.array(vectors[:, falling])
        # So many more are needed: j eigenvalues not found yet sum to at most j times the smallest one found,
        # and by Cauchy and Schwarz to at most sqrt(j) times the root of their squares, of which
        # ||R||_F^2 holds the sum.
        lacking, tiny = target - values.sum(), np.finfo(dtype).tiny
        squares = on.squared_lengths(R).sum(dtype=np.float64) - np.sum(values**2)
        least = tried + max(lacking / max(values.min(), tiny), lacking**2 / max(squares, tiny))
    return on.dense_leading(R, target, rank)


def extended_svd(U: Array, s: Array, B: Array, rank: int) -> tuple[Array, Array]:
    """Return the ``rank`` leading left singular pairs of ``[U diag(s), B]``, without forming it.

    U (d, r) orthonormal, s (r,), B (d, n).  With ``B = U P + Q T`` the small matrix
    ``[[diag(s), P], [0, T]]`` has the same singular values; its left vectors turn [U, Q].
    Cost: O(d (r + n)^2 + (r + n)^3).
    """
    P = U.T @ B
    Q, T = qr(B - U @ P, mode="economic", check_finite=False)
    r, q = len(s), len(T)
    small = np.zeros((r + q, r + B.shape[1]), dtype=B.dtype)
    small[np.arange(r), np.arange(r)] = s
    small[:r, r:], small[r:, r:] = P, T
    turn, values, _ = svd(small, full_matrices=False, check_finite=False)
    kept = min(rank, len(values))
    turned = U @ turn[:r, :kept] + Q @ turn[r:, :kept]
    # rounding grows from update to update unless the basis is made orthonormal again
    basis, triangle = qr(turned, mode="economic", check_finite=False)
    return basis * np.where(np.diag(triangle) < 0, -1, 1).astype(B.dtype), values[:kept]


def complement(U: Array) -> Array:
    """Return U_res (d, d - k), an orthonormal basis of what U (d, k) leaves, on the host: O(d^3)."""
    U, k = host(U), U.shape[1]
    if k == 0:
        return np.eye(len(U), dtype=U.dtype, order="F")
    return np.asfortranarray(qr(U, mode="full", check_finite=False)[0][:, k:])


def thin_qr(A: Array) -> tuple[Array, Array]:
    """Return orthonormal Q (d, n) and triangular R (n, n) with A = Q R, n <= d, on the host: 4 d n^2 flops."""
    Q, R = qr(host(A), mode="economic", check_finite=False)
    return Q, R


def residual_eigenvalues(R: Array, U_res: Array) -> Array:
    """Return the eigenvalues, descending, of ``U_res^T R U_res`` (r, r), on the host: O(d^3)."""
    R, U_res = host(R), host(U_res)
    block = U_res.T @ (R @ U_res)
    return eigvalsh((block + block.T) / 2, check_finite=False)[::-1]


def residual_inverse(R: Gram, ridge: float, U: Array) -> Gram:
    """Return ``P = A^-1 - V S^-1 V^T`` (d, d), A = R + ridge I, V = A^-1 U, S = U^T V: d^3 flops.

    That is ``U_res (U_res^T A U_res)^-1 U_res^T`` without a basis of the residual.
    """
    with R.factored(ridge) as A:
        P = Gram.wrap(A.inverse())
        V = A.solve(U)
    if U.shape[1]:
        S = product(U.T, V)
        L = _lower((S + S.T) / 2)
        P.add(P.on.lower_solve(L, V.T), sign=-1.0)
    P._whole = False
    return P


def woodbury(P: Gram, X: Array) -> Array:
    """Replace P (d, d) by ``P - T (I + X T)^-1 T^T``, T = P X^T, and return the new ``P X^T``.

    A symmetric rank-n downdate: P is symmetric by construction.  Cost: 3 n d^2 + 2 n^2 d flops.

    Raises
    ------
    NumericalError
        When P has lost its positive semidefiniteness; P is left as it was.
    """
    T = P.times(X.T)
    L = _lower(product(X, T) + P.on.array(np.eye(X.shape[0], dtype=P.dtype)))
    F = P.on.right_solve(T, L, transposed=True)  # so that T (I + X T)^-1 T^T = F F^T
    P.add(F.T, sign=-1.0)
    return P.on.right_solve(F, L, transposed=False)  # the new P X^T = T (I + X T)^-1


def solve_definite(A: Array, b: Array) -> Array:
    """Return ``A^-1 b`` for positive definite A (k, k): k^3 / 3 flops."""
    on = of(A)
    if A.shape[0] == 0:
        return on.zeros((0, b.shape[1]), on.dtype(A))
    return on.definite_solve(_lower((A + A.T) / 2), b)


def lower_factor(A: Array) -> Array:
    """Return the lower Cholesky factor L of positive definite A (k, k): k^3 / 3 flops."""
    on = of(A)
    return on.xp.tril(_lower(on.laid_out((A + A.T) / 2)))


def lower_solve(L: Array, B: Array) -> Array:
    """Return ``L^-1 B`` for lower triangular L (k, k) and B (k, n): k^2 n flops."""
    return of(L).lower_solve(L, B)


def _lower(A: Array) -> Array:
    """Return the lower Cholesky factor of A (k, k)."""
    on = of(A)
    L, info = on.lower(A)
    if info:
        raise NumericalError(
            f"A block of {A.shape[0]} rows is not positive definite in {on.dtype(A)} (leading minor {info}). "
            "Usual cause: a ridge too small for the scale of the features; raise ridge or use dtype "
            "float64."
        )
    return L
