"""The data dictionary, docs/dictionary.md, as a mapping that files are compared with."""

import json
import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from copies import ROOT

PAGE = ROOT / "docs/dictionary.md"
SECTION = re.compile(r"^## [^\n`]+: (`[^\n]+`)\n(.*?)(?=^## |\Z)", flags=re.MULTILINE | re.DOTALL)
LINE = re.compile(
    r"^\| `(\w+)` \| (text|whole|number|flag|list|map)(\??) \| ([^|]*)\| (\S[^|]*)\|$"
)
CELLS = {
    "text": re.compile(r".+", flags=re.DOTALL),
    "whole": re.compile(r"-?[0-9]+"),
    "number": re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?"),
    "flag": re.compile(r"0|1|True|False"),
}
VALUES: dict[str, type | tuple[type, ...]] = {"text": str, "whole": int, "list": list, "map": dict}


class Column:
    """Type and unit of a column or key; whether it may be empty."""

    def __init__(self, kind: str, optional: bool, unit: str) -> None:
        self.kind, self.optional, self.unit = kind, optional, unit

    def takes(self, cell: str) -> bool:
        """Return whether a cell is of the type."""
        return self.optional if not cell else bool(CELLS[self.kind].fullmatch(cell))


@cache
def sections() -> dict[str, dict[str, Column]]:
    """Return the columns by name, of each pattern of paths."""
    found: dict[str, dict[str, Column]] = {}
    for places, body in SECTION.findall(PAGE.read_text(encoding="utf-8")):
        rows = [row for row in body.splitlines() if row.startswith("| `")]
        columns = {}
        for row in rows:
            line = LINE.match(row)
            assert line, f"not a line of the dictionary: {row}"
            name, kind, optional, unit, _ = line.groups()
            assert name not in columns, f"{places} has two lines of {name}"
            columns[name] = Column(kind, bool(optional), unit.strip())
        found |= {place: columns for place in re.findall(r"`([^`]+)`", places)}
    return found


def of_file(path: str) -> tuple[str, dict[str, Column]]:
    """Return the one pattern that a path is of, and its columns."""
    found = [(place, columns) for place, columns in sections().items() if fnmatch(path, place)]
    assert len(found) == 1, f"{path} is of {len(found)} sections of docs/dictionary.md"
    return found[0]


def check_record(kind: str, path: Path, wildcards: Collection[str]) -> None:
    """Fail unless a JSON record has the keys of its section, each of its type; it may hold more of its wildcards."""
    record: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    ((_, keys),) = ((p, keys) for p, keys in sections().items() if p.startswith(f"results/{kind}/"))
    assert record.keys() >= keys.keys() >= record.keys() - {*wildcards}, kind
    for name, column in keys.items():
        assert isinstance(record[name], VALUES[column.kind]), f"{kind}: {name}"
