"""Weights from (R, C, ridge): the joint ridge, the constrained ridge, and hold-out selection."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import log_ndtr

from sparcl.linalg import Factor, solve_definite

Array = NDArray[np.floating]


def constrained(
    U_core: Array, V: Array, W_free: Array, G: Array, *, coupling: bool = True
) -> Array:
    """Return the ridge solution with its core coordinates held at ``G`` (paper, Lemma 1).

    With A = R + ridge I, minimise ``tr(W^T A W) - 2 tr(W^T C)`` subject to ``U_core^T W = G``.
    The stationarity condition ``A W - C + U_core M = 0`` gives, with ``W_free = A^-1 C``,
    ``V = A^-1 U_core`` and ``S = U_core^T V``,

        W = W_free - V S^-1 (U_core^T W_free - G),

    which is ``U_core G + U_res Z`` with ``(U_res^T A U_res) Z = U_res^T C - (U_res^T A U_core) G``.

    Parameters
    ----------
    U_core : (D, k) orthonormal; V : (D, k); W_free : (D, c); G : (k, c)
    coupling : with False the term ``(U_res^T A U_core) G`` is left out, as Algorithm 1 prints it:
        ``W = U_core G + U_res (U_res^T A U_res)^-1 U_res^T C``.

    Returns
    -------
    W : (D, c).  Cost: k^3 / 3 + 4 D k c flops beside the solve that gave V.
    """
    if U_core.shape[1] == 0 or W_free.shape[1] == 0:
        return W_free
    S = U_core.T @ V
    held = G if coupling else np.zeros_like(G)
    excess = U_core.T @ W_free - held
    W = W_free - V @ solve_definite(S, excess)
    # One step of refinement puts the frozen coordinates on G to the last bits.
    W += U_core @ (held - U_core.T @ W)
    return W if coupling else W + U_core @ G


def holdout(
    H_fit: Array, Y_fit: Array, H_val: Array, Y_val: Array, grid: Array
) -> tuple[float, Array]:
    """Choose a ridge by the squared error on held-out rows (RanPAC, NeurIPS 2023).

    Solves the ridge problem for every value of ``grid`` (g,) from one eigendecomposition: of
    ``K = H_fit H_fit^T = U diag(s) U^T`` when there are fewer rows n than columns M, where
    ``H_val W(ridge) = H_val H_fit^T U diag(1 / (s + ridge)) U^T Y_fit``, and of ``H_fit^T H_fit``
    otherwise.  Cost: n^2 M + 9 n^3 flops (n < M) in place of g solves of M^3 / 3.

    Returns
    -------
    ridge : the first value of ``grid`` with the smallest finite mean squared error
    errors : (g,) mean squared error over rows and columns
    """
    if len(H_fit) <= H_fit.shape[1]:
        s, U = eigh(H_fit @ H_fit.T, driver="evd", check_finite=False)
        left, right = H_val @ (H_fit.T @ U), U.T @ Y_fit
    else:
        s, U = eigh(H_fit.T @ H_fit, driver="evd", check_finite=False)
        left, right = H_val @ U, U.T @ (H_fit.T @ Y_fit)
    s = np.maximum(s, 0)  # a Gram matrix has no negative eigenvalue; rounding has
    errors = np.array(
        [np.mean((left @ (right / (s + ridge)[:, None]) - Y_val) ** 2) for ridge in grid]
    )
    errors[~np.isfinite(errors)] = np.inf
    return float(grid[int(np.argmin(errors))]), errors


def joint(factor: Factor, C: Array) -> Array:
    """Return the joint ridge weights ``A^-1 C`` (D, c), paper eq. 2: 2 D^2 c flops."""
    return factor.solve(C)


def squared_error(W: Array, R: Array, C: Array) -> float:
    """Return ``tr(W^T R W) - 2 tr(W^T C)``: the squared error over the summed rows, less ``n``.

    Exact for a W (D, c) that never saw these rows, from sums alone: 2 D^2 c flops.
    """
    return float(np.sum(W * (R @ W - 2 * C)))


def predicted_accuracy(W: Array, R: Array, C: Array, counts: NDArray[np.integer]) -> float:
    """Return the accuracy that a Gaussian model of the summed rows' scores predicts for W (D, c).

    From sums alone, the scores ``z = W^T x`` of class i have mean ``m_i = W^T C_i / n_i``, and all
    classes share the within-class covariance ``S = (W^T R W - sum_i n_i m_i m_i^T) / (n - c)``.  A
    sample of class i beats rival j with probability ``Phi((m_ii - m_ji) / s_ij)``, where
    ``s_ij^2 = S_ii + S_jj - 2 S_ij``; rivals are taken as independent.  Classes without a row count
    for nothing.  Where the squared error asks how near scores come to 0 and 1, this asks which
    score is the largest.  Cost: 2 D^2 c flops.
    """
    live = np.flatnonzero(counts)
    n, W = counts[live].astype(np.float64), W[:, live]
    means = W.T @ (C[:, live] / n)  # m_ji: row rival j, column class i
    scatter = W.T @ (R @ W) - (means * n) @ means.T
    S = scatter / max(n.sum() - len(live), 1)
    spread = np.diag(S)[:, None] + np.diag(S)[None] - 2 * S
    gap = np.diag(means)[None] - means
    tiny = np.finfo(np.float64).tiny
    log_wins = log_ndtr(gap / np.sqrt(np.maximum(spread, tiny)))
    np.fill_diagonal(log_wins, 0.0)
    return float(np.exp(log_wins.sum(axis=0)) @ n / n.sum())
