"""Where a setting stands: its file, its key there, and the line."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from sparcl.base.errors import SparclError

# libyaml reads all settings in a tenth of the time; both loaders give the same values.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CATALOGUES = ("methods", "datasets", "backbones", "figures", "tables", "timings")
PAGE = ("solver", "selection", "spectrum", "ridges", "validation", "stress", "extraction")
KEY = re.compile(rf"`((?:{'|'.join((*CATALOGUES, 'suites', *PAGE))})\.[\w.-]+)`")
PLACE = re.compile(r"(params\.yaml|config/[\w./-]+\.yaml): ([^\s:]+)")


def where(kind: object, *keys: object) -> str:
    """Return file and key of a setting, as far as they are given: ``params``, a catalogue or ``suites`` comes first.

    ``where("suites", "toy", "pairs", 0)`` is ``config/suites/toy.yaml: pairs.0``.
    """
    below = [text if (text := str(key)).isprintable() else repr(text) for key in keys]
    if kind == "suites":
        file, below = f"config/suites/{below[0]:.60}.yaml" if below else "config/suites", below[1:]
    elif kind in CATALOGUES:
        file = f"config/{kind}.yaml"
    else:
        file, below = "params.yaml", [*([] if kind == "params" else [str(kind)]), *below]
    return f"{file}: {'.'.join(f'{key:.60}' for key in below)}" if below else file


def with_files(message: str) -> str:
    """Return a message of `sparcl`, which knows keys alone, with the file of each: `datasets.mine.root`."""
    return KEY.sub(lambda found: f"`{where(*found[1].split('.'))}`", message)


@contextmanager
def named_files() -> Iterator[None]:
    """Add their files to the keys that an error of `sparcl` names."""
    try:
        yield
    except SparclError as error:
        error.args = (with_files(str(error)),)
        raise


def located(fault: str, root: Path, overrides: Mapping[str, Any]) -> str:
    """Return a sentence ``<file>: <key>: ...`` with the line of the key in that file at its end.

    Parameters
    ----------
    root : folder of the project
    overrides : settings of the command line; a fault of theirs has no line
    """
    place = PLACE.match(fault)
    if place is None:
        return fault
    file, keys = place[1], place[2].rstrip(".,").split(".")
    above = [] if file == "params.yaml" else Path(file).with_suffix("").parts[1:]
    said: Any = overrides
    for key in (*above, *keys):
        if not isinstance(said, Mapping):
            break
        if key not in said:
            line = _line(root / file, tuple(keys))
            return f"{fault} (line {line})" if line else fault
        said = said[key]
    return f"{fault} (as --config or --configfile has it)"


@cache
def _line(path: Path, keys: tuple[str, ...]) -> int | None:
    """Return the line, from 1, of a key in a YAML file, or of the last key on the way to it that is there."""
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=LOADER)
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
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
