"""What a learner that trains has learned so far: taken out, and put into a new one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from study.trained.learner import Trained

TENSORS, KEPT = "tensors/", "kept/"


def state(learner: Trained) -> dict[str, NDArray[Any] | str]:
    """Return all that a learner needs to go on: arrays, and one JSON text; on a CPU the learner's own arrays."""
    tensors = {
        TENSORS + key: tensor
        for key, tensor in learner.state_dict().items()
        if learner.trains_network or not key.startswith("network.")
    }
    tensors |= {KEPT + key: tensor for key, tensor in learner.kept.items()}
    own = {
        "method": learner.name,
        "sizes": learner.sizes,
        "classes": learner.classes.tolist(),
        "trained": sorted(learner.trained),
        "report": learner.measured,
    }
    arrays = {key: tensor.detach().cpu().numpy() for key, tensor in tensors.items()}
    return {"learner": json.dumps(own)} | arrays


def load(
    learner: Trained, content: Mapping[str, NDArray[Any]], sessions: Sequence[NDArray[np.integer]]
) -> None:
    """Go on where :func:`state` was taken, on a new ``learner`` of the same settings and network.

    Parameters
    ----------
    sessions : classes of the sessions that it has learned, so the state is of these

    Raises
    ------
    InputError
        The state is another method's, or of other sessions, lacks something or does not fit, or the learner is
        not new.
    """
    own = json.loads(str(content["learner"]))
    if own["method"] != learner.name or learner.sizes:
        raise InputError(
            f"A state of {own['method']} does not fit a {learner.name} learner after {len(learner.sizes)} "
            "sessions: load it into a new learner of the method that saved it."
        )
    classes = np.concatenate([np.sort(session) for session in sessions])
    sizes = [len(session) for session in sessions]
    if own["sizes"] != sizes or own["classes"] != classes.tolist():
        raise InputError(f"This state of {learner.name} is of other sessions: start anew.")
    for size in sizes:
        learner.begin(size)
    tensors, kept = (_tensors(content, prefix) for prefix in (TENSORS, KEPT))
    try:
        missing, unexpected = learner.load_state_dict(tensors, strict=False)
    except RuntimeError as error:  # shapes
        said = " ".join(str(error).split())
        raise InputError(f"This state of {learner.name} does not fit: {said}") from error
    foreign = [key for key in missing if learner.trains_network or not key.startswith("network.")]
    if foreign or unexpected:
        raise InputError(
            f"This state of {learner.name} does not fit: {', '.join([*foreign, *unexpected][:3])}. Build the "
            "learner with the network and settings that it was saved with."
        )
    learner.classes = classes.astype(np.int64)
    learner.kept = {key: value.to(learner.setup.device) for key, value in kept.items()}
    learner.trained, learner.measured = set(own["trained"]), dict(own["report"])


def _tensors(content: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, torch.Tensor]:
    return {
        key.removeprefix(prefix): torch.from_numpy(value)
        for key, value in content.items()
        if key.startswith(prefix)
    }
