"""Methods of a package, one per file, looked up by module name when one is asked for."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

from sparcl.base.errors import InputError


class Lookup:
    """The methods of a package; the keyword arguments of a file's ``build``, or its fields, are its method's settings.

    Attributes
    ----------
    kind : what messages call one of its methods
    modules : dotted name of each method's module, by id
    """

    def __init__(self, package: str, kind: str) -> None:
        self.kind = kind
        self.modules: dict[str, str] = {}
        self.add(package)

    def add(self, package: str) -> None:
        """Find the methods of a package by name from now on, given its dotted name."""
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            self.modules[module.name.replace("_", "-")] = f"{package}.{module.name}"

    def names(self) -> list[str]:
        """Return the ids of all methods; a hyphen in an id is an underscore in its module's name."""
        return sorted(self.modules)

    def module_name(self, name: str) -> str:
        """Return the importable module of method ``name``; InputError names the methods there are."""
        if name not in self.modules:
            raise InputError(
                f"Unknown {self.kind} {name!r}. Methods: {', '.join(self.names())}. An id of suites, such as "
                "sparcl-paper, is a block of `methods`: take its `learner`, with the settings of its `hyper`."
            )
        return self.modules[name]

    def hyperparameters(self, name: str) -> dict[str, Any]:
        """Return every hyper-parameter of method ``name`` with its default."""
        return dict(_keywords(importlib.import_module(self.module_name(name)).build))

    def checked(self, name: str, hyper: dict[str, Any]) -> dict[str, Any]:
        """Return ``hyper`` if method ``name`` knows all its keys, else raise InputError."""
        allowed = self.hyperparameters(name)
        unknown = sorted(set(hyper) - set(allowed))
        if unknown:
            raise InputError(
                f"Method {name!r} has no hyper-parameter {', '.join(map(repr, unknown))}. "
                f"It has: {', '.join(allowed) or 'none'}."
            )
        return hyper

    def build(self, name: str, *given: Any, **hyper: Any) -> Any:
        """Return what the ``build`` of method ``name`` makes of what is given and of its settings."""
        self.checked(name, hyper)
        return importlib.import_module(self.module_name(name)).build(*given, **hyper)


@cache
def _keywords(function: Callable[..., Any]) -> tuple[tuple[str, Any], ...]:
    """Return the keyword arguments of a function, or a dataclass's own fields, with their defaults.

    Read once: a plan builds hundreds of learners.
    """
    parameters = inspect.signature(function).parameters.items()
    # in a class what is keyword-only belongs to every learner, and what has no default is no setting
    own = "POSITIONAL_OR_KEYWORD" if isinstance(function, type) else "KEYWORD_ONLY"
    chosen = [(key, p) for key, p in parameters if p.kind.name == own]
    return tuple((key, p.default) for key, p in chosen if p.default is not p.empty)
