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
EQUAL = "Equal: every row and every digit of the committed summaries was computed again."
DIGITS = 6  # significant digits of the other numbers in a summary

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


def _read(path: Path) -> dict[str, Row]:
    """Return the rows of a summary, each by what tells it apart, in words."""
    rows: dict[str, Row] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            columns, *lines = csv.reader(file, strict=True)
        keys = [*takewhile(lambda column: column in summary.ROW_KEYS, columns)]
        if not keys or len({*columns}) < len(columns):
            raise ValueError("its first columns do not tell its rows apart, or one is there twice")
        for number, cells in enumerate(lines, start=2):
            if len(cells) != len(columns):
                raise ValueError(f"row {number} has not {len(columns)} cells")
            row = dict(zip(columns, cells, strict=True))
            where = ", ".join(f"{key} {row[key]}" for key in keys if key != "suite")
            if where in rows:
                raise ValueError(f"row {number} ({where}) is there twice")
            rows[where] = row
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(
            f"{path}: no readable summary ({error}); restore it (git checkout) or make it again (snakemake summary)."
        ) from error
    return rows


def _compare_summary(
    name: str, old: Mapping[str, Row], new: Mapping[str, Row]
) -> Iterator[Difference]:
    for where in sorted(old.keys() ^ new.keys()):
        what = "the row is no longer made" if where in old else "the row is new"
        yield Difference(name, where, what)
    columns = [next(iter(rows.values()), {}) for rows in (old, new)]
    for column in sorted(columns[0].keys() ^ columns[1].keys()):
        yield Difference(name, f"column {column}", "in one of the two only")
    for where in (where for where in old if where in new):
        for column, cell in old[where].items():
            if cell != new[where].get(column, cell):
                yield _cell(name, where, column, cell, new[where][column])


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
        return EQUAL, True
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
