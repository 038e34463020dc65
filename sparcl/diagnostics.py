"""What a new session does to the spectrum of R."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sparcl import linalg
from sparcl.statistics import Statistics

Array = NDArray[np.floating]


def log_spaced_modes(d: int, count: int) -> NDArray[np.int64]:
    """Return up to ``count`` mode numbers from 1 to d, evenly spaced on a logarithmic axis."""
    return np.unique(np.round(np.geomspace(1, d, count)).astype(np.int64))


def dilution(R: Array, values: Array, vectors: Array, dR: Array, ridge: float) -> dict[str, Array]:
    """Measure how a session's dR dilutes the inverse gain of old modes.

    With A = R_old + ridge I and ``a_i = lambda_i + ridge``, the gain ``u_i^T A^-1 u_i = 1 / a_i``
    shrinks by the share ``1 - a_i u_i^T (A + dR)^-1 u_i``.  In a shared eigenbasis (paper,
    Proposition 1) that share is ``delta_i / (a_i + delta_i)`` with ``delta_i = u_i^T dR u_i``;
    outside one it is only an upper bound, by Cauchy-Schwarz.

    Parameters
    ----------
    R : (d, d) = R_old + dR; dR : (d, d)
    values : (m,) old eigenvalues lambda_i; vectors : (d, m) old eigenvectors u_i

    Returns
    -------
    overlap, shrink_exact, shrink_bound : (m,) each.  Cost: d^3 / 3 + 4 d^2 m flops.
    """
    a = values + ridge
    overlap = np.einsum("im,im->m", vectors, dR @ vectors)
    with linalg.Gram.wrap(R).factored(ridge) as A:
        gain = np.einsum("im,im->m", vectors, A.solve(np.asfortranarray(vectors)))
    return {
        "overlap": overlap,
        "shrink_exact": 1 - a * gain,
        "shrink_bound": overlap / (a + overlap),
    }


def spectrum_trace(
    sessions: Sequence[tuple[Array, NDArray[np.integer]]], ridge: float, count: int
) -> Iterator[dict[str, float]]:
    """Yield one row a session and mode: the spectrum of R and the dilution of its old modes.

    ``sessions`` holds (Phi (n, d), labels (n,)) a session.  Old modes are those of the previous
    sessions' R.  Cost: one dense eigendecomposition a session.
    """
    d = sessions[0][0].shape[1]
    modes = log_spaced_modes(d, count)
    statistics = Statistics(d)
    values = vectors = None
    for t, (Phi, labels) in enumerate(sessions):
        before = statistics.R.copy(order="F")
        statistics.grow(int(labels.max()) + 1)
        statistics.accumulate(Phi, labels)
        measured = None
        if t:
            dR = statistics.R - before
            measured = dilution(
                statistics.R.copy(order="F"), values[modes - 1], vectors[:, modes - 1], dR, ridge
            ) | {"old_eigenvalue": values[modes - 1]}
        values, vectors = linalg.descending_eigh(statistics.R)
        for i, mode in enumerate(modes):
            row = {"session": t + 1, "mode": int(mode), "eigenvalue": float(values[mode - 1])}
            if measured:
                row |= {key: float(column[i]) for key, column in measured.items()}
            yield row
