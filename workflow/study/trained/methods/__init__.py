"""One method a file, looked up by module name when it is asked for; its ``build``, a dataclass, says the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparcl.base.lookup import Lookup

if TYPE_CHECKING:
    from study.trained.learner import Trained
    from study.trained.setup import Setup

_FILES = Lookup(__name__, "trained method")
names, hyperparameters = _FILES.names, _FILES.hyperparameters


def build(name: str, setup: Setup, **hyper: Any) -> Trained:
    """Build the learner ``name``; hyper-parameters left out take their documented defaults.

    Raises
    ------
    InputError
        For an unknown method or hyper-parameter (the message names the allowed ones), for values
        outside their range, and for a network that the method cannot train.
    """
    learner: Trained = _FILES.build(name, setup, **hyper)
    return learner
