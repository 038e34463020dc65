"""The effect of a session on the old classes of one learner.

Read off attributes that learners share (``weights``, ``sums``, ``core``): no class of learners is
imported, so that a change to one leaves the runs of the others as they are.
"""

from typing import Any

import numpy as np

from sparcl.algebra.sums import Sums
from sparcl.base.types import Array
from sparcl.learners.learner import Learner
from sparcl.protocol.diagnostics import prototype_cosine
from study.loop.metrics import ROUNDING, mean_change

PROBE = 256  # old test samples on which the bound of Theorem 1 is evaluated


def measure(learner: Learner, before: Array | None, old: Array, change: Array) -> dict[str, float]:
    """Measure what the session that was just fitted did to the old classes of one learner.

    Parameters
    ----------
    learner : after its session
    before : its weights (D, c_old) before the session, None where there were none
    old : features (n, d) of old test samples; change : (n, c_old) change of their logits

    Returns
    -------
    ``expanded_prototype_cosine``, for learners that keep sums: mean cosine between class means in
    the coordinates of these sums.  For learners with a core, once there are old classes, along the
    core of this session: ``drift_core`` and ``drift_residual``, the mean absolute change of old
    logits by either part; ``residual_change``, the fraction of the squared change of old weights
    that lies in the residual (1 for an empty core); and ``bound_ratio``, see :func:`_bound_ratio`.
    Cost: that of scoring ``old`` once.
    """
    measured: dict[str, float] = {}
    sums = getattr(learner, "sums", None)
    if isinstance(sums, Sums):
        measured["expanded_prototype_cosine"] = prototype_cosine(sums.means())
    if before is not None and hasattr(getattr(learner, "core", None), "U_core"):
        measured |= _along_core(learner, before, old, change)
    return measured


def _along_core(learner: Any, before: Array, old: Array, change: Array) -> dict[str, float]:
    """Split the change of old weights and logits into core and residual.

    The learner's ``core_rows`` are coordinates (n, p) in which its core U (p, k) lives, ``expand`` gives the rows
    (n, D) that its weights (D, c) score.
    """
    U, dW = learner.core.U_core, learner.weights[:, : before.shape[1]] - before
    rows = learner.core_rows(old)
    coordinates = U.T @ dW[: len(U)]
    by_core = rows @ (U @ coordinates) if U.size else np.zeros_like(change)
    in_core, total = float(np.square(coordinates).sum()), float(np.square(dW).sum())
    rounding = ROUNDING * np.finfo(change.dtype).eps * max(np.abs(learner.weights).max(), 1)
    step = max(len(old) // PROBE, 1)
    X, inside = learner.expand(old[::step]), rows[::step] @ U
    return {
        "drift_core": mean_change(by_core, rounding),
        "drift_residual": mean_change(change - by_core, rounding),
        "residual_change": 1 - in_core / total if total > 0 else np.nan,
        "bound_ratio": _bound_ratio(X, inside, dW, rounding),
    }


def _bound_ratio(X: Array, inside: Array, dW: Array, rounding: float) -> float:
    """Return the largest old-logit change over its bound, ``|x^T dW_c| / (||x_res|| ||dW_c||)``.

    Theorem 1 derives the bound from frozen core coordinates, ``U^T dW = 0``.  With a frozen core
    the ratio is therefore at most 1, up to rounding; without one (``freeze=False``) the bound does
    not apply, and the ratio may exceed 1.

    Parameters
    ----------
    X : (n, D) mapped rows; inside : (n, k) their core coordinates; dW : (D, c_old)
    rounding : bounds of at most this size are left out
    """
    residual = np.sqrt(np.maximum(np.square(X).sum(axis=1) - np.square(inside).sum(axis=1), 0))
    bound = residual[:, None] * np.linalg.norm(dW, axis=0)
    counted = bound > rounding
    return float((np.abs(X @ dW)[counted] / bound[counted]).max(initial=0))
