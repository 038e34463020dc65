"""Eigenpairs, singular pairs and subspaces: all of them, or the leading ones."""

import numpy as np
from scipy.linalg import qr, svd
from scipy.linalg.lapack import dpstrf

from sparcl.algebra.backend import Backend, of, product
from sparcl.algebra.host import HOST
from sparcl.base.errors import NumericalError
from sparcl.base.randomness import generator
from sparcl.base.types import Array, host

# A truncated eigendecomposition is tried with these ranks while the rank is below d / TRUNCATED:
# measured at d = 384 to 2,048, Lanczos is faster than the dense driver up to about there.
TRUNCATED_RANKS = (8, 32, 96)
TRUNCATED = 10
SMALLEST = 1e-6  # of a singular value from a Gram matrix, beside the largest


def descending_eigh(R: Array) -> tuple[Array, Array]:
    """Return all eigenvalues (d,), descending, and eigenvectors (d, d) of symmetric R: O(d^3)."""
    return of(R).descending_eigh(R)


def conquered_eigh(R: Array) -> tuple[Array, Array]:
    """Return the same of R on the host, by divide and conquer: 3/4 of the time at d = 1,280, and more memory."""
    values, vectors = np.linalg.eigh(R)
    return values[::-1], np.ascontiguousarray(vectors[:, ::-1])


def leading_eigh(
    on: Backend,
    R: Array,
    *,
    energy: float = np.inf,
    rank: int | None = None,
    expected: int = 0,
) -> tuple[Array, Array]:
    """Return leading eigenpairs of R (d, d), on its backend: ``rank`` of them, or enough for a sum of ``energy``.

    Eigenvalues (k,) descend, on the host; eigenvectors (d, k).  Lanczos with a growing rank,
    O(d^2 k), while the rank is far below d, and then there may be more pairs than were asked for;
    otherwise a dense decomposition, O(d^3).  Lanczos runs on the host, its products with R where R
    lies, so that it takes the same steps on every device.  ``expected`` is the number of pairs
    that ``energy`` may take, where it is known.

    Raises
    ------
    NumericalError
        When Lanczos does not converge.
    """
    d, least = int(R.shape[0]), 1.0 if rank is None else float(rank)
    if max(least, expected, TRUNCATED_RANKS[0]) * TRUNCATED > d:
        return on.dense_leading(R, energy, rank)
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh  # 50 ms of a job's start

    R, dtype = on.in_place(R), on.dtype(R)
    # A start that belongs to d alone: equal input gives equal bytes.
    start = generator("lanczos", d).standard_normal(d).astype(dtype)

    def multiplied(v: Array) -> Array:
        return host(on.symmetric_times(R, on.array(v, R.dtype)))

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
        if rank is not None or values.sum() >= energy:
            falling = np.argsort(-values, kind="stable")
            return values[falling], on.array(vectors[:, falling])
        # So many more are needed: j eigenvalues not found yet sum to at most j times the smallest one found,
        # and by Cauchy and Schwarz to at most sqrt(j) times the root of their squares, of which
        # ||R||_F^2 holds the sum.
        lacking, tiny = energy - values.sum(), np.finfo(dtype).tiny
        squares = on.squared_lengths(R).sum(dtype=np.float64) - np.sum(values**2)
        least = tried + max(lacking / max(values.min(), tiny), lacking**2 / max(squares, tiny))
    return on.dense_leading(R, energy, rank)


def thin_qr(A: Array) -> tuple[Array, Array]:
    """Return orthonormal Q (d, n) and triangular R (n, n) with A = Q R, n <= d, on the host: 4 d n^2 flops."""
    Q, R = qr(host(A), mode="economic", check_finite=False)
    return Q, R


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


def orthonormal_span(A: Array) -> Array:
    """Return an orthonormal basis (d, rank) of the column space of A (d, c): O(d c^2).

    The rank counts the singular values above ``max(d, c) eps`` times the largest.
    """
    U, values, _ = np.linalg.svd(A, full_matrices=False)
    return U[:, values > max(A.shape) * np.finfo(A.dtype).eps * values.max(initial=0)]


def canonical_angle(U: Array, V: Array) -> float:
    """Return the largest canonical angle, in degrees, between the spans of orthonormal U and V (d, k).

    From its sine, ``||V - U U^T V||_2``, which keeps small angles that a cosine rounds away
    (Björck and Golub, 1973); 0 where k = 0.  Cost: O(d k^2).
    """
    if U.shape[1] == 0:
        return 0.0
    U, V = host(U), host(V)
    outside = V - U @ (U.T @ V)
    # the largest eigenvalue of a Gram matrix has all its digits, which the small ones have not
    sine = np.sqrt(np.linalg.eigvalsh(outside.T @ outside)[-1])
    return float(np.degrees(np.arcsin(min(float(sine), 1.0))))


def energy_rank(values: Array, trace: float, tau: float) -> int:
    """Return the smallest k with ``sum_{i<=k} lambda_i >= tau trace``, for descending eigenvalues (d,)."""
    shares = np.cumsum(np.maximum(values, 0), dtype=np.float64) / trace
    # rounding may leave the last share a few ulp below a tau close to 1
    return min(int(np.searchsorted(shares, tau)) + 1, len(values))


def principal_span(A: Array, k: int) -> tuple[Array, Array]:
    """Return the k leading left singular pairs of A (d, m), as far as its rank allows, on the host: O(d m^2 + m^3).

    From the Gram matrix: a singular value below SMALLEST times the largest is left out.
    """
    squares, V = descending_eigh(product(A.T, A))
    k = min(k, int(np.count_nonzero(squares > SMALLEST**2 * squares.max(initial=0))))
    values = np.sqrt(squares[:k])
    U = product(A, V[:, :k] / values)
    # orthonormal to what squaring left of the digits, then to the last
    for _ in range(2):
        U = HOST.lower_solve(HOST.block_factor(product(U.T, U)), U.T).T
    return U, values


def nonzero_eigh(R: Array, least: float) -> tuple[Array, Array]:
    """Return the eigenpairs of R (d, d), positive semidefinite, above ``least`` of the largest: O(d p^2) for rank p.

    ``R = L L^T`` with L (d, p) from a Cholesky factor with pivoting has the nonzero eigenvalues of ``L^T L``.

    Returns
    -------
    Eigenvalues (p,), descending, and eigenvectors (d, p).
    """
    factor, pivots, p, _ = dpstrf(R, lower=1)
    L = np.zeros((len(R), p))
    L[pivots - 1] = np.tril(factor[:, :p])
    values, turned = conquered_eigh(L.T @ L)
    p = np.count_nonzero(values > least * values[0])
    return values[:p], L @ (turned[:, :p] / np.sqrt(values[:p]))


def outside(values: Array, vectors: Array, basis: Array, k: int) -> Array:
    """Return the eigenvalues (d - k,), descending, of R on what the first k columns U of a basis leave: O(d^3).

    With R's eigenpairs L and V they are those of ``S^T S`` with ``S = L^1/2 V^T U_res``, where the other columns are
    all of U_res, and else those of ``L^1/2 (I - V^T U U^T V) L^1/2`` without k zeros.

    Parameters
    ----------
    values : (p,) eigenvalues of R; vectors : (d, p) eigenvectors; others are zero
    basis : (d, q) orthonormal
    """
    d, q = basis.shape
    positive = np.maximum(values, 0)
    inside = np.sqrt(positive)[:, None] * (vectors.T @ (basis[:, k:] if q == d else basis[:, :k]))
    block = inside.T @ inside if q == d else np.diag(positive) - inside @ inside.T
    found = np.zeros(d)
    found[: len(block)] = np.linalg.eigvalsh(block)[::-1]
    return np.maximum(found, 0)[: d - k]
