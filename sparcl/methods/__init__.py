"""One method a file, looked up by module name when it is asked for."""

from typing import Any

from sparcl.base.lookup import Lookup
from sparcl.learners.learner import Learner
from sparcl.parts.core import check_one_size

_FILES = Lookup(__name__, "method")
names, module_name = _FILES.names, _FILES.module_name
hyperparameters = _FILES.hyperparameters


def build(name: str, **hyper: Any) -> Learner:
    """Build the learner ``name``; hyper-parameters left out take their documented defaults.

    It takes rows as they are given, as the workflow wants it, which prepares them once for all methods.
    The door for people is :func:`sparcl.build`, whose learners normalise.

    Raises
    ------
    InputError
        For an unknown method or hyper-parameter (the message names the allowed ones) and for
        values outside their range.
    """
    return _FILES.build(name, **checked(name, hyper))


def checked(name: str, hyper: dict[str, Any]) -> dict[str, Any]:
    """Return ``hyper`` if method ``name`` knows all its keys and none excludes another, else raise InputError."""
    check_one_size(_FILES.checked(name, hyper))
    return hyper


def with_seed(name: str, hyper: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return ``hyper`` with the run's seed where method ``name`` draws random numbers."""
    return hyper | ({"seed": seed} if "seed" in hyperparameters(name) else {})
