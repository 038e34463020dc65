"""One method a file, looked up by module name when it is asked for."""

from typing import Any

from sparcl.base.lookup import Lookup
from sparcl.learners.learner import Learner

_FILES = Lookup(__name__, "method")
names, module_name = _FILES.names, _FILES.module_name
hyperparameters, checked = _FILES.hyperparameters, _FILES.checked


def build(name: str, **hyper: Any) -> Learner:
    """Build the learner ``name``; hyper-parameters left out take their documented defaults.

    Raises
    ------
    InputError
        For an unknown method or hyper-parameter (the message names the allowed ones) and for
        values outside their range.
    """
    return _FILES.build(name, **hyper)


def with_seed(name: str, hyper: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return ``hyper`` with the run's seed where method ``name`` draws random numbers."""
    return hyper | ({"seed": seed} if "seed" in hyperparameters(name) else {})
