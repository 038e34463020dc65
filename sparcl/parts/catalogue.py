"""Parts by the names under which a configuration asks for them."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from sparcl.base.checks import check_one_size
from sparcl.base.errors import InputError
from sparcl.parts import FURTHER
from sparcl.parts.core import Core, NoCore
from sparcl.parts.heads import (
    BalancedRidge,
    OracleShrinkage,
    Ridge,
    RidgeDiscriminant,
    RidgedScatter,
    ShrunkCovariance,
)
from sparcl.parts.maps import Features, FourierMap, KernelMap, RandomMap, ResidualMap
from sparcl.parts.row_weights import AllRows, ContaminationFilter
from sparcl.parts.transforms import EqualBlocks, Identity, Rooted, SignedPower, UnitNorm

Asked = str | Mapping[str, Mapping[str, Any]]

PARTS: dict[str, dict[str, Callable[..., Any]]] = {
    "transform": {
        "none": Identity,
        "unit": UnitNorm,
        "power": SignedPower,
        "rooted": Rooted,
        "equal-blocks": EqualBlocks,
    },
    "map": {
        "none": Features,
        "random": RandomMap,
        "fourier": FourierMap,
        "kernel": KernelMap,
        "residual": ResidualMap,
    },
    "head": {
        "ridge": Ridge,
        "ridge-discriminant": RidgeDiscriminant,
        "balanced-ridge": BalancedRidge,
        "shrunk-covariance": ShrunkCovariance,
        "ridged-scatter": RidgedScatter,
        "oracle-shrinkage": OracleShrinkage,
    },
    "core": {"none": NoCore, "spectral": Core},
    "row_weights": {"all": AllRows, "filter": ContaminationFilter},
}


def load() -> dict[str, dict[str, Callable[..., Any]]]:
    """Return all parts by kind and name, those of :data:`sparcl.parts.FURTHER` too."""
    for module in FURTHER:
        for kind, parts in importlib.import_module(module).PARTS.items():
            PARTS[kind].update(parts)
    return PARTS


@cache
def _settings(make: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a part's settings; read once, as a plan builds hundreds of learners."""
    return tuple(inspect.signature(make).parameters)


def part(kind: str, asked: Asked, **given: Any) -> Any:
    """Return the part of a ``kind`` that is asked for, by name or as ``{name: {setting: value}}``.

    ``given`` are values such as a seed, for parts that have such a setting and are not told another.

    Raises
    ------
    InputError
        For an unknown name or setting, which names those that there are, and for values out of range.
    """
    named = {asked: {}} if isinstance(asked, str) else asked
    if not isinstance(named, Mapping) or len(named) != 1:
        raise InputError(f"{kind} = {asked!r}: give one name, or one name with its settings.")
    ((name, settings),) = named.items()
    if name not in PARTS[kind] and name not in load()[kind]:
        raise InputError(f"{kind} = {name!r}: it must be one of {', '.join(PARTS[kind])}.")
    make = PARTS[kind][name]
    check_one_size(settings or {})
    known = _settings(make)
    settings = {k: v for k, v in given.items() if k in known} | dict(settings or {})
    try:
        return make(**settings)
    except TypeError as error:
        wrong = ", ".join(sorted(set(settings) - set(known))) or str(error)
        raise InputError(
            f"{kind} {name!r}: {wrong}: no such setting. It has: {', '.join(known) or 'none'}."
        ) from error
