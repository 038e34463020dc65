"""What a session's training shows: parameters trained, accuracy on the session's images, images kept."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sparcl.trained.learner import Trained
    from sparcl.trained.phase import Phase

logger = logging.getLogger(__name__)

# percent; a session whose own images are classified worse was trained too little
UNDERFITTED = 95.0


def count(learner: Trained, phase: Phase) -> None:
    """Count the parameters trained: those of this phase, or all of the learner's so far if more."""
    declared = {id(parameter) for parameter in phase.parameters}
    named = list(learner.named_parameters())
    learner.trained |= {key for key, parameter in named if id(parameter) in declared}
    so_far = sum(parameter.numel() for key, parameter in named if key in learner.trained)
    now = sum(parameter.numel() for parameter in phase.parameters)
    most = max(now, so_far, learner.measured.get("trainable_parameters", 0))
    learner.measured["trainable_parameters"] = most


def outcome(learner: Trained, rows: NDArray[np.int64], where: str) -> dict[str, Any]:
    """Return what a session's images ``rows`` (n,) show after its training; a low accuracy is logged.

    ``training_accuracy`` is the percentage that is right among the session's classes.
    """
    scores = learner.scan(learner.predict, rows).numpy()[:, learner.first :]
    right = np.argmax(scores, axis=1) == learner.columns(rows) - learner.first
    accuracy = 100 * float(np.mean(right))
    if accuracy < UNDERFITTED:
        logger.warning(
            "%s: underfitted, %.1f%% of its own images; raise epochs or rate.", where, accuracy
        )
    return {
        "training_accuracy": accuracy,
        "underfitted": accuracy < UNDERFITTED,
        "exemplars": learner.exemplars(),
    }
