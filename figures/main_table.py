"""The main table: accuracy, forgetting and drift of every method on every data set.

``python -m figures.main_table paper/bundled/tables/main.csv`` prints it.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from figures import grid
from figures.frames import (
    NO_DRIFT,
    PAIR,
    differences,
    fill,
    label,
    measured,
    origin,
    require,
    select,
)
from figures.grid import Cell, Origin
from sparcl.base.errors import ConfigError, InputError
from study.places import where
from study.report.differences import OF_ANSWERS, Difference, against_best
from study.report.reading import read_csv


class Measure(NamedTuple):
    """A measure of a table of runs: how it is named and printed, and whether it is of old classes."""

    title: str  # over its columns in LaTeX
    plain: str
    higher_is_better: bool
    scale: float = 1.0  # printed = stored * scale
    of_old: bool = False  # undefined in a stream of one session


MEASURES = {
    "A_bar": Measure(
        "average accuracy Ā (%) ↑",
        "average accuracy over sessions, % (higher is better)",
        higher_is_better=True,
    ),
    "A_last": Measure(
        "accuracy after the last session (%) ↑",
        "accuracy after the last session, % (higher is better)",
        higher_is_better=True,
    ),
    "forgetting": Measure(
        "forgetting (points) ↓",
        "forgetting, points (lower is better)",
        higher_is_better=False,
        of_old=True,
    ),
    "drift_scaled": Measure(
        "old-logit drift (% of the logits' s.d.) ↓",
        "old-logit drift, % of the logits' s.d. (lower is better)",
        higher_is_better=False,
        scale=100,
        of_old=True,
    ),
}
REST = "Other methods"
WIDE = 8  # as many columns of numbers fit a page side by side
MARKS = ["best", "tied", "underlined"]
COMPARED = ["n", "mean", "std", "gap", "gap_low", "gap_high", "best", "tied"]  # `against_best`
NO_ORIGIN = Origin("", "", "")
LEGEND = (
    "* best mean; † not told apart from it: the caption in the .md beside it says by which rule"
)
HELP = "This prints the main.csv of a suite; any other table is readable in the .md beside it."


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix.

    Parameters
    ----------
    frames : mapping
        ``runs``: one row per run; or the frames that ``columns`` names. ``differences`` beside each, without
        which no method is told apart from the best.
    options : mapping
        What `rows` reads; ``caption`` with the fields of `figures.frames.fill`; ``notes``:
        sentences after it (``text``), each if one of its methods (``of``) has a row; ``blocks``:
        measures side by side, block under block (default: one per block; of few data sets all stand side by
        side in LaTeX); ``id`` of the table.

    Raises
    ------
    ConfigError
        ``blocks`` names a measure that does not exist.
    InputError
        See `rows`.
    """
    blocks = options.get("blocks", [[measure] for measure in MEASURES])
    if unknown := [m for block in blocks for m in block if m not in MEASURES]:
        raise ConfigError(
            f"{where('tables', options['id'], 'blocks')} names {', '.join(unknown)}; "
            f"there are {', '.join(MEASURES)}"
        )
    table = rows(frames, options)
    notes = [n["text"] for n in options.get("notes", []) if set(table["method"]) & set(n["of"])]
    sessions = " or ".join(dict.fromkeys(table["sessions"]))
    tested = any(name.endswith("differences") for name in frames)
    caption = fill(options, table, orders=table["n"].max(), sessions=sessions, tested=tested)
    notes += [NO_DRIFT] if tested and any("drift_scaled" in block for block in blocks) else []
    caption = " ".join([caption, *notes])
    if len(MEASURES) * table["dataset"].nunique() <= WIDE:
        blocks = [[measure for block in blocks for measure in block]]
    titles = [[MEASURES[measure].title for measure in block] for block in blocks]
    return {
        ".tex": grid.latex(
            [_cell(row, short=True) for row in table.to_dict("records")],
            caption,
            options["id"],
            needs="",
            dense=True,
            blocks=titles,
        ),
        ".md": grid.markdown(
            [
                _cell(row, short=False)
                for measure in (measure for block in blocks for measure in block)
                for row in table[table["measure"] == measure].to_dict("records")
            ],
            caption,
        ),
        ".csv": table.astype(dict.fromkeys(MARKS, int)).to_csv(
            index=False, float_format="%.6f", lineterminator="\n"
        ),
    }


def rows(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return one row per measure, data set and method.

    Parameters
    ----------
    frames : mapping
        ``runs``: one row per run; or the frames that ``columns`` names.
    options : mapping
        ``datasets``, ``methods``, ``backbones``; ``groups``: title -> methods, in the order of the
        rows; methods of the suite that no group names come last, ids outside the suite are skipped.
        ``absent``: methods that the backbone has no features for; their rows have n = 0.
        ``underline``: methods whose best is marked among themselves.
        ``gate``: two methods; with the frame ``training``, see `_unfit`.
        ``columns``: frame -> what follows a data set's name, for two suites side by side.

    Returns
    -------
    DataFrame
        Keys, labels, the columns of `study.report.differences.against_best` in the units of the frame,
        ``underlined``, ``printed``, and where it comes from.

    Raises
    ------
    InputError
        A data set, method, pair or value is missing.
    """
    if "columns" not in options:
        return pd.DataFrame(_rows(frames, "runs", options))
    found = []
    places = list(options["datasets"])
    for name, words in options["columns"].items():
        for row in _rows(frames, name, options):
            names = {key: f"{row[key]}, {words}" for key in ("dataset", "dataset_label")}
            found.append((places.index(row["dataset"]), row | names))
    return pd.DataFrame([row for _, row in sorted(found, key=lambda item: item[0])])


def _rows(
    frames: Mapping[str, pd.DataFrame], name: str, options: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the rows of one frame."""
    ran = measured(options)
    runs = select(frames, name, options, ["sessions", *MEASURES], ran)
    require(runs, name, [measure for measure, told in MEASURES.items() if not told.of_old])
    require(runs[runs["sessions"] > 1], name, list(MEASURES))
    group_of = _ordered(list(options["methods"]), options.get("groups", {}))
    common = {"suite": runs["suite"].iloc[0], "backbone": runs["backbone"].iloc[0]}
    beside = name.replace("runs", "differences")
    pairs = differences(frames, options, beside) if beside in frames else None
    found = []
    for measure, dataset in product(MEASURES, options["datasets"]):
        of_set = runs[runs["dataset"] == dataset]
        keys = {
            "sessions": "/".join(map(str, sorted(of_set["sessions"].unique()))),
            "dataset": dataset,
            "dataset_label": label(options, "datasets", dataset),
            "measure": measure,
        }
        values = of_set.pivot(index=PAIR, columns="method", values=measure)
        if MEASURES[measure].of_old and (of_set["sessions"] == 1).all():
            values = values.iloc[:, :0]  # nothing is old
        between = None
        if pairs is not None and measure in OF_ANSWERS:
            between = partial(pairs.between, dataset=dataset, measure=measure)
        unfit = _unfit(frames, of_set, options)
        of_methods = _compared(values, measure, list(group_of), options, between, unfit)
        for method, compared in of_methods.items():
            names = {
                "group": group_of[method],
                "label": label(options, "methods", method),
                "short": label(options, "methods", method, short=True),
                "method": method,
            }
            where = {"backbone": common["backbone"], "dataset": dataset, "method": method}
            source = origin(options, name, measure, **where) if compared["n"] else NO_ORIGIN
            found.append(common | keys | names | compared | source._asdict())
    return found


def _unfit(
    frames: Mapping[str, pd.DataFrame], runs: pd.DataFrame, options: Mapping[str, Any]
) -> set[str]:
    """Return the trained methods whose rows on a data set show a budget or a network, and are never best.

    They are those with an underfitted session; the two of ``gate``, which are references; and all, where the second
    of them ends below the first.
    """
    if "training" not in frames:
        return set()
    told = frames["training"].merge(runs[["dataset", "backbone", "method", *PAIR]])
    lower, upper = options["gate"]
    means = runs.groupby("method")["A_last"].mean()
    passed = means.get(upper, np.inf) >= means.get(lower, -np.inf)
    reference = told["method"].isin(options["gate"])
    return set(told.loc[(told["underfitted"] > 0) | reference | (not passed), "method"])


def _compared(
    values: pd.DataFrame,
    measure: str,
    methods: list[str],
    options: Mapping[str, Any],
    between: Callable[[str, str], Difference] | None,
    unfit: set[str],
) -> dict[str, dict[str, Any]]:
    """Return the numbers, marks and text of each method's cell, in the order of ``methods``."""
    higher = MEASURES[measure].higher_is_better
    nothing = grid.ABSENT if len(values.columns) else grid.NOTHING
    ran = [m for m in methods if m in values]
    fit = [m for m in ran if m not in unfit]
    compared = against_best(values[fit], higher, between) if fit else pd.DataFrame(columns=COMPARED)
    if len(fit) < len(ran):
        rest = against_best(values[[m for m in ran if m in unfit]], higher, None)
        rest = rest.assign(gap=np.nan, gap_low=np.nan, gap_high=np.nan, best=False, tied=False)
        compared = pd.concat([compared, rest])
    among = [m for m in compared.index if m in options.get("underline", ())]
    underlined: set[str] = set()
    if among:
        of_class = against_best(values[among], higher, None)
        underlined = set(of_class.index[of_class["best"]])
    absent = dict.fromkeys(compared.columns, np.nan) | {"n": 0, "best": False, "tied": False}
    numbers = {str(method): dict(row) for method, row in compared.to_dict("index").items()}
    found: dict[str, dict[str, Any]] = {}
    for method in methods:
        row: dict[Any, Any] = numbers.get(method, absent)
        scale = MEASURES[measure].scale
        printed = _printed(row["mean"], row["std"], scale) if row["n"] else nothing
        found[method] = row | {"underlined": method in underlined, "printed": printed}
    return found


def _printed(mean: float, std: float, scale: float) -> str:
    """Return mean and deviation of repetitions; a single one has no deviation."""
    return " ± ".join(f"{scale * value:.1f}" for value in (mean, std) if not np.isnan(value))


def _cell(row: Mapping[Any, Any], short: bool) -> Cell:
    """Return a row's cell: short names below titles of measures, or full ones, a part a measure."""
    measure = MEASURES[row["measure"]]
    return Cell(
        row["printed"],
        part="" if short else measure.plain,
        group=row["group"],
        label=row["short" if short else "label"],
        over=measure.title if short else "",
        head=row["dataset_label"],
        best=row["best"],
        tied=row["tied"],
        underlined=row["underlined"],
        origin=Origin(row["file"], row["row"], row["column"]) if row["n"] else None,
    )


def _ordered(methods: list[str], groups: Mapping[str, list[str]]) -> dict[str, str]:
    """Return method -> group in the order of the rows."""
    placed = {m: group for group, members in groups.items() for m in members if m in methods}
    return placed | {m: REST for m in methods if m not in placed}


def terminal(path: Path) -> str:
    """Return the table that a CSV file holds for a terminal of 100 columns, with marks before a number.

    Raises
    ------
    InputError
        It is no CSV, lacks a column or a cell, has other marks or measures than a main table, or a cell twice.
    """
    try:
        table = read_csv(path)
        marks = (table["best"].map({0: "", 1: "*"}), table["tied"].map({0: "", 1: grid.DAGGER}))
        shown = table.assign(shown=marks[0] + marks[1] + table["printed"])
        wide = shown.pivot(index="label", columns=["measure", "dataset_label"], values="shown")
    except (KeyError, TypeError, ValueError, OSError) as error:  # pandas' own are ValueErrors
        raise InputError(
            f"{path}: no main table, since it is no CSV, lacks a column, or has a cell twice or with other marks "
            f"({' '.join(str(error).split())}). {HELP}"
        ) from error
    others = [str(measure) for measure in table["measure"].unique() if measure not in MEASURES]
    if others or wide.isna().any(axis=None):
        what = (
            f"measures {', '.join(others)}"
            if others
            else "a missing cell, or other marks than 0 and 1"
        )
        raise InputError(f"{path}: no whole main table, since it has {what}. {HELP}")
    parts = []
    for measure in (measure for measure in MEASURES if measure in wide):
        part = pd.DataFrame(wide[measure], table["label"].unique(), table["dataset_label"].unique())
        parts.append(f"{MEASURES[measure].plain}\n{part.to_string(line_width=100)}")
    return "\n\n".join([*parts, LEGEND])


def main(arguments: list[str]) -> int:
    """Print the table that a CSV file holds; 0, or 2 with a message on the standard error."""
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        print(
            "usage: python -m figures.main_table paper/<suite>/tables/main.csv "
            "(made by `snakemake tables`)",
            file=sys.stderr,
        )
        return 2
    try:
        print(terminal(Path(arguments[0])))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
