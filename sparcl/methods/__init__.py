"""Methods by name: a row of :mod:`sparcl.methods.table` composes parts, a file has a ``build`` of its own."""

import importlib
from collections.abc import Iterable
from typing import Any

from sparcl.algebra import backend
from sparcl.base.checks import check_one_size
from sparcl.base.errors import InputError
from sparcl.base.lookup import Lookup
from sparcl.learners.learner import Learner

# loaded by name: a plan follows imports, and a row or a part is not the code of every method
METHODS: dict[str, dict[str, Any]] = importlib.import_module(f"{__name__}.table").METHODS


class _Methods(Lookup):
    """The rows of the table, and the methods that have a file."""

    def names(self) -> list[str]:
        """Return the ids of all methods."""
        return sorted({*super().names(), *METHODS} - {"table"})

    def hyperparameters(self, name: str) -> dict[str, Any]:
        """Return every hyper-parameter of method ``name`` with its default."""
        return dict(METHODS[name]["settings"]) if name in METHODS else super().hyperparameters(name)

    def build(self, name: str, *given: Any, **hyper: Any) -> Any:
        """Return the learner ``name`` with settings that :meth:`checked` let pass."""
        if name in METHODS:
            composing = importlib.import_module(f"{__name__}.compose")
            return composing.from_row(name, METHODS[name], hyper)
        return super().build(name, **hyper)


_FILES = _Methods(__name__, "method")
add, names, hyperparameters = _FILES.add, _FILES.names, _FILES.hyperparameters


def host_only(name: str) -> str:
    """Return why method ``name`` computes on the CPU alone; empty where it can compute on another device."""
    why: str = _FILES.build(name).host_only
    return why


def build(name: str, *, device: str = "cpu", **hyper: Any) -> Learner:
    """Build the learner ``name``; hyper-parameters left out take their documented defaults.

    It takes rows as they are given, as the workflow wants it, which prepares them once for all methods.
    The entry point for users is :func:`sparcl.build`, whose learners normalise.

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
    checked(name, hyper)
    defaults = hyperparameters(name)
    for key in hyper:
        many = isinstance(hyper[key], Iterable) and not isinstance(hyper[key], str)
        if isinstance(defaults[key], tuple) and not many:
            raise InputError(f"{key} = {hyper[key]!r}: it must be a list of numbers.")
    learner = _FILES.build(name, **hyper)
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


def every() -> None:
    """Import all methods: the state of a learner names classes, which must be there before it is read."""
    for module in _FILES.modules.values():
        importlib.import_module(module)
    importlib.import_module("sparcl.parts.catalogue").load()


def with_seed(name: str, hyper: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return ``hyper`` with the run's seed where method ``name`` draws random numbers."""
    return hyper | ({"seed": seed} if "seed" in hyperparameters(name) else {})
