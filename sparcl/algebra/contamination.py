"""How many rows of a session are of old classes, under the labels of new ones, estimated from sums."""

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.backend import product
from sparcl.algebra.sums import Sums
from sparcl.base.types import Array

MOST = 0.9  # largest share that is told


def contaminated_share(
    old: Sums, H: Array, columns: NDArray[np.integer], inside: float = 0.0
) -> tuple[float, float]:
    """Return the share of a session's rows that are of old classes under other labels, and its error.

    A class's rows spread as those of other classes do, S_old / (n - c).  If a share phi of the rows under its
    label are such, they bring the covariance B of the old class means with them, so that
    ``S_t / (n_t - c_t) = S_old / (n - c) + phi B + phi (1 - phi) d d^T``, with d from the class to the mean of all old
    classes.  Without the last term, the least-squares estimate along B is ``phi = <S_t / (n_t - c_t) -
    S_old / (n - c), B> / <B, B>``.  It rests on the sums R, C and n of both sides alone; rows spare forming
    the session's R.  This project's own.  Cost: 2 D^2 c + 2 n_t D c flops.

    Parameters
    ----------
    old : sums of the sessions before
    H : (n_t, D) rows of the session; columns : (n_t,) class columns under which they arrive
    inside : that share among the rows of ``old``, whose spread holds as much of B

    Returns
    -------
    The share, from 0 to 0.9, and its standard error: how much the classes of the session differ in their own
    spread along B, which needs their rows; 0 where one class arrives.  Both are 0 where there are fewer than two
    old classes, or nothing spreads.
    """
    known = np.flatnonzero(old.counts > 0)
    labels, place, counts = np.unique(columns, return_inverse=True, return_counts=True)
    free, free_old = counts - 1, old.n - len(known)
    if len(known) < 2 or not free.any() or not free_old > 0:
        return 0.0, 0.0
    M = np.asfortranarray(old.means())
    M -= M.mean(axis=1, keepdims=True)
    B = float(np.sum(product(M.T, M) ** 2)) / len(known)  # c <B, B>
    if not B > 0:
        return 0.0, 0.0
    own = np.zeros((len(labels), M.shape[0]), dtype=M.dtype)
    np.add.at(own, place, H)
    apart = np.sum(product(H - own[place] / counts[place, None], M) ** 2, axis=1)
    spreads = np.bincount(place, weights=apart)[free > 0] / free[free > 0]
    weights = free[free > 0] / free.sum()
    spread = float(weights @ spreads)
    Q = old.C[:, known] / np.sqrt(old.counts[known])
    spread_old = float(np.sum(M * old.times(M)) - np.sum(product(Q.T, M) ** 2)) / free_old
    # the variance of a weighted mean, with Bessel's correction for weights
    squares = float(np.sum(weights**2))
    between = float(weights @ (spreads - spread) ** 2) / (1 - squares) if len(spreads) > 1 else 0.0
    share = float(np.clip((spread - spread_old) / B + inside, 0.0, MOST))
    return share, float(np.sqrt(between * squares)) / B
