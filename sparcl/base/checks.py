"""Checks of single hyper-parameters; each failure names the parameter and what it may be."""

import math
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from sparcl.base.errors import InputError

DTYPES = ("float64", "float32")  # working precisions
LARGEST = 2**63 - 1  # of an integer: arrays hold no larger one


def check_positive(name: str, value: Any) -> float:
    """Return ``value`` if it is a finite number above zero, else raise InputError."""
    if not _is_real(value) or not 0 < value <= sys.float_info.max:
        raise InputError(f"{name} = {value!r}: it must be a finite number above 0.")
    return float(value)


def check_positives(name: str, values: Sequence[Any]) -> tuple[float, ...]:
    """Return ``values`` if they are finite numbers above zero, one at least, else raise InputError."""
    if not len(values):
        raise InputError(f"{name} = []: give at least one number above 0.")
    return tuple(check_positive(name, value) for value in values)


def check_fraction(name: str, value: Any, hint: str = "") -> float:
    """Return ``value`` if it is a number in (0, 1), else raise InputError, which ends with ``hint``."""
    if not _is_real(value) or not 0 < value < 1:
        raise InputError(f"{name} = {value!r}: it must be a number in (0, 1).{hint and ' ' + hint}")
    return float(value)


def check_int(name: str, value: Any, *, least: int, most: int = LARGEST) -> int:
    """Return ``value`` if it is an integer from ``least`` to ``most``, else raise InputError."""
    number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not number or not least <= value <= most:
        bound = "below 2^63" if most == LARGEST else f"at most {most}"
        raise InputError(
            f"{name} = {value!r}: it must be an integer of at least {least} and {bound}."
        )
    return int(value)


def check_flag(name: str, value: Any) -> bool:
    """Return ``value`` if it is True or False, else raise InputError."""
    if not isinstance(value, bool):
        raise InputError(f"{name} = {value!r}: it must be true or false.")
    return value


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return ``value`` if it is among ``allowed``, else raise InputError naming them."""
    if value not in allowed:
        raise InputError(f"{name} = {value!r}: it must be one of {', '.join(allowed)}.")
    return value


def check_memory(
    what: str, shape: tuple[int, ...], dtype: DTypeLike, free: int | None = None
) -> None:
    """Raise InputError when an array takes more than the bytes free on its device; None is all that the machine has."""
    takes = math.prod(shape) * np.dtype(dtype).itemsize
    has = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if free is None else free
    if takes > has:
        where, then = "this machine has", "or use a machine with more"
        if free is not None:
            where, then = "free on its device are", "use dtype float32, or device cpu"
        raise InputError(
            f"{what} of shape {shape} takes {takes / 2**30:,.1f} GiB of memory, and {where} {has / 2**30:,.1f}: "
            f"lower width, {then}."
        )


def check_one_size(settings: Mapping[str, Any]) -> None:
    """Raise InputError where both ``tau`` and ``k`` are given, of which a core would use ``k``."""
    tau, k = settings.get("tau"), settings.get("k")
    if tau is not None and k is not None:
        raise InputError(
            f"tau = {tau!r} and k = {k!r}: the rank of a core follows from the share tau of the energy, or is k. Leave "
            "one of the two out."
        )


def unusable(package: str) -> str:
    """Return why a package cannot be imported, after its name and "which"; empty if it can."""
    try:
        import_module(package)
    except (
        ImportError,
        OSError,
    ) as error:  # OSError: a library of the system that it was built with
        if isinstance(error, ModuleNotFoundError) and error.name == package:
            return "is not installed"
        return f"is installed, but cannot be loaded ({type(error).__name__}: {error})"
    return ""


def _is_real(value: Any) -> bool:
    real = isinstance(value, (int, float, np.integer, np.floating))
    return real and not isinstance(value, bool)
