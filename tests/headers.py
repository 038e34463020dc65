"""JSON with one claim changed: what a header says that its file does not hold."""

import copy
import json
from collections.abc import Iterator
from typing import Any

MANY = 10**12  # members that nothing could hold
DIGITS = 400
WRONG = (5, MANY, "x", None, [], int("1" * DIGITS))


def changed(text: str) -> Iterator[tuple[tuple[str | int, ...], Any, str]]:
    """Yield a place, what stands there now, and the whole text, for each place and each wrong value."""
    content = json.loads(text)
    for path in _paths(content):
        for value in WRONG:
            other = copy.deepcopy(content)
            inner = other
            for key in path[:-1]:
                inner = inner[key]
            if inner[path[-1]] != value:
                inner[path[-1]] = value
                yield path, value, json.dumps(other)


def _paths(content: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    keys = (
        content
        if isinstance(content, dict)
        else range(len(content) if isinstance(content, list) else 0)
    )
    for key in keys:
        yield from _paths(content[key], (*path, key))
