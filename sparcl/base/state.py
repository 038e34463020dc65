"""State for free: an object declares what it keeps; saving, loading and checking are written once, here."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.base.types import host, is_array

HEADER = "header"
SHARED = ("d", "D")
Kind = TypeVar("Kind", bound="Stateful")
Shape = tuple[str | int | None, ...]


class Stateful:
    """Base of every dataclass whose state is saved.

    Fields of the dataclass are settings: numbers, texts, None, tuples of those, arrays, or other
    Stateful objects.  ``kept`` declares what fitting changes: arrays with their shapes, or, with None for a
    shape, plain values (numbers, texts, lists and mappings of those), Stateful objects, and lists of
    arrays or Stateful objects.  A dimension that is a text means the same number throughout one
    object, and throughout one state for ``d`` (features) and ``D`` (mapped coordinates); None stands for
    any number.
    """

    kept: ClassVar[dict[str, Shape | None]] = {}
    _kinds: ClassVar[dict[str, type["Stateful"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        """Make the class known by its name, under which states are saved."""
        super().__init_subclass__(**options)
        Stateful._kinds[cls.__name__] = cls

    def settings(self) -> dict[str, Any]:
        """Return the settings, nested ones by name with a dot."""
        result: dict[str, Any] = {}
        for name, value in _fields(self).items():
            if isinstance(value, Stateful):
                result[name] = type(value).__name__
                result |= {f"{name}.{inner}": v for inner, v in value.settings().items()}
            else:
                result[name] = value
        return result


def pack(node: Stateful) -> dict[str, Any]:
    """Return the state of ``node`` as a flat mapping of arrays, on the host, and one JSON text for each object."""
    plain: dict[str, Any] = {}
    lists: dict[str, int] = {}
    state: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    inside: dict[str, Stateful] = {}
    for name, value in _values(node).items():
        if isinstance(value, Stateful):
            inside[name] = value
        elif is_array(value):
            state[name] = host(value)
        elif isinstance(value, list) and value and _holds_state(value[0]):
            lists[name] = len(value)
            for i, item in enumerate(value):
                if isinstance(item, Stateful):
                    inside[f"{name}.{i}"] = item
                else:
                    state[f"{name}.{i}"] = host(item)
        else:
            (fields if name in _fields(node) else plain)[name] = value
    for name, inner in inside.items():
        state |= {f"{name}/{key}": value for key, value in pack(inner).items()}
    header = {
        "kind": type(node).__name__,
        "settings": fields,
        "plain": plain,
        "lists": lists,
        "nodes": sorted(inside),
        "arrays": [name for name in _fields(node) if name in state],
    }
    return {HEADER: json.dumps(header, sort_keys=True, default=np.generic.item)} | state


def unpack(state: Mapping[str, Any]) -> Stateful:
    """Return the object whose state :func:`pack` gave.

    Raises
    ------
    InputError
        When something is missing, left over, not finite, or of a shape that does not fit the rest.
    """
    left = dict(state)
    try:
        node = _unpack(left, "", {})
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputError(f"no state of a learner, or a damaged one ({error!r})") from error
    if left:
        raise InputError(f"the state has {len(left)} members too many (first: {min(left)!r})")
    return node


def _unpack(left: dict[str, Any], prefix: str, bound: dict[str, int]) -> Stateful:
    """Build one object and take its members out of ``left``."""
    header = json.loads(str(left.pop(prefix + HEADER)))
    kind = Stateful._kinds[header["kind"]]
    for name, size in (header["settings"] | header["plain"]).items():
        if name in SHARED and size:  # 0 before the first session
            bound.setdefault(name, size)
    nodes = {name: _unpack(left, f"{prefix}{name}/", bound) for name in header["nodes"]}
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}  # type: ignore[arg-type]
    settings = header["settings"] | {name: nodes[name] for name in nodes if name in fields}
    own, shapes = _Scope(bound), _kept(kind)
    settings |= {n: _array(left, prefix + n, shapes.get(n), own) for n in header["arrays"]}
    node = kind(**{name: _tupled(value) for name, value in settings.items()})
    for name, shape in shapes.items():
        if name in fields:
            continue
        if name in header["lists"]:
            keys = [f"{name}.{i}" for i in range(header["lists"][name])]
            items = [nodes[k] if k in nodes else _array(left, prefix + k, shape, own) for k in keys]
            setattr(node, name, items)
        elif name in nodes:
            setattr(node, name, nodes[name])
        elif name in header["plain"]:
            setattr(node, name, header["plain"][name])
        else:
            setattr(node, name, _array(left, prefix + name, shape, own))
    return node


class _Scope:
    """Sizes of named dimensions: those of one object, and those that the whole state shares."""

    def __init__(self, shared: dict[str, int]) -> None:
        self.shared, self.own = shared, dict[str, int]()

    def size(self, name: str | int | None, found: int) -> int | None:
        """Return the size that a dimension must have; a name that is new takes what was found."""
        if not isinstance(name, str):
            return name
        return (self.shared if name in SHARED else self.own).setdefault(name, found)


def _array(left: dict[str, Any], key: str, shape: Shape | None, scope: _Scope) -> NDArray[Any]:
    """Take one array, after a look at its shape and at its values."""
    array = np.array(left.pop(key), order="K")
    if array.dtype.kind not in "biufS":
        raise InputError(f"{key} holds {array.dtype}, no numbers")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{key} holds values that are not finite")
    if shape is not None:
        wanted = [scope.size(n, size) for n, size in zip(shape, array.shape, strict=False)]
        fits = all(n in (None, size) for n, size in zip(wanted, array.shape, strict=False))
        if len(shape) != array.ndim or not fits:
            raise InputError(
                f"{key} has shape {array.shape}, and the rest asks for "
                f"({', '.join('any' if n is None else str(n) for n in wanted)})"
            )
    return array


def renewed(node: Kind, **settings: Any) -> Kind:
    """Return a new object with the same settings, but for those given, which has kept nothing yet.

    Settings that are such objects themselves are renewed with it.
    """
    fields = _fields(node) | settings
    alike = {k: v for k, v in fields.items() if k not in settings and isinstance(v, Stateful)}
    return type(node)(**(fields | {name: renewed(value) for name, value in alike.items()}))


def nodes(node: Stateful) -> Iterator[Stateful]:
    """Yield an object and all objects in its state."""
    yield node
    for value in _values(node).values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Stateful):
                yield from nodes(item)


def send(node: Stateful, function: Callable[[Any], Any]) -> None:
    """Replace each floating-point array in the state of an object by the function of it."""
    for inner in nodes(node):
        for name, value in _values(inner).items():
            if _is_floating(value):
                setattr(inner, name, function(value))
            elif isinstance(value, list) and value and _is_floating(value[0]):
                setattr(inner, name, [function(item) for item in value])


def _values(node: Stateful) -> dict[str, Any]:
    """Return settings and what is kept."""
    return _fields(node) | {name: getattr(node, name) for name in _kept(type(node))}


def _holds_state(value: Any) -> bool:
    return is_array(value) or isinstance(value, Stateful)


def _is_floating(value: Any) -> bool:
    """Return whether a value is an array of numbers that are not whole; on other devices than the host all are."""
    return is_array(value) and not (isinstance(value, np.ndarray) and value.dtype.kind != "f")


def copied(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state whose arrays are copies, in the memory layout that they have."""
    # in another layout a sum would take another order of rounding
    return {k: np.copy(v, order="K") if isinstance(v, np.ndarray) else v for k, v in state.items()}


def same(first: Stateful, second: Stateful) -> list[str]:
    """Return where the settings of two objects of one kind differ, as ``name (one and the other)``."""
    one, other = first.settings(), second.settings()
    missing = object()
    return [
        f"{name} ({one.get(name)} and {other.get(name)})"
        for name in {**one, **other}
        if one.get(name, missing) != other.get(name, missing)
    ]


def _fields(node: Stateful) -> dict[str, Any]:
    return {f.name: getattr(node, f.name) for f in dataclasses.fields(node) if f.init}  # type: ignore[arg-type]


def _kept(kind: type[Stateful]) -> dict[str, Shape | None]:
    """Return what a class and its bases keep, base classes first."""
    result: dict[str, Shape | None] = {}
    for cls in reversed(kind.__mro__):
        result |= cls.__dict__.get("kept", {})
    return result


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
