"""What every learner refuses before anything changes."""

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.base.types import Array


def checked_session(
    Phi: Array, y: NDArray[np.integer], d: int, session: int
) -> tuple[Array, NDArray[np.int64]]:
    """Return features Phi (n, d) and labels y (n,) of a session, d = 0 where none came before.

    Raises
    ------
    InputError
        For wrong shapes, no samples, features that are not finite or not floating point, labels that
        are not integers, or another number of features than before; the message names the session.
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
    return Phi, y.astype(np.int64)


def checked_rows(Phi: Array, d: int) -> Array:
    """Return features Phi (n, d) to be scored; InputError for another shape or a value that is not finite."""
    Phi = np.asarray(Phi)
    if Phi.ndim != 2 or Phi.shape[1] != d:
        raise InputError(
            f"Phi has shape {Phi.shape}, but this learner was fitted on (n, {d}) features"
            ": give features of the same backbone."
        )
    if not np.isfinite(Phi).all():
        row = int(np.argmin(np.isfinite(Phi).all(axis=1)))
        raise InputError(f"Phi, row {row}: the feature is not finite and cannot be scored.")
    return Phi
