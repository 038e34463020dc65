"""What a statement rests on: an entry names file, rows and column, and this computes the numbers.

docs/basis.md has the grammar. A file is a CSV of this project, or YAML or JSON with ``key=``.
"""

import itertools
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparcl.base.errors import InputError
from study.report.paired import ALL, Difference, Differences
from study.report.reading import read_csv

if TYPE_CHECKING:
    import pandas as pd

CLAIMS = "paper/claims/claims.csv"
PAIRED = (
    "dataset",
    "backbone",
    "order",
    "seed",
    "session",
    "arrival",
)  # what makes two rows one pair
RESERVED = ("column", "count", "key", "times", "among")
VERDICTS = {  # by the difference between two methods of a suite (`study.report.paired`)
    "above": ("above",),
    "below": ("below",),
    "tie": ("tie",),
    "not above": ("below", "tie"),
    "not below": ("above", "tie"),
}
COUNTS = {"wins": "above", "losses": "below", "ties": "tie"}
LIMITS = ("low", "high")
EXTREMES = ("highest", "lowest")


def _only(values: np.ndarray) -> float:
    if len(values) != 1:
        raise InputError(
            f"{len(values)} rows, and no word says what becomes of them: add {', '.join(REDUCTIONS)}, or select one row"
        )
    return float(values[0])


REDUCTIONS: dict[str, Callable[[np.ndarray], float]] = {
    "mean": lambda values: float(values.mean()),
    "std": lambda values: float(values.std(ddof=1)),
    "min": lambda values: float(values.min()),
    "max": lambda values: float(values.max()),
    "sum": lambda values: float(values.sum()),
    "rows": lambda values: float(len(values)),
}


@dataclass(frozen=True)
class Rows:
    """Rows of a file: ``select`` has the values that each column may have; ``options`` the reserved keys."""

    file: str
    select: Mapping[str, Sequence[str]] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)

    def columns(self) -> list[str]:
        """Return the columns that are read."""
        if "column" not in self.options:
            raise InputError("no column is named: add column=")
        return self.options["column"].split("|")

    def groups(self, frame: "pd.DataFrame") -> list["Rows"]:
        """Return one selection for each combination of the listed values, in the order written; * lists the file's."""
        listed = {
            k: list(dict.fromkeys(frame[k].astype(str)))
            if values == ["*"] and k in frame
            else values
            for k, values in self.select.items()
        }
        return [
            replace(self, select={k: [v] for k, v in zip(listed, values, strict=True)})
            for values in itertools.product(*listed.values())
        ]


@dataclass(frozen=True)
class Entry:
    """An entry of a basis: rows, perhaps joined with others row by row, and what becomes of them."""

    rows: Rows
    joint: str = ""  # minus, over
    other: Rows | None = None
    reductions: tuple[str, ...] = ()
    verdict: str = ""


def compute(text: str, root: Path) -> list[float] | None:
    """Return the numbers of an entry; none where it states no number, and None where a program measured them.

    Parameters
    ----------
    text : str
        The entry, as docs/basis.md describes it.
    root : Path
        The project's folder, which holds the files.

    Raises
    ------
    InputError
        The entry cannot be read, names a file, column or row that is not there, rests on too few pairs, or its
        verdict (`is`) is not what the file says.
    """
    try:
        return _compute(shlex.split(text), root)
    except (InputError, ValueError) as error:
        raise InputError(f"`{' '.join(text.split())}`: {error}.") from error


def _compute(tokens: Sequence[str], root: Path) -> list[float] | None:
    match tokens:
        case []:
            raise InputError("empty; write a file, or `given`, `claim` or `measured by`")
        case ["given", *values]:
            return [float(value.replace(",", "")) for value in values]
        case ["measured", "by", program]:
            if not (root / program).is_file():
                raise InputError(f"there is no program {program}")
            return None
        case ["claim", name, *verdict]:
            tokens = [CLAIMS, f"id={name}", "column=verdict", "is", *verdict]
    entry = parse(tokens)
    if "key" in entry.rows.options:
        return _setting(entry, root)
    return _table(entry, root)


def parse(tokens: Sequence[str]) -> Entry:
    """Return an entry from its words.

    Raises
    ------
    InputError
        A word that the grammar does not have.
    """
    rows, joint, other = Rows(tokens[0]), "", None
    reductions: list[str] = []
    for place, token in enumerate(tokens[1:], start=1):
        key, equals, value = token.partition("=")
        if token == "is":
            verdict = " ".join(tokens[place + 1 :])
            return Entry(rows, joint, other, tuple(reductions), verdict)
        if token in ("minus", "over") and not joint:
            joint, other = token, rows
        elif token in (*REDUCTIONS, *LIMITS, *COUNTS, *EXTREMES, "each"):
            reductions.append(token)
        elif equals and key in RESERVED and key != "column":  # of the entry, wherever it stands
            rows = replace(rows, options={**rows.options, key: value})
        elif equals or (other is not None and token.endswith(".csv")):
            changed = other if other is not None else rows
            if not equals:
                changed = replace(changed, file=token)
            elif key == "column":
                changed = replace(changed, options={**changed.options, key: value})
            else:
                changed = replace(changed, select={**changed.select, key: value.split("|")})
            rows, other = (rows, changed) if other is not None else (changed, None)
        else:
            raise InputError(f"`{token}` is no word of the grammar (docs/basis.md)")
    return Entry(rows, joint, other, tuple(reductions))


def _setting(entry: Entry, root: Path) -> list[float]:
    """Return what a YAML or JSON file has under a key; of a list or block with `rows`, its length."""
    import yaml

    text = _file(root, entry.rows.file).read_text(encoding="utf-8")
    found: Any = json.loads(text) if entry.rows.file.endswith(".json") else yaml.safe_load(text)
    for part in entry.rows.options["key"].split("."):
        if not isinstance(found, Mapping) or part not in found:
            raise InputError(f"{entry.rows.file} has no key {entry.rows.options['key']}")
        found = found[part]
    if entry.reductions == ("rows",):
        return [float(len(found))]
    times = float(entry.rows.options.get("times", 1))
    return [times * float(value) for value in (found if isinstance(found, list) else [found])]


def _table(entry: Entry, root: Path) -> list[float]:
    frame = read_csv(_file(root, entry.rows.file))
    other = frame if entry.other is None else read_csv(_file(root, entry.other.file))
    groups = entry.rows.groups(frame)
    if "count" in entry.rows.options:
        column = entry.rows.options["count"]
        return [float(_chosen(frame, group, column)[column].nunique()) for group in groups]
    if entry.verdict and entry.verdict not in VERDICTS:
        return _stated(entry, frame)
    words, times = entry.reductions, float(entry.rows.options.get("times", 1))
    if words == ("each",):
        columns = entry.rows.columns()
        found = times * _chosen(frame, entry.rows, *columns)[columns].to_numpy(dtype=float)
        return [float(value) for value in found.ravel()]
    cells = [(group, column) for group in groups for column in entry.rows.columns()]
    if words and words[0] in EXTREMES:
        return [float(sum(_leads(frame, *cell, words[0]) for cell in cells))]
    judged: list[Difference] = []
    pooled = entry.joint == "minus" and entry.rows.select.get("dataset") == [ALL]
    if entry.verdict or pooled or {*words} & {*LIMITS, *COUNTS}:
        judged = [_difference(entry, *cell, root) for cell in cells]
    if entry.verdict:
        for (group, column), it in zip(cells, judged, strict=True):
            if it.verdict not in VERDICTS[entry.verdict]:
                raise InputError(
                    f"is {it.verdict}, not {entry.verdict}: {column} from {it.low:.2f} to {it.high:.2f} for "
                    f"{dict(group.select)}"
                )
        if not words:
            return []
    if words and words[0] in COUNTS:
        verdicts = [it.verdict for it in judged]
        return [float(verdicts.count(COUNTS[word])) for word in words]
    chosen = {**REDUCTIONS, "only": _only}
    result = []
    for i, cell in enumerate(cells):
        for word in words or ("only",):
            if word in LIMITS or (judged and word == "mean"):
                value = getattr(judged[i], "difference" if word == "mean" else word)
            else:
                value = chosen[word](_values(entry, *cell, frame, other))
            result.append(times * value)
    return result


def _file(root: Path, name: str) -> Path:
    if not (root / name).is_file():
        raise InputError(f"there is no file {name}")
    return root / name


def _chosen(frame: "pd.DataFrame", rows: Rows, *columns: str) -> "pd.DataFrame":
    """Return the rows of a file that a selection names."""
    absent = [name for name in (*rows.select, *columns) if name not in frame.columns]
    if absent:
        raise InputError(
            f"{rows.file} has no column {', '.join(absent)}; it has {', '.join(frame.columns)}"
        )
    for column, names in rows.select.items():
        cells = frame[column]
        kept = (
            cells.isin(names)
            if cells.dtype.kind not in "iufb"
            else cells.isin([float(n) for n in names])
        )
        frame = frame[kept]
    if frame.empty:
        raise InputError(f"{rows.file} has no row with {dict(rows.select)}")
    return frame


def _values(
    entry: Entry, group: Rows, column: str, frame: "pd.DataFrame", other: "pd.DataFrame"
) -> np.ndarray:
    """Return a column of a group, each row joined with its pair among the other rows."""
    left = _chosen(frame, group, column)
    if entry.other is None:
        values = left[column].to_numpy(dtype=float)
    else:
        own = {k: v for k, v in entry.other.select.items() if v != entry.rows.select.get(k)}
        changed = entry.other.options["column"] != entry.rows.options["column"]
        there = entry.other.options["column"] if changed else column
        right = _chosen(other, replace(entry.other, select={**group.select, **own}), there)
        keys = [k for k in PAIRED if k in left and k in right and k not in own]
        first, second = left.set_index(keys)[column], right.set_index(keys)[there]
        unique = first.index.is_unique and second.index.is_unique
        if not unique or set(first.index) != set(second.index):
            raise InputError(
                f"{len(first)} rows and {len(second)} are not the same {', '.join(keys)}"
            )
        second = second.reindex(first.index)
        joined = first - second if entry.joint == "minus" else first / second
        values = joined.to_numpy(dtype=float)
    if not np.isfinite(values).all():
        raise InputError(f"{group.file} has an empty cell in {column} for {dict(group.select)}")
    return values


def _difference(entry: Entry, group: Rows, column: str, root: Path) -> Difference:
    """Return the difference that a verdict reads: of two methods of one suite, in its ``differences.csv``."""
    wanted, other = {key: value for key, [value] in group.select.items()}, entry.other
    own = (
        {}
        if other is None
        else {k: v for k, v in other.select.items() if v != entry.rows.select.get(k)}
    )
    one = other is not None and (other.file, other.options) == (group.file, group.options)
    if not (one and entry.joint == "minus" and set(own) == {"method"} and len(own["method"]) == 1):
        raise InputError(
            "low, high and verdicts are of one method minus another one of the same file"
        )
    method, dataset = wanted.pop("method"), wanted.pop("dataset", ALL)
    backbone = wanted.pop("backbone", None)
    if further := wanted.keys() - {"session", "stress", "rate"}:
        raise InputError(
            f"low, high and verdicts are of all class orders, and not for one {', '.join(further)}"
        )
    at = {key: value if key == "stress" else float(value) for key, value in wanted.items()}
    file = Path(group.file).with_name("differences.csv")
    pairs = Differences(read_csv(_file(root, str(file))), backbone)
    return pairs.between(method, own["method"][0], dataset, column, **at)


def _leads(frame: "pd.DataFrame", group: Rows, column: str, extreme: str) -> bool:
    """Return whether the group's method alone has the highest (lowest) mean of all in the file or ``among``."""
    [method] = group.select["method"]
    rest = {k: v for k, v in group.select.items() if k != "method"}
    if "among" in group.options:
        rest["method"] = [*group.options["among"].split("|"), method]
    means = _chosen(frame, replace(group, select=rest), column).groupby("method")[column].mean()
    rivals = means.drop(method)
    leads = means[method] > rivals if extreme == "highest" else means[method] < rivals
    return bool(leads.all())


def _stated(entry: Entry, frame: "pd.DataFrame") -> list[float]:
    [column] = entry.rows.columns()
    found = sorted(set(_chosen(frame, entry.rows, column)[column].astype(str)))
    if found != [entry.verdict]:
        raise InputError(f"{entry.rows.file} says {' and '.join(found)}, not {entry.verdict}")
    return []
