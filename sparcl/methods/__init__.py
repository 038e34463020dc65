"""One method a file, looked up by module name when it is asked for."""

import importlib
import inspect
from typing import Any

from sparcl.algebra import backend
from sparcl.base.checks import check_one_size
from sparcl.base.errors import InputError
from sparcl.base.lookup import Lookup
from sparcl.learners.learner import Learner

_FILES = Lookup(__name__, "method")
names, module_name = _FILES.names, _FILES.module_name
hyperparameters = _FILES.hyperparameters


def host_only(name: str) -> str:
    """Return why method ``name`` computes on the CPU alone; empty where it can compute on another device."""
    made = inspect.signature(importlib.import_module(module_name(name)).build).return_annotation
    return made.host_only


def build(name: str, *, device: str = "cpu", **hyper: Any) -> Learner:
    """Build the learner ``name``; hyper-parameters left out take their documented defaults.

    It takes rows as they are given, as the workflow wants it, which prepares them once for all methods.
    The door for people is :func:`sparcl.build`, whose learners normalise.

    Parameters
    ----------
    device : where it computes (:func:`sparcl.algebra.backend.named`); no hyper-parameter: a state
        does not know on which device it was learned

    Raises
    ------
    InputError
        For an unknown method or hyper-parameter (the message names the allowed ones), for values
        outside their range, and for a device that is not there or that the method cannot use.
    """
    learner = _FILES.build(name, **checked(name, hyper))
    on = backend.named(device)
    try:
        if on is not learner.on:
            learner.move(on)
    except InputError as error:
        raise InputError(f"Method {name!r}: {error}") from error
    return learner


def checked(name: str, hyper: dict[str, Any]) -> dict[str, Any]:
    """Return ``hyper`` if method ``name`` knows all its keys and none excludes another, else raise InputError."""
    check_one_size(_FILES.checked(name, hyper))
    return hyper


def with_seed(name: str, hyper: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return ``hyper`` with the run's seed where method ``name`` draws random numbers."""
    return hyper | ({"seed": seed} if "seed" in hyperparameters(name) else {})
