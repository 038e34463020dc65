"""Numbers that others have published, one per row, as they are printed.

Tables quote them apart from measured ones and label them as published; nothing computes with them.  docs/published.md
describes the columns and the sources.
"""

import csv
import io
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sparcl.base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["id", "source", "place", "method", "method_id", "dataset", "dataset_id", "backbone"]
COLUMNS += ["backbone_id", "sessions", "protocol", "setting", "metric", "averaging", "value"]
COLUMNS += ["spread", "spread_kind", "unit", "trained", "note"]
REQUIRED = ["source", "place", "metric", "value", "trained"]
ACCURACIES = ["A_bar", "A_last", "A_t", "forgetting"]
UNITS = dict.fromkeys([*ACCURACIES, "relative_change", "energy_share"], "percent")
UNITS |= {"accuracy_difference": "points", "tau_post": "s", "image_side": "pixels"}
UNITS |= dict.fromkeys(["d", "m", "width", "residual_rank", "refresh", "sessions"], "count")
UNITS |= dict.fromkeys(["classes", "classes_per_session", "orders", "seeds", "exemplars"], "count")
UNITS |= dict.fromkeys(["drift", "time_ratio", "ridge", "tau", "cost_exponent", "toy"], "1")
# What a value of each unit lies in, and whether it is whole.
RANGES = {"percent": (0, 100), "points": (-100, 100), "s": (1e-9, 1e9), "1": (-1e9, 1e9)}
RANGES |= {"count": (1, 1e9), "pixels": (1, 1e9)}
WHOLE = ["count", "pixels"]
AVERAGING = ["samples", "tasks", "classes", "unstated"]
SPREADS = ["1.96 sd"]
TRAINED = ["yes", "no", "unstated"]

ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?")
SETTING = re.compile(r"\w+=[^=;]+(?:; \w+=[^=;]+)*")
MENTION = re.compile(r"\[([^\]]*)\]")
CONTRADICTS = re.compile(r"contradicts((?: \[[^\]]*\])*)")


def read(
    path: str | Path,
    methods: Collection[str] | None = None,
    datasets: Collection[str] | None = None,
    backbones: Collection[str] | None = None,
) -> "pd.DataFrame":
    """Return the published numbers, in the order of the file, with the columns of the file and ``printed``.

    ``printed`` is the value as it stands in the file, with all its digits: what a table sets.
    ``value`` and ``spread`` are floats (``spread`` nan where none is given), ``sessions`` a nullable
    integer, all else text, empty where it does not apply.

    Parameters
    ----------
    path : a file as docs/published.md describes it
    methods, datasets, backbones : the ids that ``method_id``, ``dataset_id`` and ``backbone_id`` may
        name; None: any

    Raises
    ------
    InputError
        The file is missing or not UTF-8, or a row has the wrong cells, an unknown metric, unit or id,
        a value outside its unit's range, an id twice, or a note that mentions an id that is not there.
        The message names file and line.
    """
    import pandas as pd

    known = {"method_id": methods, "dataset_id": datasets, "backbone_id": backbones}
    rows: list[dict[str, str]] = []
    lines: dict[str, int] = {}
    for line, row in _rows(path):
        fault = _fault(row, known)
        if row["id"] in lines:
            fault = f"id {row['id']!r} is that of line {lines[row['id']]} too; give it another"
        if fault:
            raise InputError(f"{path}, line {line}: {fault}.")
        lines[row["id"]] = line
        rows.append(row)
    for row in rows:
        for other in MENTION.findall(row["note"]):
            if other not in lines or other == row["id"]:
                raise InputError(
                    f"{path}, line {lines[row['id']]}: the note mentions [{other}], which is the id of no other row. "
                    "Probably misspelt, or that row was renamed or taken out; correct the note."
                )
    frame = pd.DataFrame(rows, columns=COLUMNS, dtype=str)
    frame.insert(COLUMNS.index("value"), "printed", frame["value"])
    for column in ("value", "spread"):
        frame[column] = [float(cell or "nan") for cell in frame[column]]
    frame["sessions"] = pd.array([int(c) if c else None for c in frame["sessions"]], dtype="Int64")
    return frame


def _rows(path: str | Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and cells of each row after the header."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}). It is part of this project: `git checkout` brings it back."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: no UTF-8 (byte {error.start}). Save it as UTF-8; spreadsheets often do not."
        ) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        if next(reader, []) != COLUMNS:
            raise InputError(
                f"{path}, line 1: the columns are not {','.join(COLUMNS)}. Was a column added, or is this another file?"
            )
        for cells in reader:
            if len(cells) != len(COLUMNS):
                raise InputError(
                    f"{path}, line {reader.line_num}: {len(cells)} cells instead of {len(COLUMNS)}. A cell that holds "
                    "a comma must stand in double quotes; an empty line may not be there."
                )
            yield reader.line_num, dict(zip(COLUMNS, cells, strict=True))
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: no CSV ({error}). Probably a double quote that is never closed."
        ) from error


def _fault(row: dict[str, str], known: dict[str, Collection[str] | None]) -> str | None:
    """Return what is wrong with a row, likely cause included, or None."""
    for column, cell in row.items():
        if cell != cell.strip() or not cell.isprintable():
            return f"{column} {cell!r} has spaces at an end or control characters; take them out"
        if column in REQUIRED and not cell:
            return f"{column} is empty; every number needs one"
    metric, unit, value = row["metric"], row["unit"], row["value"]
    if not ID.fullmatch(row["id"]):
        return f"id {row['id']!r} is not of small letters, digits and single hyphens"
    if metric not in UNITS:
        return f"metric {metric!r} is unknown: misspelt, or to be added to UNITS of study.report.published"
    if unit != UNITS[metric]:
        return f"unit {unit!r}: {metric} is given in {UNITS[metric]!r}; convert it, or correct the metric"
    if not NUMBER.fullmatch(value):
        return f"value {value!r} is no plain decimal number; write 10000 for 10^4, and a range as two rows"
    low, high = RANGES[unit]
    if not low <= float(value) <= high or (unit in WHOLE and "." in value):
        return f"value {value} is no {metric} in {unit}; a shifted column or a slip of the decimal point"
    if row["averaging"] not in (AVERAGING if metric in ACCURACIES else [""]):
        return f"averaging {row['averaging']!r}: one of {AVERAGING} for {ACCURACIES}, empty for all else"
    if bool(row["spread"]) != bool(row["spread_kind"]):
        return "spread and spread_kind: both or neither; a spread means nothing without its kind"
    if row["spread"] and (not NUMBER.fullmatch(row["spread"]) or float(row["spread"]) < 0):
        return f"spread {row['spread']!r} is no number from 0; write it without its sign"
    if row["spread_kind"] not in ["", *SPREADS]:
        return f"spread_kind {row['spread_kind']!r} is unknown: one of {SPREADS}, or add it in report/published.py"
    if not re.fullmatch(r"[1-9][0-9]{0,5}|", row["sessions"]):
        return f"sessions {row['sessions']!r} is no whole number from 1; leave it empty where none is given"
    if row["setting"] and not SETTING.fullmatch(row["setting"]):
        return f"setting {row['setting']!r} is not of the form name=value; name=value"
    if row["trained"] not in TRAINED:
        return f"trained {row['trained']!r} is none of {TRAINED}"
    for column, ids in known.items():
        if ids is not None and row[column] and row[column] not in ids:
            return f"{column} {row[column]!r} is not in this project; misspelt, renamed, or to be left empty"
    if any(not MENTION.search(mentions) for mentions in CONTRADICTS.findall(row["note"])):
        return "the note says contradicts without an id in square brackets after it"
    return None
