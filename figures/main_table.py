"""The main table: accuracy, forgetting and drift of every method on every data set.

``python -m figures.main_table paper/bundled/tables/main.csv`` prints it.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from figures import grid
from figures.frames import (
    NO_DRIFT,
    OF_OLD,
    PAIR,
    Frames,
    Options,
    differences,
    fill,
    label,
    measured,
    origin,
    select,
)
from figures.grid import Cell, Origin
from sparcl.base.errors import ConfigError
from study.places import where
from study.report.differences import OF_ANSWERS, Difference, against_best
from study.report.reading import read_csv


class Measure(NamedTuple):
    """A measure of a table of runs: how it is named and printed."""

    name: str  # over its columns in LaTeX
    words: str
    higher_is_better: bool
    scale: float = 1.0  # printed = stored * scale

    @property
    def title(self) -> str:
        """Its name with an arrow to what is better."""
        return f"{self.name} {'↑' if self.higher_is_better else '↓'}"

    @property
    def plain(self) -> str:
        """Its name in words with what is better."""
        return f"{self.words} ({'higher' if self.higher_is_better else 'lower'} is better)"


MEASURES = {
    "A_bar": Measure("average accuracy Ā (%)", "average accuracy over sessions, %", True),
    "A_last": Measure(
        "accuracy after the last session (%)", "accuracy after the last session, %", True
    ),
    "forgetting": Measure("forgetting (points)", "forgetting, points", False),
    "drift_scaled": Measure(
        "old-logit drift (% of the logits' s.d.)",
        "old-logit drift, % of the logits' s.d.",
        False,
        100,
    ),
}
REST = "Other methods"
WIDE = 8  # as many columns of numbers fit a page side by side
MARKS = ["best", "tied", "underlined"]
COMPARED = ["n", "mean", "std", "gap", "gap_low", "gap_high", "best", "tied"]  # `against_best`


def texts(frames: Frames, options: Options) -> dict[str, str]:
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
    measures = [measure for block in blocks for measure in block]
    if unknown := [measure for measure in measures if measure not in MEASURES]:
        raise ConfigError(
            f"{where('tables', options['id'], 'blocks')} names {', '.join(unknown)}; "
            f"there are {', '.join(MEASURES)}"
        )
    table = rows(frames, options)
    notes = [n["text"] for n in options.get("notes", []) if set(table["method"]) & set(n["of"])]
    sessions = " or ".join(dict.fromkeys(table["sessions"]))
    tested = any(name.endswith("differences") for name in frames)
    caption = fill(options, table, orders=table["n"].max(), sessions=sessions, tested=tested)
    notes += [NO_DRIFT] if tested and "drift_scaled" in measures else []
    caption = " ".join([caption, *notes])
    if len(MEASURES) * table["dataset"].nunique() <= WIDE:
        blocks = [measures]
    titles = [[MEASURES[measure].title for measure in block] for block in blocks]
    shown = table[table["measure"].isin(measures)].to_dict("records")
    cells = [_cell(row, short=True) for row in shown]
    tag = options["id"]
    return {
        ".tex": grid.latex(cells, caption, tag, needs="", dense=True, blocks=titles),
        ".md": grid.markdown([_cell(row, short=False) for row in shown], caption),
        ".csv": table.astype(dict.fromkeys(MARKS, int)).to_csv(
            index=False, float_format="%.6f", lineterminator="\n"
        ),
    }


def rows(frames: Frames, options: Options) -> pd.DataFrame:
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


def _rows(frames: Frames, name: str, options: Options) -> list[dict[str, Any]]:
    """Return the rows of one frame."""
    runs = select(frames, name, options, ["sessions", *MEASURES], measured(options))
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
        if measure in OF_OLD and (of_set["sessions"] == 1).all():
            values = values.iloc[:, :0]  # nothing is old
        between = None
        if pairs is not None and measure in OF_ANSWERS:
            between = partial(pairs.between, dataset=dataset, measure=measure)
        unfit = _unfit(frames, of_set, options)
        compared = _compared(values, MEASURES[measure], list(group_of), options, between, unfit)
        for method in group_of:
            row: dict[Any, Any] = compared.loc[method].to_dict()
            names = {
                "group": group_of[method],
                "label": label(options, "methods", method),
                "short": label(options, "methods", method, short=True),
                "method": method,
            }
            where = {"backbone": common["backbone"], "dataset": dataset, "method": method}
            source = origin(options, name, measure, **where) if row["n"] else grid.NOWHERE
            found.append(common | keys | names | row | source._asdict())
    return found


def _unfit(frames: Frames, runs: pd.DataFrame, options: Options) -> set[str]:
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
    measure: Measure,
    methods: list[str],
    options: Options,
    between: Callable[[str, str], Difference] | None,
    unfit: set[str],
) -> pd.DataFrame:
    """Return the numbers, marks and text of each method's cell, in the order of ``methods``."""
    higher, ran = measure.higher_is_better, [m for m in methods if m in values]
    fit, rest = [m for m in ran if m not in unfit], [m for m in ran if m in unfit]
    parts = [against_best(values[fit], higher, between)] if fit else []
    parts += [against_best(values[rest], higher, None)[["n", "mean", "std"]]] if rest else []
    found = pd.concat(parts) if parts else pd.DataFrame()
    found = found.reindex(index=methods, columns=COMPARED)
    found["n"] = pd.to_numeric(found["n"]).fillna(0).astype(int)
    for mark in ("best", "tied"):
        found[mark] = found[mark].eq(True)
    among = found["mean"][found.index.isin(options.get("underline", ()))]
    found["underlined"] = found["mean"].eq(among.max() if higher else among.min())
    found["underlined"] &= found.index.isin(among.index)
    nothing = grid.ABSENT if ran else grid.NOTHING
    numbers = zip(found["mean"], found["std"], strict=True)
    found["printed"] = [_printed(*both, measure.scale) or nothing for both in numbers]
    return found


def _printed(mean: float, std: float, scale: float) -> str:
    """Return mean and deviation of repetitions; a single one has no deviation, and a method not run has neither."""
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
        origin=Origin(row["file"], row["row"], row["column"]),
    )


def _ordered(methods: list[str], groups: Mapping[str, list[str]]) -> dict[str, str]:
    """Return method -> group in the order of the rows."""
    placed = {m: group for group, members in groups.items() for m in members if m in methods}
    return placed | {m: REST for m in methods if m not in placed}


def terminal(path: str) -> str:
    """Return the table in a CSV file of :func:`texts` for a terminal: * the best mean, † not told apart from it."""
    table = read_csv(path)
    marks = table["best"].map({0: "", 1: "*"}) + table["tied"].map({0: "", 1: grid.DAGGER})
    table["shown"] = marks + table["printed"]
    parts = []
    for measure, rows_of in table.groupby("measure", sort=False):
        wide = rows_of.pivot(index="label", columns="dataset_label", values="shown")
        wide = wide.loc[rows_of["label"].unique(), rows_of["dataset_label"].unique()]
        text = wide.rename_axis(index=None, columns=None).to_string(line_width=100)
        parts.append(f"{MEASURES[str(measure)].plain}\n{text}")
    return "\n\n".join([*parts, "* best mean; † not told apart from it, as the .md beside it says"])


if __name__ == "__main__":
    print(terminal(sys.argv[1]))
