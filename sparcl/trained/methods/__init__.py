"""One method a file, looked up by module name when it is asked for; its ``build`` says the settings."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING, Any

from sparcl.base.errors import InputError

if TYPE_CHECKING:
    from sparcl.trained.learner import Setup, Trained


def names() -> list[str]:
    """Return the ids of all methods; a hyphen in an id is an underscore in its module's name."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def module_name(name: str) -> str:
    """Return the importable module of method ``name``; InputError names the methods there are."""
    if name not in names():
        raise InputError(f"Unknown trained method {name!r}. Methods: {', '.join(names())}.")
    return f"{__name__}.{name.replace('-', '_')}"


def hyperparameters(name: str) -> dict[str, Any]:
    """Return every hyper-parameter of method ``name`` with its default."""
    signature = inspect.signature(importlib.import_module(module_name(name)).build)
    return {
        key: parameter.default
        for key, parameter in signature.parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def build(name: str, setup: Setup, **hyper: Any) -> Trained:
    """Build the learner ``name``; hyper-parameters left out take their documented defaults.

    Raises
    ------
    InputError
        For an unknown method or hyper-parameter (the message names the allowed ones), for values
        outside their range, and for a network that the method cannot train.
    """
    allowed = hyperparameters(name)
    unknown = sorted(set(hyper) - set(allowed))
    if unknown:
        raise InputError(
            f"Method {name!r} has no hyper-parameter {', '.join(map(repr, unknown))}. It has: {', '.join(allowed)}."
        )
    return importlib.import_module(module_name(name)).build(setup, **hyper)
