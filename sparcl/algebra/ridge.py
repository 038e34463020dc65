"""Weights from (R, C, ridge): the joint ridge, the constrained ridge, and how a ridge is chosen."""

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import Backend, host, of, product
from sparcl.algebra.spectra import descending_eigh
from sparcl.algebra.sums import Gram
from sparcl.base.errors import NumericalError
from sparcl.base.types import Array


def constrained(
    on: Backend, U_core: Array, V: Array, W_free: Array, G: Array, *, coupling: bool = True
) -> Array:
    """Return the ridge solution with its core coordinates held at ``G`` (paper, Lemma 1).

    With A = R + ridge I, minimise ``tr(W^T A W) - 2 tr(W^T C)`` subject to ``U_core^T W = G``.
    The stationarity condition ``A W - C + U_core M = 0`` gives, with ``W_free = A^-1 C``,
    ``V = A^-1 U_core`` and ``S = U_core^T V``,

        W = W_free - V S^-1 (U_core^T W_free - G),

    which is ``U_core G + U_res Z`` with ``(U_res^T A U_res) Z = U_res^T C - (U_res^T A U_core) G``.

    Parameters
    ----------
    on : the arrays' backend
    U_core : (D, k) orthonormal; V : (D, k); W_free : (D, c); G : (k, c)
    coupling : with False the term ``(U_res^T A U_core) G`` is left out, as Algorithm 1 prints it:
        ``W = U_core G + U_res (U_res^T A U_res)^-1 U_res^T C``.

    Returns
    -------
    W : (D, c).  Cost: k^3 / 3 + 4 D k c flops beside the solve that gave V.
    """
    if U_core.shape[1] == 0 or W_free.shape[1] == 0:
        return W_free
    held = G if coupling else 0 * G
    S = on.product(U_core.T, V)
    excess = on.product(U_core.T, W_free) - held
    W = W_free - on.product(V, on.block_solve(S, excess))
    # One step of refinement puts the frozen coordinates on G to the last bits.
    W += on.product(U_core, held - on.product(U_core.T, W))
    return W if coupling else W + on.product(U_core, G)


def holdout(H_fit: Array, Y_fit: Array, H_val: Array, Y_val: Array, ridges: Array) -> Array:
    """Return the squared error on held-out rows at each ridge (RanPAC, NeurIPS 2023).

    Returns
    -------
    errors : (g,) mean squared error over rows and columns; infinite where it is not finite.  Cost:
        that of :func:`path`
    """
    scores = path(H_fit, Y_fit, H_val, ridges)
    mean = of(H_fit).xp.mean
    errors = np.array([float(mean((part - Y_val) ** 2)) for part in scores])
    errors[~np.isfinite(errors)] = np.inf
    return errors


def path(H_fit: Array, Y_fit: Array, H_val: Array, ridges: Array) -> list[Array]:
    """Return the scores (m, c) of rows H_val (m, M) at each ridge of ``ridges`` (g,), from rows H_fit (n, M).

    With fewer rows than columns in the dual, where ``H_val W(ridge) = H_val H_fit^T (K + ridge I)^-1
    Y_fit`` with ``K = H_fit H_fit^T``, and with ``H_fit^T H_fit`` otherwise.  A ridge too small for a
    Cholesky factor in this precision is solved by eigenvalues.  Cost: n^2 M + g n^3 / 3 flops (n < M)
    in place of g solves of M^3 / 3.
    """
    on = of(H_fit)
    if H_fit.shape[0] <= H_fit.shape[1]:
        K, left, right = Gram.of_rows(H_fit), product(H_val, H_fit.T), Y_fit
    else:
        K, left = Gram(H_fit.shape[1], on.dtype(H_fit), on), H_val
        right = product(H_fit.T, Y_fit)
        K.add(H_fit)
    spectral: tuple[Array, Array, Array] | None = None
    solutions = []
    for ridge in ridges:
        try:
            with K.factored(ridge) as A:
                solutions.append(A.solve(right))
        except NumericalError:
            if spectral is None:
                s, U = descending_eigh(K.R)
                spectral = on.xp.maximum(s, 0 * s), U, product(U.T, right)
            s, U, right_U = spectral
            solutions.append(product(U, right_U / (s + float(ridge))[:, None]))
    scores, c = product(left, on.xp.concat(solutions, axis=1)), Y_fit.shape[1]
    return [scores[:, i * c : (i + 1) * c] for i in range(len(ridges))]


def gcv(H: Array, Y: Array, ridges: Array) -> Array:
    """Return the score of generalised cross-validation on the rows themselves (Fly-CL, 2025).

    With ``H = U diag(s) V^T`` and ``h = s^2 / (s^2 + ridge)``,

        GCV(ridge) = (||Y - U diag(h) U^T Y||_F^2 / n) / (1 - sum(h) / n)^2.

    With n <= M both come from ``K = H H^T`` reduced to tridiagonal form, since ``Y - U diag(h) U^T Y
    = ridge (K + ridge I)^-1 Y``, which takes no eigenvector; a ridge below the rounding of the
    eigenvalues, about n eps ||K||, counts as that.  With n > M they come from the eigenvectors of
    ``H^T H``; never from an SVD of H (n, M).  Cost: n^2 M + 4 n^3 / 3 flops for n <= M.

    Returns
    -------
    scores : (g,) at each ridge; infinite where it is not finite
    """
    on, n = of(H), H.shape[0]
    scores = np.full(len(ridges), np.inf)
    if n <= H.shape[1]:
        for i, (trace, square) in enumerate(Gram.of_rows(H).resolvents(Y, ridges)):
            freedom = trace / n  # 1 - sum(h) / n
            scores[i] = square / n / freedom**2
    else:
        K = Gram(H.shape[1], on.dtype(H), on)
        K.add(H)
        values, V = descending_eigh(K.R)
        s2 = host(values)
        live = s2 > len(s2) * np.finfo(s2.dtype).eps * s2[0]
        s2, V = s2[live], on.take_columns(V, np.flatnonzero(live))
        turned = host(V.T @ (H.T @ Y))
        energy = np.sum(turned**2, axis=1) / s2  # ||u_i^T Y||^2, u_i = H v_i / s_i
        s2 = s2.astype(np.float64)
        outside = max(float(np.sum(host(Y) ** 2, dtype=np.float64) - energy.sum()), 0.0)
        for i, ridge in enumerate(ridges):
            left_over = ridge / (s2 + ridge)  # 1 - h
            freedom = (left_over.sum() + n - len(s2)) / n
            scores[i] = (outside + np.sum(left_over**2 * energy)) / n / freedom**2
    scores[~np.isfinite(scores)] = np.inf
    return scores


def squared_error(W: Array, R: Array, C: Array) -> float:
    """Return ``tr(W^T R W) - 2 tr(W^T C)``: the squared error over the summed rows, less ``n``.

    Exact for a W (D, c) that never saw these rows, from sums alone: 2 D^2 c flops.
    """
    return float(of(W).xp.sum(W * (R @ W - 2 * C)))


def predicted_accuracy(
    W: Array, R: Array, C: Array, counts: NDArray[np.integer], b: Array | None = None
) -> float:
    """Return the accuracy that a Gaussian model of the summed rows' scores predicts for W (D, c), b (c,).

    From sums alone, the scores ``z = W^T x + b`` of class i have mean ``m_i = W^T C_i / n_i + b``, and all
    classes share the within-class covariance ``S = (W^T R W - sum_i n_i W^T C_i C_i^T W / n_i^2) / (n - c)``.
    A sample of class i beats rival j with probability ``Phi((m_ii - m_ji) / s_ij)``, where
    ``s_ij^2 = S_ii + S_jj - 2 S_ij``; rivals are taken as independent.  Classes without a row count
    for nothing.  Where the squared error asks how near scores come to 0 and 1, this asks which
    score is the largest.  Cost: 2 D^2 c flops.
    """
    from scipy.special import log_ndtr  # 50 ms of a job's start, which few need

    live = np.flatnonzero(counts)
    on, n = of(W), counts[live].astype(np.float64)
    W = on.take_columns(W, live)
    # m_ji: row rival j, column class i
    means = host(on.matmul(W.T, on.take_columns(C, live) / on.array(n)))
    scatter = host(on.matmul(W.T, on.matmul(R, W))) - (means * n) @ means.T
    S = scatter / max(n.sum() - len(live), 1)
    spread = np.diag(S)[:, None] + np.diag(S)[None] - 2 * S
    if b is not None:
        means = means + host(b)[live][:, None]
    gap = np.diag(means)[None] - means
    tiny = np.finfo(np.float64).tiny
    log_wins = log_ndtr(gap / np.sqrt(np.maximum(spread, tiny)))
    np.fill_diagonal(log_wins, 0.0)
    return float(np.exp(log_wins.sum(axis=0)) @ n / n.sum())
