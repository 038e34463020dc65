"""State for free: an object declares what it keeps; saving, loading and checking are written once, here."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import UnionType
from typing import Any, ClassVar, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from sparcl.base import typed
from sparcl.base.errors import InputError
from sparcl.base.types import host, is_array

HEADER = "header"
SHARED = ("d", "D")
Kind = TypeVar("Kind", bound="Stateful")
Shape = (
    tuple[str | int | None, ...] | type | UnionType
)  # of an array; else what kind of value it is

NOTHING = np.zeros(0)  # what a new object keeps where it sets nothing

# What a header says of an object; each claim must have its member, and each member its claim.
CLAIMS = {
    "kind": str,
    "plain": dict[str, Any],
    "lists": dict[str, int],
    "nodes": list[str],
}


class InPlace:
    """Base of what changes its arrays in place.

    Attributes
    ----------
    unpickled : whether arrays may not be writeable: joblib maps large ones read-only into its processes
    """

    unpickled = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled."""
        vars(self).update(state, unpickled=True)

    def make_writeable(self) -> None:
        """Replace each array that is not writeable by a copy, here and in whatever this object holds."""
        if self.unpickled:
            for name, value in vars(self).items():
                vars(self)[name] = (
                    [_writeable(item) for item in value]
                    if isinstance(value, list)
                    else _writeable(value)
                )
            vars(self)["unpickled"] = False


def _writeable(value: Any) -> Any:
    if isinstance(value, InPlace):
        value.make_writeable()
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return np.array(value, order="K")  # another layout would round in another order
    return value


class Stateful(InPlace):
    """Base of every dataclass whose state is saved.

    Fields of the dataclass are settings: numbers, texts, None, tuples of those, arrays, or other
    Stateful objects.  ``kept`` declares what fitting changes: arrays and lists of arrays with their shapes, and
    with their types plain values (numbers, texts, lists and mappings of those), Stateful objects and lists of
    these.  A dimension that is a text means the same number throughout one
    object, and throughout one state for ``d`` (features) and ``D`` (mapped coordinates); None stands for
    any number.
    """

    kept: ClassVar[dict[str, Shape | None]] = {}
    _kinds: ClassVar[dict[str, type["Stateful"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        """Make the class known by its name, under which states are saved."""
        super().__init_subclass__(**options)
        Stateful._kinds[cls.__name__] = cls

    def check_state(self) -> None:
        """Raise ValueError where parts of a state that was read contradict each other."""

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
            plain[name] = value
    for name, inner in inside.items():
        state |= {f"{name}/{key}": value for key, value in pack(inner).items()}
    header = {
        "kind": type(node).__name__,
        "plain": plain,
        "lists": lists,
        "nodes": sorted(inside),
    }
    return {HEADER: json.dumps(header, sort_keys=True, default=np.generic.item)} | state


def unpack(state: Mapping[str, Any]) -> Stateful:
    """Return the object whose state :func:`pack` gave.

    Raises
    ------
    InputError
        When something is missing, left over, not finite, or of a shape that does not fit the rest.
    """
    left, bound = dict(state), dict[str, int]()
    try:
        node = _unpack(left, "", bound)
        for inner in [*nodes(node)][::-1]:
            for name, size in bound.items():
                if getattr(inner, name, size) != size and not getattr(inner, "failure", ""):
                    raise InputError(f"{type(inner).__name__}: {name} = 0, and the rest has {size}")
            inner.check_state()
    except (
        *(KeyError, IndexError, TypeError, ValueError, AttributeError),
        *(OverflowError, RecursionError),
    ) as error:
        raise InputError(f"no state of a learner, or a damaged one ({error!r})") from error
    if left:
        raise InputError(f"the state has {len(left)} members too many (first: {min(left)!r})")
    return node


def _unpack(left: dict[str, Any], prefix: str, bound: dict[str, int]) -> Stateful:
    """Build one object and take its members out of ``left``; what its header claims must be there, and no more."""
    header = typed.read(left.pop(prefix + HEADER), CLAIMS, prefix + HEADER)
    kind = Stateful._kinds[header["kind"]]
    plain, lists = header["plain"], header["lists"]
    sizes = {name: plain[name] for name in SHARED if name in plain}
    typed.check(sizes, dict[str, int], prefix + HEADER)
    if plain.get("failure"):  # after the first session: 0, beside what it left
        sizes = {name: size for name, size in sizes.items() if size}
    if any(size and bound.setdefault(name, size) != size for name, size in sizes.items()):
        raise InputError(f"{prefix}{HEADER} claims {sizes}, and the rest {bound}")
    nodes = {name: _unpack(left, f"{prefix}{name}/", bound) for name in header["nodes"]}
    hints, shapes, scopes = _hints(kind), _kept(kind), (bound, sizes)  # type: ignore[arg-type]
    fields = [f.name for f in dataclasses.fields(kind) if f.init]  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for name in dict.fromkeys([*fields, *shapes]):
        if name in lists:
            keys = (f"{name}.{i}" for i in range(lists.pop(name)))  # a gap ends it
            values[name] = [
                nodes.pop(k) if k in nodes else _array(left, prefix + k, shapes[name], scopes)
                for k in keys
            ]
        elif name in nodes:
            values[name] = nodes.pop(name)
        elif name in plain:
            values[name] = plain.pop(name)
        else:
            values[name] = _array(left, prefix + name, shapes.get(name), scopes)
    if extra := [*nodes, *plain, *lists]:
        raise InputError(
            f"{prefix}{HEADER} claims {extra[0]!r}, which {header['kind']} does not have"
        )
    for name in fields:
        typed.check(values[name], hints[name], prefix + name)
    given = {name: values[name] for name in fields}
    node = kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in given.items()})
    for name in (name for name in shapes if name not in fields):
        _check_kept(values[name], shapes[name], getattr(node, name, NOTHING), prefix + name)
        setattr(node, name, values[name])
    return node


def _check_kept(value: Any, hint: Shape | None, new: Any, where: str) -> None:
    """Raise ValueError unless a value is what may be kept in place of that of a new object."""
    if isinstance(hint, tuple):
        if isinstance(value, list) != isinstance(new, list) or (value is None and new is not None):
            raise ValueError(f"{where} is no {type(new).__name__}")
        hint = list[np.ndarray] if isinstance(value, list) else np.ndarray | None
    typed.check(value, hint, where)
    several = isinstance(new, list) and bool(new)
    for inner, fresh in zip(value, new, strict=True) if several else [(value, new)]:
        found = same(fresh, inner) if isinstance(fresh, Stateful) else []
        if found := [text for text in found if text.split()[0] not in SHARED]:
            raise ValueError(f"{where} differs from what its owner makes in {', '.join(found)}")


def _array(
    left: dict[str, Any], key: str, shape: Shape | None, scopes: tuple[dict[str, int], ...]
) -> NDArray[Any]:
    """Take one array, after a look at its shape, where one is declared, and at its values.

    A named dimension has one size in all of a state, or in one object; a name that is new takes what is found.
    """
    array = np.array(left.pop(key), order="K")
    if array.dtype.kind not in "biufS":
        raise InputError(f"{key} holds {array.dtype}, no numbers")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{key} holds values that are not finite")
    if isinstance(shape, tuple):
        shared, own = scopes
        wanted: list[int | None] = []
        for name, found in zip(shape, array.shape, strict=False):
            scope = shared if name in SHARED and name not in own else own
            wanted.append(scope.setdefault(name, found) if isinstance(name, str) else name)
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


@cache
def _hints(kind: type[Stateful]) -> dict[str, Any]:
    return get_type_hints(kind)
