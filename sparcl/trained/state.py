"""What a learner that trains has learned so far: taken out, and put into a new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparcl.base.errors import InputError
from sparcl.trained.learner import Trained


def state(learner: Trained) -> dict[str, Any]:
    """Return all that a learner needs to go on: tensors on the CPU, numbers and strings."""
    tensors = {
        key: value.detach().cpu().clone()
        for key, value in learner.state_dict().items()
        if learner.trains_network or not key.startswith("network.")
    }
    return {
        "method": learner.name,
        "sizes": list(learner.sizes),
        "classes": learner.classes.tolist(),
        "tensors": tensors,
        "kept": {key: value.cpu().clone() for key, value in learner.kept.items()},
        "trained": sorted(learner.trained),
        "report": dict(learner.measured),
    }


def load(learner: Trained, content: Mapping[str, Any]) -> None:
    """Go on where :func:`state` was taken, on a new ``learner`` of the same settings and network.

    Raises
    ------
    InputError
        The state is another method's, or the learner is not new.
    """
    if content["method"] != learner.name or learner.sizes:
        raise InputError(
            f"A state of {content['method']} does not fit a {learner.name} learner after {len(learner.sizes)} "
            "sessions: load it into a new learner of the method that saved it."
        )
    for size in content["sizes"]:
        learner.begin(size)
    missing, unexpected = learner.load_state_dict(content["tensors"], strict=False)
    foreign = [key for key in missing if learner.trains_network or not key.startswith("network.")]
    if foreign or unexpected:
        raise InputError(
            f"This state of {learner.name} does not fit: {', '.join([*foreign, *unexpected][:3])}. Build the "
            "learner with the network and settings that it was saved with."
        )
    learner.classes = np.array(content["classes"], dtype=np.int64)
    learner.kept = {key: value.to(learner.setup.device) for key, value in content["kept"].items()}
    learner.trained, learner.measured = set(content["trained"]), dict(content["report"])
