"""Numbers measured elsewhere: by other toolboxes, from their logs, in a file of their own.

They are never mixed with this project's: nothing computes with the file, and no summary or table reads it.
docs/exchange.md describes its columns.
"""

import csv
import hashlib
import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sparcl.base.errors import InputError
from sparcl.base.files import write_text

COLUMNS = ["tool", "log", "log_sha256", "line", "method", "dataset", "backbone", "seed"]
COLUMNS += ["sessions", "measure", "session", "averaging", "value"]
Row = dict[str, str]


@dataclass(frozen=True)
class Measured:
    """A run of another toolbox, named as it names it.

    Attributes
    ----------
    line : of the log, from 1, where the run starts
    averaging : of accuracies, over ``samples`` or ``tasks``
    accuracies : (T,) in percent, after each session on the classes seen
    forgetting : in points, by the toolbox's own definition; None where it is not logged
    """

    line: int
    method: str
    dataset: str
    backbone: str
    seed: str
    averaging: str
    accuracies: list[float]
    forgetting: float | None


def rows(tool: str, log: Path, content: bytes, runs: Iterable[Measured]) -> Iterator[Row]:
    """Yield the numbers of a log's runs, one per row; values keep the log's digits as Python reads them."""
    digest = hashlib.sha256(content).hexdigest()
    for run in runs:
        T = len(run.accuracies)
        numbers: list[tuple[str, int, str, float]] = [
            ("A_t", t, run.averaging, value) for t, value in enumerate(run.accuracies, 1)
        ]
        numbers.append(("A_bar", T, run.averaging, math.fsum(run.accuracies) / T))
        numbers.append(("A_last", T, run.averaging, run.accuracies[-1]))
        if run.forgetting is not None:
            numbers.append(("forgetting", T, "tasks", run.forgetting))
        for measure, session, averaging, value in numbers:
            cells = [tool, log.name, digest, run.line, run.method, run.dataset, run.backbone]
            cells += [run.seed, T, measure, session, averaging, repr(value)]
            yield dict(zip(COLUMNS, map(str, cells), strict=True))


def read(path: Path) -> list[Row]:
    """Return the rows of a file that :func:`add` wrote, every cell as text.

    Raises
    ------
    InputError
        The file is no such file; the message names the line.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            lines = csv.reader(stream, strict=True)
            found = [(lines.line_num, cells) for cells in lines]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path}: cannot be read as CSV ({error}). Name another with --out."
        ) from error
    wrong = [line for line, cells in found if len(cells) != len(COLUMNS)]
    if found[:1] != [(1, COLUMNS)] or wrong:
        raise InputError(
            f"{path}, line {wrong[0] if wrong else 1}: these are not the columns {','.join(COLUMNS)}. This is another "
            "file, and stays as it is, or it was changed: name another with --out, or take the line out."
        )
    return [dict(zip(COLUMNS, cells, strict=True)) for _, cells in found[1:]]


def add(path: Path, new: list[Row]) -> int:
    """Add rows to a file, which is made where there is none; return how many were new.

    A run that the file holds already, by the log's sha256 and the line, is left as it is.

    Raises
    ------
    InputError
        The file is another file; it stays as it is.
    """
    old = read(path) if path.exists() else []
    known = {(row["log_sha256"], row["line"]) for row in old}
    fresh = [row for row in new if (row["log_sha256"], row["line"]) not in known]
    if fresh:
        stream = io.StringIO()
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(old + fresh)
        write_text(path, stream.getvalue())
    return len(fresh)
