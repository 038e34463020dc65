"""Compare the committed summaries with those of a second run, row by row.

``python -m study.report.verify COMMITTED AGAIN`` prints what differs and by how much; `make verify`
computes the second.
"""

import argparse
import csv
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from sparcl.base.errors import InputError
from study.report import summary

# What may differ between platforms: points of accuracy, and a relative share of other numbers.
POINTS, RELATIVE = 0.05, 1e-6
DIGITS = 6  # significant digits of the other numbers in a summary

Key = tuple[tuple[str, str], ...]  # names and values of the columns that tell a row apart
Row = Mapping[str, str]


@dataclass(frozen=True)
class Difference:
    """One cell, row or column in which two summaries differ; ``tolerable`` between platforms or not."""

    summary: str
    where: str
    what: str
    tolerable: bool = False

    def __str__(self) -> str:
        """Return the difference as one line."""
        return f"{self.summary}.csv, {self.where}: {self.what}"


def compare(committed: str | Path, again: str | Path) -> list[Difference]:
    """Return every difference between the summaries of two folders.

    Raises
    ------
    InputError
        A folder has no summary, or one is damaged.
    """
    found: list[Difference] = []
    files = [{path.stem: path for path in Path(f).glob("*.csv")} for f in (committed, again)]
    for folder, paths in zip((committed, again), files, strict=True):
        if not paths:
            raise InputError(f"{folder}: no summary there; make it (snakemake summary).")
    for name in sorted({*files[0], *files[1]}):
        if name in files[0] and name in files[1]:
            found += _compare_summary(name, _read(files[0][name]), _read(files[1][name]))
        else:
            found.append(Difference(name, "the whole summary", "in one of the two only"))
    return found


def _read(path: Path) -> dict[Key, Row]:
    """Return the rows of a summary by their keys."""
    remedy = "restore it (git checkout) or make it again (snakemake summary)."
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = reader.fieldnames or []
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: no readable summary ({error}); {remedy}") from error
    keys = [*takewhile(lambda column: column in summary.ROW_KEYS, columns)]
    if not keys or len(set(columns)) < len(columns):
        why = "a column is there twice" if keys else "its first columns do not tell its rows apart"
        raise InputError(f"{path}: {why}; {remedy}")
    by_key: dict[Key, Row] = {}
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise InputError(f"{path}: row {number} has not {len(columns)} cells; {remedy}")
        key = tuple((name, row[name]) for name in keys)
        if key in by_key:
            raise InputError(f"{path}: row {number} ({_where(key)}) is there twice; {remedy}")
        by_key[key] = row
    return by_key


def _where(key: Key) -> str:
    return ", ".join(f"{name} {value}" for name, value in key if name != "suite")


def _compare_summary(
    name: str, old: Mapping[Key, Row], new: Mapping[Key, Row]
) -> Iterator[Difference]:
    for key in old.keys() | new.keys():
        if key not in new or key not in old:
            what = "the row is no longer made" if key in old else "the row is new"
            yield Difference(name, _where(key), what)
    shared = [key for key in old if key in new]
    columns = [[*next(iter(rows.values()), {})] for rows in (old, new)]
    for column in sorted({*columns[0]} ^ {*columns[1]}):
        yield Difference(name, f"column {column}", "in one of the two only")
    both = [column for column in columns[0] if column in columns[1]]
    for key in shared:
        for column in both:
            cells = old[key][column], new[key][column]
            if cells[0] != cells[1]:
                yield _cell(name, _where(key), column, *cells)


def _cell(name: str, where: str, column: str, old: str, new: str) -> Difference:
    what = f"{column} was {old or 'empty'}, is {new or 'empty'}"
    if column.endswith("_sha256"):
        return Difference(name, where, what)
    try:
        first, second = float(old), float(new)
    except ValueError:
        return Difference(name, where, what)
    gap = abs(second - first)
    if gap == 0:  # the same number, written in another way
        return Difference(name, where, what, True)
    if column in summary.PERCENT:
        return Difference(
            name, where, f"{what} ({second - first:+.4f} points)", gap <= POINTS + 1e-9
        )
    scale = max(abs(first), abs(second))
    # Two numbers closer than RELATIVE may still be printed one last digit apart.
    last_digit = 10.0 ** (math.floor(math.log10(scale)) + 1 - DIGITS) if 0 < scale < math.inf else 0
    near = gap <= max(RELATIVE * scale, 1.01 * last_digit)
    return Difference(name, where, f"{what} (relative {gap / scale:.1e})", near)


def report(found: Sequence[Difference], across: bool) -> tuple[str, bool]:
    """Return what to print, and whether two runs agree: exactly, or within tolerance ``across`` platforms."""
    if not found:
        return (
            "Equal: every row and every digit of the committed summaries was computed again.",
            True,
        )
    wrong = [d for d in found if not (across and d.tolerable)]
    tolerable = sum(d.tolerable for d in found)
    lines = [str(d) for d in found]
    lines.append(
        f"{len(found)} differences, {tolerable} of them within {POINTS} points of accuracy or {RELATIVE:g} "
        "relative (or the last printed digit), which is what another platform may show."
    )
    if not across and tolerable == len(found):
        lines.append("On another platform than the committed run's, compare with ACROSS=1.")
    return "\n".join(lines), not wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two folders of summaries; 0 when they agree."""
    parser = argparse.ArgumentParser(prog="python -m study.report.verify", description=__doc__)
    parser.add_argument("committed", type=Path)
    parser.add_argument("again", type=Path)
    parser.add_argument(
        "--across", action="store_true", help="allow what another platform may show"
    )
    chosen = parser.parse_args(arguments)
    try:
        text, agree = report(compare(chosen.committed, chosen.again), chosen.across)
    except InputError as error:
        print(f"InputError: {error}", file=sys.stderr)
        return 2
    print(text)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
