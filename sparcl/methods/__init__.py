"""One method a file, looked up by module name when it is asked for."""

import importlib
import inspect
import pkgutil
from typing import Any

from sparcl.base.errors import InputError
from sparcl.learners.learner import Learner
from sparcl.parts.core import check_one_size


def names() -> list[str]:
    """Return the ids of all methods; a hyphen in an id is an underscore in its module's name."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def module_name(name: str) -> str:
    """Return the importable module of method ``name``; InputError names the methods there are."""
    if name not in names():
        raise InputError(f"Unknown method {name!r}. Methods: {', '.join(names())}.")
    return f"{__name__}.{name.replace('-', '_')}"


def hyperparameters(name: str) -> dict[str, Any]:
    """Return every hyper-parameter of method ``name`` with its default."""
    signature = inspect.signature(importlib.import_module(module_name(name)).build)
    return {key: parameter.default for key, parameter in signature.parameters.items()}


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
    return importlib.import_module(module_name(name)).build(**checked(name, hyper))


def checked(name: str, hyper: dict[str, Any]) -> dict[str, Any]:
    """Return ``hyper`` if method ``name`` knows all its keys and none excludes another, else raise InputError."""
    allowed = hyperparameters(name)
    unknown = sorted(set(hyper) - set(allowed))
    if unknown:
        raise InputError(
            f"Method {name!r} has no hyper-parameter {', '.join(map(repr, unknown))}. "
            f"It has: {', '.join(allowed) or 'none'}."
        )
    check_one_size(hyper)
    return hyper


def with_seed(name: str, hyper: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return ``hyper`` with the run's seed where method ``name`` draws random numbers."""
    return hyper | ({"seed": seed} if "seed" in hyperparameters(name) else {})
