"""What a session did to the old classes of one learner.

Read off what any learner offers, ``weights`` and ``sums``, and what one with a core offers: no kind of
learner is imported, so that a change to one leaves the runs of the others as they are.
"""

import base64

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.sums import Sums
from sparcl.learners.learner import Learner
from sparcl.protocol.metrics import ROUNDING, prototype_cosine

Array = NDArray[np.floating]

PROBE = 256  # old test samples on which the bound of Theorem 1 is tried


def measure(learner: Learner, before: Array | None, old: Array, change: Array) -> dict[str, float]:
    """Measure what the session that was just fitted did to the old classes of one learner.

    Parameters
    ----------
    learner : after its session
    before : its weights (D, c_old) before the session, None where there were none
    old : features (n, d) of old test samples; change : (n, c_old) change of their scores

    Returns
    -------
    ``expanded_prototype_cosine`` for learners with sums in coordinates of their own, and, for
    spectral ridge learners with old classes, along the core of this session:
    ``drift_core``, ``drift_residual`` (mean absolute change of old scores by each part),
    ``residual_change`` (share of the squared change of old weights that lies in the residual; an
    empty core leaves all of it there) and ``bound_ratio`` (largest old-logit change over its bound
    in Theorem 1, on a probe of old samples; at most 1).  Cost: that of scoring ``old`` once.
    """
    measured: dict[str, float] = {}
    sums = getattr(learner, "sums", None)
    if isinstance(sums, Sums):
        present = sums.counts > 0
        means = sums.C[:, present] / sums.counts[present]
        measured["expanded_prototype_cosine"] = prototype_cosine(means)
    core = getattr(learner, "core", None)
    if before is None or not hasattr(core, "U_core"):
        return measured
    c_old, U = before.shape[1], core.U_core
    dW, rows = learner.weights[:, :c_old] - before, learner.core_rows(old)
    coordinates = U.T @ dW[: len(U)]
    core_dW, held = U @ coordinates, float(np.square(coordinates).sum())
    step = max(len(old) // PROBE, 1)
    X = learner.expand(old[::step])
    inside = np.square(rows[::step] @ U).sum(axis=1)
    residual = np.sqrt(np.maximum(np.square(X).sum(axis=1) - inside, 0))
    bound = residual[:, None] * np.linalg.norm(dW, axis=0)
    by_core = rows @ core_dW
    rounding = ROUNDING * np.finfo(change.dtype).eps * max(np.abs(learner.weights).max(), 1)
    moved = np.abs(X @ dW)
    allowed = bound > rounding
    total = float(np.square(dW).sum())
    return measured | {
        "drift_core": _mean_above(by_core, rounding),
        "drift_residual": _mean_above(change - by_core, rounding),
        "residual_change": 1 - held / total if total > 0 else np.nan,
        "bound_ratio": float((moved[allowed] / bound[allowed]).max(initial=0)),
    }


def _mean_above(values: Array, rounding: float) -> float:
    size = np.abs(values)
    return float(np.mean(np.where(size > rounding, size, 0)))


def packed(hit: NDArray[np.bool_]) -> str:
    """Return booleans (n,) as base64 text of n / 8 bytes."""
    return base64.b64encode(np.packbits(hit).tobytes()).decode("ascii")


def unpacked(text: str, n: int) -> NDArray[np.bool_]:
    """Return the booleans (n,) that :func:`packed` wrote."""
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8))
    return bits[:n].astype(bool)
