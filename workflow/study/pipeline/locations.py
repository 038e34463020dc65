"""Where a fault of the settings is written: the line of its key."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PLACE = re.compile(r"(params\.yaml|config/[\w./-]+\.yaml): ([^\s:]+)")


def located(fault: str, root: Path, overrides: Mapping[str, Any]) -> str:
    """Return a sentence ``<file>: <key>: ...`` with the line of the key in that file at its end.

    Parameters
    ----------
    root : folder of the project
    overrides : settings that no file holds; a fault of theirs has no line
    """
    place = PLACE.match(fault)
    if place is None:
        return fault
    file, keys = place[1], place[2].rstrip(".,").split(".")
    above = [] if file == "params.yaml" else Path(file).with_suffix("").parts[1:]
    if _holds(overrides, [*above, *keys]):
        return fault
    line = _line(root / file, tuple(keys))
    return f"{fault} (line {line})" if line else fault


def _holds(settings: Any, keys: list[str]) -> bool:
    """Tell whether settings say anything at a place or on the way to it."""
    for key in keys:
        if not isinstance(settings, Mapping):
            return True
        if key not in settings:
            return False
        settings = settings[key]
    return True


@cache
def _line(path: Path, keys: tuple[str, ...]) -> int | None:
    """Return the line, from 1, of a key in a YAML file, or of the last key on the way to it that is there."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return None
    line = None
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            pairs = {name.value: (name, value) for name, value in node.value}
            if key not in pairs:
                break
            name, node = pairs[key]
            line = name.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and key.isdigit() and int(key) < len(node.value):
            node = node.value[int(key)]
            line = node.start_mark.line + 1
        else:
            break
    return line
