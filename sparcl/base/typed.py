"""JSON of stated types: what a header claims is refused unless it is what belongs there."""

import json
import reprlib
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

LARGEST = {kind: int(np.iinfo(kind).max) for kind in (np.int64, np.uint64)}


def read(text: Any, hints: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a JSON object whose keys and types are those of ``hints``; ValueError where it is another."""
    content: dict[str, Any] = json.loads(str(text), parse_int=_integer)
    check(content, hints, where)
    return content


def check(value: Any, hint: Any, where: str) -> None:
    """Raise ValueError, which names ``where``, unless a value of JSON is of a type hint.

    Integers are those from 0 to 2^63 - 1, and tuples may come as lists. A mapping of hints stands for an object with
    just these keys.
    """
    if isinstance(hint, Mapping) and isinstance(value, dict) and value.keys() == hint.keys():
        for key, inner in hint.items():
            check(value[key], inner, f"{where}.{key}")
    elif isinstance(hint, Mapping) or not _fits(value, hint):
        wanted = f"the keys {', '.join(hint)}" if isinstance(hint, Mapping) else _name(hint)
        raise ValueError(f"{where} is {reprlib.repr(value)}, and {wanted} belongs there")


def _fits(value: Any, hint: Any) -> bool:
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Any:
        return True
    if kind in (Union, types.UnionType):
        return any(_fits(value, option) for option in inner)
    if kind in (None, types.NoneType):
        return value is None
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and 0 <= value <= LARGEST[np.int64]
    if kind is tuple and inner[-1] is not Ellipsis:
        several = isinstance(value, (list, tuple)) and len(value) == len(inner)
        return several and all(map(_fits, value, inner))
    if kind in (list, tuple, Sequence):
        return isinstance(value, (list, tuple)) and all(_fits(item, inner[0]) for item in value)
    if kind is Literal:
        return value in inner
    if kind in (dict, Mapping):
        return isinstance(value, dict) and all(_fits(item, inner[1]) for item in value.values())
    return isinstance(value, kind)


def _name(hint: Any) -> str:
    if hint is int:
        return "an integer from 0"
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -LARGEST[np.int64] <= int(digits) <= LARGEST[np.uint64]:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)
