"""The data dictionary describes every committed CSV: each column has a line, each line a column, each cell its type."""

import csv
from collections import defaultdict

from copies import ROOT, in_git
from dictionary import Column, of_file, sections

FILES = sorted(p.relative_to(ROOT).as_posix() for p in in_git() if p.suffix == ".csv")
NUMERIC = ("whole", "number")


def test_every_column_has_a_line_and_every_cell_its_type() -> None:
    """And every line has a column."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    assert len(FILES) > 100
    for file in FILES:
        place, columns = of_file(file)
        with (ROOT / file).open(encoding="utf-8", newline="") as stream:
            rows = csv.DictReader(stream)
            found[place] |= {*(rows.fieldnames or [])}
            cells = {item for row in rows for item in row.items()}
        assert found[place] <= columns.keys(), file
        wrong = sorted((name, cell) for name, cell in cells if not columns[name].takes(cell))
        assert wrong[:5] == [], file
    described = {place: {*columns} for place, columns in sections().items()}
    described = {place: names for place, names in described.items() if place.endswith(".csv")}
    assert found == described


def test_every_number_has_a_unit() -> None:
    keys = ("order", "seed", "session", "arrival", "mode")
    lacking = [
        (place, name)
        for place, columns in sections().items()
        for name, column in columns.items()
        if column.kind in NUMERIC and not column.unit and name not in keys
    ]
    assert lacking == []


def test_a_cell_of_another_type_is_found() -> None:
    for kind, cell, fits in (
        ("whole", "1.5", False),
        ("whole", "-3", True),
        ("number", "1e-05", True),
        ("number", "nan", False),
        ("flag", "2", False),
        ("text", "", False),
    ):
        assert Column(kind, False, "").takes(cell) is fits
        assert Column(kind, True, "").takes("")
