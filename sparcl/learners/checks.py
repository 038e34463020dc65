"""What every learner refuses before anything changes."""

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError, NumericalError
from sparcl.base.rows import unit
from sparcl.base.types import Array

PROBED = 16  # rows of a session that are scored as soon as it is learned


def checked_session(
    Phi: Array, y: NDArray[np.integer], d: int, session: int, dtype: str, normalize: bool
) -> tuple[Array, NDArray[np.int64]]:
    """Return features Phi (n, d) and labels y (n,) of a session, d = 0 where none came before.

    With ``normalize`` the rows are those of Phi over their norms.

    Raises
    ------
    InputError
        For wrong shapes, no samples, features that are not finite or not floating point, labels that
        are not integers, or another number of features than before; the message names the session.
    NumericalError
        When the features are too large or too small for the working precision ``dtype``.
    """
    where = f"session {session + 1}"
    Phi, y = np.asarray(Phi), np.asarray(y)
    if Phi.ndim != 2 or y.ndim != 1 or len(Phi) != len(y):
        raise InputError(
            f"{where}: Phi must be (n, d) and its labels y (n,), got shapes {Phi.shape} and "
            f"{y.shape}."
        )
    if len(y) == 0:
        raise InputError(
            f"{where}: no samples. Usual cause: a class order whose classes have no training "
            "sample; leave the session out or check the labels."
        )
    if not np.issubdtype(y.dtype, np.integer):
        raise InputError(f"{where}: labels must be integers, got dtype {y.dtype}.")
    if not np.issubdtype(Phi.dtype, np.floating):
        raise InputError(f"{where}: features must be floating point, got dtype {Phi.dtype}.")
    if d and Phi.shape[1] != d:
        raise InputError(
            f"{where}: features have {Phi.shape[1]} dimensions, earlier sessions had {d}"
            ": all sessions must come from the same backbone."
        )
    finite = np.isfinite(Phi).all(axis=1)
    if not finite.all():
        raise InputError(
            f"{where}: {np.count_nonzero(~finite)} of {len(Phi)} feature rows are not finite "
            f"(first: row {int(np.argmin(finite))}). Usual cause: half-precision overflow in "
            "extraction; extract again in float32."
        )
    Phi = unit(Phi) if normalize else Phi
    _check_range(Phi, dtype, where)
    return Phi, y.astype(np.int64)


def checked_rows(Phi: Array, d: int, dtype: str, normalize: bool) -> Array:
    """Return features Phi (n, d) to be scored, with ``normalize`` over their norms.

    Raises
    ------
    InputError
        For another shape or a value that is not finite.
    NumericalError
        When the features are too large or too small for the working precision ``dtype``.
    """
    Phi = np.asarray(Phi)
    if Phi.ndim != 2 or Phi.shape[1] != d:
        raise InputError(
            f"Phi has shape {Phi.shape}, but this learner was fitted on (n, {d}) features"
            ": give features of the same backbone."
        )
    if not np.isfinite(Phi).all():
        row = int(np.argmin(np.isfinite(Phi).all(axis=1)))
        raise InputError(f"Phi, row {row}: the feature is not finite and cannot be scored.")
    Phi = unit(Phi) if normalize else Phi
    _check_range(Phi, dtype, "features to be scored")
    return Phi


def check_scores(scores: Array) -> Array:
    """Return scores (n, c) if all are finite, else raise NumericalError."""
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=1)))
        raise NumericalError(
            f"The scores of row {row} are not finite. Usual cause: features of another scale than the "
            "settings are for; divide each row by its norm, raise ridge or lower rate."
        )
    return scores


def check_learned(scores: Array, Phi: Array) -> None:
    """Raise NumericalError unless scores (n, c) of rows Phi (n, d) are finite and tell the rows apart.

    A weight that is not finite makes each score of its class so: a few rows show it.
    """
    check_scores(scores)
    spread = np.ptp(scores, axis=0).max()
    if np.ptp(Phi, axis=0).any() and spread <= np.finfo(scores.dtype).eps * np.abs(scores).max():
        raise NumericalError(
            "different features get the same scores. Usual cause: features so small beside the settings "
            "that they vanish in rounding, or so large that the map has no slope there; divide each row by "
            "its norm."
        )


def probes(n: int) -> NDArray[np.intp]:
    """Return at most PROBED of n rows, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, PROBED).astype(np.intp))


def _check_range(Phi: Array, dtype: str, where: str) -> None:
    """Raise NumericalError unless the cube of the largest |feature| lies in the range of ``dtype``.

    Sums hold products of two features, and scores those of a third with them.
    """
    largest = max(float(Phi.max(initial=0)), -float(Phi.min(initial=0)))  # |Phi| would be a copy
    limits = np.finfo(dtype)
    least, most = float(np.cbrt(limits.tiny)), float(np.cbrt(limits.max))
    if largest and not least <= largest <= most:
        raise NumericalError(
            f"{where}: the largest feature is {largest:.3g}; in {dtype} it must lie within {least:.0e} and "
            f"{most:.0e}, or sums and scores leave the range of numbers. Usual cause: damaged features, or "
            "ones that were scaled; divide each row by its norm."
        )
