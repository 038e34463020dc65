"""The effect of a new session on the sums R and C, and the remedy that it calls for.

None of this needs a learner: the numbers belong to a data set and a class order, and are the same
for every method.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra import spectra
from sparcl.algebra.spectra import canonical_angle, energy_rank, nonzero_eigh, outside
from sparcl.algebra.sums import Sums
from sparcl.base.errors import InputError
from sparcl.base.types import Array, Ints

# Share of the largest eigenvalue below which rounding decides another's digits, and all of its vector.
NULL = 1e-10
LOW = 0.75  # rows of R over its dimensions up to which a factor of R makes a smaller eigenproblem
EFFECTIVE = 0.01  # fraction of ||C_old||^2 that a mode must carry to count for kappa_t (paper)


def log_spaced_modes(d: int, count: int) -> NDArray[np.int64]:
    """Return up to ``count`` mode numbers from 1 to d, evenly spaced on a logarithmic axis."""
    return np.unique(np.round(np.geomspace(1, d, count)).astype(np.int64))


def dilution(
    new: tuple[Array, Array], values: Array, vectors: Array, dR: Array, ridge: float
) -> dict[str, Array]:
    """Measure how a session's dR dilutes the inverse gain of old modes.

    With A = R_old + ridge I and ``a_i = lambda_i + ridge``, the gain ``u_i^T A^-1 u_i = 1 / a_i``
    shrinks by the share ``1 - a_i u_i^T (A + dR)^-1 u_i``.  In a shared eigenbasis (paper,
    Proposition 1) that share is ``delta_i / (a_i + delta_i)`` with ``delta_i = u_i^T dR u_i``;
    outside one it is only an upper bound, by Cauchy-Schwarz.

    Parameters
    ----------
    new : eigenvalues (p,) and eigenvectors (d, p) of R_old + dR, all that are not zero; dR : (d, d)
    values : (m,) old eigenvalues lambda_i > 0; vectors : (d, m) old eigenvectors u_i

    Returns
    -------
    overlap, shrink_exact, shrink_bound : (m,) each.  Cost: 4 d^2 m flops.
    """
    a = values + ridge
    overlap = np.einsum("im,im->m", vectors, dR @ vectors)
    gain = (1 / (np.maximum(new[0], 0) + ridge)) @ np.square(new[1].T @ vectors)
    return {
        "overlap": overlap,
        "shrink_exact": 1 - a * gain,
        "shrink_bound": overlap / (a + overlap),
    }


def kappa(values: Array, vectors: Array, C_old: Array, ridge: float) -> float:
    """Return the paper's kappa_t: ``lambda_max(R_t + ridge I)`` over its least effective eigenvalue.

    An eigenvalue is effective if its mode carries 1% of the old classes' cross-correlation energy,
    ``||u_i^T C_old||^2 >= 0.01 ||C_old||^2``; if none does, the mode that carries most counts.
    kappa_t depends on R and C alone, so ACIL and SPARCL, which keep the same sums, share it.

    Parameters
    ----------
    values : (p,) eigenvalues of R_t, descending, all that are not zero; vectors : (d, p) its eigenvectors
    C_old : (d, c_old) cross-correlation of the old classes
    """
    carried = np.square(vectors.T @ C_old).sum(axis=1)
    effective = np.flatnonzero(carried >= EFFECTIVE * carried.sum())
    least = effective[-1] if len(effective) else int(np.argmax(carried))
    return float((values[0] + ridge) / (values[least] + ridge))


def prototype_cosine(prototypes: Array) -> float:
    """Return the mean cosine between different columns of prototypes (D, c); nan for one column."""
    c = prototypes.shape[1]
    if c < 2:
        return np.nan
    norm = np.linalg.norm(prototypes, axis=0)
    unit = prototypes / np.where(norm > 0, norm, 1)
    return float((np.square(unit.sum(axis=1)).sum() - np.square(unit).sum()) / (c * (c - 1)))


@dataclass(frozen=True)
class _JointRidge:
    """The sum R (d, d) of all sessions so far, its eigenpairs, and the joint ridge solution W (d, c).

    There are p pairs: d, or where R has few rows those that are not zero.
    """

    R: Array
    values: Array
    vectors: Array
    W: Array

    @classmethod
    def of(cls, sums: Sums, ridge: float) -> Self:
        """Decompose R and solve for W: O(d^3), or O(d p^2)."""
        R = sums.R.copy(order="F")
        few = sums.counts.sum() <= LOW * len(R)
        values, vectors = nonzero_eigh(R, NULL) if few else spectra.conquered_eigh(R)
        W = vectors @ ((vectors.T @ sums.C) / (np.maximum(values, 0) + ridge)[:, None])
        return cls(R, values, vectors, W)

    @property
    def spectrum(self) -> Array:
        """All d eigenvalues, those that are zero up to rounding as 0."""
        values = np.zeros(len(self.R))
        values[: len(self.values)] = self.values
        return np.where(values > NULL * values[0], values, 0.0)


def trace(
    sessions: Sequence[tuple[Array, Ints]], ridge: float, tau: float, count: int
) -> dict[str, list[dict[str, Any]]]:
    """Measure, over one class order, everything that depends on R and C only.

    Parameters
    ----------
    sessions : (Phi (n, d), labels (n,)) a session, training rows
    ridge, tau, count : as of :func:`trace_sums`, whose result this is
    """
    return trace_sums(_summed(sessions), ridge, tau, count)


def _summed(sessions: Sequence[tuple[Array, Ints]]) -> Iterator[tuple[Sums, Ints]]:
    """Yield the sums after each session, with a column for each class of all of them, and the columns seen."""
    labels = np.unique(np.concatenate([y for _, y in sessions]))
    sums = Sums(sessions[0][0].shape[1])
    sums.grow(len(labels))
    seen = np.zeros(0, dtype=np.int64)
    for Phi, y in sessions:
        columns = np.searchsorted(labels, y)
        sums.accumulate(Phi, columns)
        seen = np.union1d(seen, columns)
        yield sums, seen


def trace_sums(
    stages: Iterable[tuple[Sums, Ints]], ridge: float, tau: float, count: int
) -> dict[str, list[dict[str, Any]]]:
    """Measure everything that depends on R and C only, from these sums.

    Parameters
    ----------
    stages : after each session the sums of all sessions so far, with a column for each class that there will be,
        and the columns of the classes seen; sums may be the same object each time
    ridge, tau : lambda and the core's energy threshold; the paper's are 1 and 0.95
    count : modes, of d, in ``modes``

    Returns
    -------
    ``modes`` : one row per session and mode: eigenvalue of R_t, and of the old mode its eigenvalue,
    inverse gain, overlap and shrink, the last two None where R is zero up to rounding.
    ``sessions`` : one row per session, see :func:`_spectrum_row` and
    :func:`_change_row`.  Cost: one eigendecomposition of R a session, and half as much again for the core's
    measurements.
    """
    old: _JointRidge | None = None
    before: Ints = np.zeros(0, dtype=np.int64)
    mode_rows: list[dict[str, Any]] = []
    session_rows: list[dict[str, Any]] = []
    for t, (sums, seen) in enumerate(stages, 1):
        new, modes = _JointRidge.of(sums, ridge), log_spaced_modes(sums.D, count) - 1
        by_mode = {"eigenvalue": new.spectrum[modes]}
        row = _spectrum_row(new, sums, before if len(before) else seen, seen, ridge)
        if old is not None:
            k = energy_rank(old.values, float(np.trace(old.R)), tau)
            values = old.spectrum[modes]
            # where R is zero any basis is as good as another: nothing along one says anything
            some = values > 0
            looked = np.union1d(np.arange(k), modes[some])
            pairs = old.values[looked], old.vectors[:, looked]
            diluted = dilution((new.values, new.vectors), *pairs, new.R - old.R, ridge)
            by_mode |= {"old_eigenvalue": values, "inverse_gain": 1 / (values + ridge)}
            for name, found in diluted.items():
                by_mode[name] = np.full(len(modes), np.nan)
                by_mode[name][some] = found[np.searchsorted(looked, modes[some])]
            core = {name: found[:k] for name, found in diluted.items()}
            row |= _change_row(old, new, core, before, ridge)
        mode_rows += [
            {"session": t, "mode": int(m) + 1}
            | {name: None if np.isnan(v[i]) else float(v[i]) for name, v in by_mode.items()}
            for i, m in enumerate(modes)
        ]
        session_rows.append({"session": t} | row)
        old, before = new, seen
    return {"modes": mode_rows, "sessions": session_rows}


def _spectrum_row(
    new: _JointRidge, sums: Sums, old: Ints, seen: Ints, ridge: float
) -> dict[str, Any]:
    """Return kappa_t, the condition number of ``R_t + ridge I`` and the mean cosine of prototypes.

    ``old`` are the columns of C of the classes before the session, ``seen`` those of all classes.
    """
    return {
        "kappa": kappa(new.values, new.vectors, sums.C[:, old], ridge),
        "condition": _condition(new.spectrum, ridge),
        "prototype_cosine": prototype_cosine(sums.C[:, seen] / sums.counts[seen]),
    }


def _condition(values: Array, ridge: float) -> float:
    """Return the condition number of a matrix + ridge I, given the eigenvalues, descending; 1 if there are none."""
    return float((values[0] + ridge) / (values[-1] + ridge)) if len(values) else 1.0


def _change_row(
    old: _JointRidge,
    new: _JointRidge,
    core: dict[str, Array],
    before: Ints,
    ridge: float,
) -> dict[str, Any]:
    """Return what a session did to the core of the sessions before it, given the dilution of its k modes.

    ``leading_mass`` is the fraction of R_t's energy in its k leading modes, ``overlap`` the sum of
    delta_i over the core's modes, and ``overlap_share`` that sum over the session's energy tr dR.
    ``core_angle`` is the largest canonical angle, in degrees, between the core and R_t's leading
    subspace of equal rank.

    ``joint_*`` describe how the joint ridge solution (ACIL) changes at the old classes' columns.
    ``joint_residual_change`` is the fraction of the squared weight change that lies in the
    residual.  ``joint_drift_*`` are the root mean square changes of old logits over old *training*
    samples relative to the root mean square of those logits, along the core and the residual:
    ``sqrt(sum_i lambda_i ||u_i^T dW||^2 / sum_i lambda_i ||u_i^T W||^2)``, with the upper sum over
    the modes of either.  The two do not mix because the u_i are R_old-orthogonal.
    """
    k = len(core["overlap"])
    U, positive = old.vectors[:, :k], np.maximum(new.values, 0)
    overlap, dW = float(core["overlap"].sum()), (new.W - old.W)[:, before]
    moved, total = np.square(old.vectors.T @ dW).sum(axis=1), float(np.square(dW).sum())
    scale = np.square(old.vectors.T @ old.W[:, before]).sum(axis=1) @ np.maximum(old.values, 0)
    drift = np.maximum(old.values, 0) * moved / scale
    return {
        "core_rank": k,
        "residual_rank": len(old.R) - k,
        "leading_mass": float(positive[:k].sum() / positive.sum()),
        "overlap": overlap,
        "overlap_share": overlap / float(np.trace(new.R - old.R)),
        "core_shrink_exact": float(core["shrink_exact"].mean()),
        "core_shrink_bound": float(core["shrink_bound"].mean()),
        "core_angle": canonical_angle(U, new.vectors[:, :k]),
        "residual_condition": _condition(outside(new.values, new.vectors, old.vectors, k), ridge),
        "joint_residual_change": float(1 - moved[:k].sum() / total) if total else np.nan,
        "joint_drift_core": float(np.sqrt(drift[:k].sum())),
        "joint_drift_residual": float(np.sqrt(drift[k:].sum())),
    }


def recommend(
    sessions: Sequence[Mapping[str, Any]], thresholds: Mapping[str, float]
) -> dict[str, Any]:
    """Name the remedy that the paper's diagnostic protocol calls for, from training rows only.

    The protocol logs (1) the overlap of a session with the core, (2) the mean cosine between class
    prototypes, (3) the drift of old logits.  "If (1) and (3) move together while (2) is already
    small, spectral partition is the right lever.  If (2) remains large, sparse decorrelation is the
    right lever.  If both move, use both."

    Made precise: contamination is present when the joint ridge solution's drift along the core,
    as a share of these logits' scale, reaches ``drift`` and the core takes ``overlap`` or
    more of the sessions' energy; prototypes are correlated when their cosine in the last session
    reaches ``cosine``.

    Parameters
    ----------
    sessions : rows of :func:`trace`'s ``sessions``
    thresholds : ``overlap``, ``drift``, ``cosine``

    Returns
    -------
    ``advice`` : partition, decorrelation, both or neither; and the three measured numbers.

    Raises
    ------
    InputError
        With fewer than two sessions, when no class is old yet.
    """
    later = [row for row in sessions if row.get("overlap") is not None]
    if not later:
        raise InputError(
            "A recommendation needs at least two sessions, because the first has no old classes: raise "
            "`sessions` of the suite."
        )
    measured = {
        "overlap": float(np.mean([row["overlap_share"] for row in later])),
        "drift": float(np.mean([row["joint_drift_core"] for row in later])),
        "cosine": float(later[-1]["prototype_cosine"]),
    }
    contaminated = all(measured[name] >= thresholds[name] for name in ("overlap", "drift"))
    correlated = measured["cosine"] >= thresholds["cosine"]
    advice = {
        (True, False): "partition",
        (False, True): "decorrelation",
        (True, True): "both",
        (False, False): "neither",
    }[contaminated, correlated]
    return {"advice": advice} | measured
