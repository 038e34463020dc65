"""Read summaries and refuse incomplete ones: no figure or table shows less than it claims to."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from figures.grid import Origin
from sparcl.base.errors import ConfigError, InputError
from study.places import where
from study.report import published
from study.report.differences import Differences
from study.report.numerals import one_order
from study.report.reading import read_csv

Frames = Mapping[str, pd.DataFrame]  # summaries by name
Options = Mapping[str, Any]  # what a figure or table is told: its block, and labels

PUBLISHED = "published"  # quoted numbers, checked by their own reader
PAIR = ["order", "seed"]  # one repetition of a run
OF_OLD = ("forgetting", "drift_scaled")  # undefined while no class is old
# What a caption's field {emphasis} says of the marks of `study.report.differences.against_best`.
TESTED = (
    "Bold: the best mean. †: not told apart from it at the 5% level over {} (docs/claims.md), corrected by Holm over "
    "the methods and data sets of the suite."
)
BOTH, ONE = "class orders and test samples together", "the test samples of the one class order"
UNTESTED = (
    "Bold: the best mean. No †: methods that train the network and closed forms read the test samples from different "
    "files, so that their answers make no pairs."
)
NO_DRIFT = "Drift is no mean over answers and has no †."


def read(
    paths: Sequence[str | Path], names: Sequence[str] | None = None
) -> dict[str, pd.DataFrame]:
    """Read CSV files into data frames, keyed by the last part of ``names`` or of the paths.

    Where two names share that part (``mild/runs``, ``hard/runs``), full names are the keys.

    Raises
    ------
    InputError
        A file is missing or empty.
    """
    names = [Path(path).stem for path in paths] if names is None else names
    short = [name.rpartition("/")[2] for name in names]
    names = short if len(set(short)) == len(short) else names
    frames = {}
    for name, path in zip(names, paths, strict=True):
        try:
            frames[name] = published.read(path) if name == PUBLISHED else read_csv(path)
        except (FileNotFoundError, pd.errors.EmptyDataError) as error:
            raise InputError(
                f"{path}: no summary to read ({error}); run `snakemake summary` first"
            ) from error
    return frames


def origin(options: Options, name: str, column: str, **keys: object) -> Origin:
    """Return where a cell comes from: its file, the keys that all its rows share, and its column.

    Parameters
    ----------
    options : mapping
        ``files``: frame -> path, which `figures.render` fills in.
    name : str
        The frame; it stands for itself where it has no path.
    """
    row = "; ".join(f"{key}={value}" for key, value in keys.items())
    return Origin(str(options.get("files", {}).get(name, name)), row, column)


def differences(frames: Frames, options: Options, name: str = "differences") -> Differences:
    """Return the differences between the methods of a suite.

    Raises
    ------
    InputError
        The frame was not given.
    """
    return Differences(_given(frames, name), options.get("backbone"))


def of_pair(dataset: str, measure: str, method: str, against: str) -> dict[str, str]:
    """Return the keys of the row of ``differences`` that has two methods, in either order."""
    first, second = sorted((method, against))
    return {"dataset": dataset, "measure": measure, "method": first, "against": second}


def _given(frames: Frames, name: str) -> pd.DataFrame:
    if name not in frames:
        raise InputError(
            f"summary '{name}' was not given (got {', '.join(frames) or 'none'}); list it under the block's `frames`"
        )
    return frames[name]


def fill(options: Options, rows: pd.DataFrame, **values: object) -> str:
    """Return a table's caption with its fields filled in.

    Parameters
    ----------
    options : mapping
        ``caption``; ``suite`` and ``sessions``, unless ``values`` have them.
    rows : DataFrame
        What the table shows: its ``backbone`` is named, and its pairs of class order and seed are
        counted for ``{orders}``, unless ``values`` have a count.
    values
        Further fields; with ``tested``, whether the suite has differences, ``{emphasis}`` explains the marks.

    Raises
    ------
    ConfigError
        The caption has a field that is not known.
    """
    known: dict[str, object] = {
        key: options[key] for key in ("suite", "sessions") if key in options
    }
    if "backbone" in rows:
        known["backbone"] = label(options, "backbones", rows["backbone"].iloc[0])
    if set(PAIR) <= set(rows):
        known["orders"] = len(rows[PAIR].drop_duplicates())
    known |= values
    if "tested" in known:
        sources = ONE if known["orders"] == 1 else BOTH
        known["emphasis"] = TESTED.format(sources) if known.pop("tested") else UNTESTED
    try:
        return one_order(options["caption"].format(**known))
    except KeyError as error:
        raise ConfigError(
            f"{where('tables', options['id'], 'caption')} has the field {error}; there are "
            f"{', '.join(known)}"
        ) from error


def select(
    frames: Frames,
    name: str,
    options: Options,
    values: Sequence[str],
    methods: Sequence[str] | None = None,
    gaps: Sequence[str] = (),
) -> pd.DataFrame:
    """Return the rows that a figure or table shows, of one suite and backbone; none may be missing.

    Parameters
    ----------
    frames : mapping of str to DataFrame
    name : str
        Which frame (``runs``, ``sessions``, ``spectrum``).
    options : mapping
        ``datasets`` names the data sets that must be there; ``backbone`` picks one of several.
    values : sequence of str
        Columns that are shown; see `require`.
    methods : sequence of str, optional
        Methods that must be there for every data set, with the same (order, seed) pairs.
    gaps : sequence of str
        Columns that are shown and may have empty cells.

    Returns
    -------
    DataFrame
        The rows of these data sets and methods, index reset.

    Raises
    ------
    InputError
        A frame, column, data set, method, (order, seed) pair or cell is missing, a row is there twice,
        or the frame mixes suites or backbones.
    """
    frame = _given(frames, name)
    keys = ["suite", "backbone", "dataset", *(() if methods is None else ("method", *PAIR))]
    absent = [column for column in (*keys, *values, *gaps) if column not in frame.columns]
    if absent:
        raise InputError(
            f"{name}.csv has no column {', '.join(absent)}; it has {', '.join(frame.columns)}"
        )
    if "backbone" in options:
        frame = frame[frame["backbone"] == options["backbone"]]
    frame = frame[frame["dataset"].isin(list(options["datasets"]))]
    if methods is not None:
        frame = frame[frame["method"].isin(list(methods))]
    for key in ("suite", "backbone"):
        if frame[key].nunique() > 1:
            raise InputError(
                f"{name}.csv mixes several values of {key} ({', '.join(sorted(frame[key].unique()))}): "
                "their averages would mean nothing; set `backbone` in the block of the figure or table "
                f"({where('figures')}, {where('tables')}), or split the file"
            )
    for dataset in options["datasets"]:
        rows = frame[frame["dataset"] == dataset]
        if rows.empty:
            raise InputError(
                f"{name}.csv has no row of data set {dataset}; run its jobs, or take it out of the suite"
            )
        if methods is not None:
            _check_pairs(name, dataset, rows, methods)
    require(frame, name, values)
    return frame.reset_index(drop=True)


def _check_pairs(name: str, dataset: str, rows: pd.DataFrame, methods: Sequence[str]) -> None:
    """Refuse a method without the pairs of the others: their differences would not be paired."""
    per_pair = [*PAIR, *(key for key in ("session", "arrival") if key in rows.columns)]
    require(rows, name, per_pair)
    counts = rows.groupby([*per_pair, "method"]).size().unstack().reindex(columns=list(methods))
    for method, count in counts.items():
        if (count > 1).any():
            raise InputError(
                f"{name}.csv has a row of data set {dataset}, method {method} twice; make the summary again"
            )
        if missing := [*count.index[count.isna()]]:
            where = ", ".join(f"{k} {value}" for k, value in zip(per_pair, missing[0], strict=True))
            raise InputError(
                f"{name}.csv lacks {len(missing)} row(s) of data set {dataset}, method {method}, first {where}; "
                "run that job, or take the method out of the suite"
            )


def require(frame: pd.DataFrame, name: str, values: Sequence[str]) -> None:
    """Refuse an empty cell in a column that is shown; those `OF_OLD` start with the second session.

    Raises
    ------
    InputError
        A cell is empty; the message names the first by its column and keys.
    """
    alone = frame.get("session", frame.get("sessions", pd.Series(2, frame.index))) == 1
    for value in values:
        empty = frame[(frame[value].isna() | (frame[value] == "")) & ~(alone & (value in OF_OLD))]
        if not empty.empty:
            keys = ("dataset", "method", "order", "session", "mode")
            where = ", ".join(f"{key} {empty.iloc[0][key]}" for key in keys if key in frame)
            raise InputError(
                f"{name}.csv: {value} is empty for {where}; the run that should have made it is incomplete"
            )


def label(options: Options, kind: str, identifier: str, short: bool = False) -> str:
    """Return the name under which a method, data set or backbone is shown.

    Parameters
    ----------
    kind : {"methods", "datasets", "backbones"}
    short : bool
        The ``short`` name, for labels inside figures.

    Raises
    ------
    InputError
        The settings give no label for it.
    """
    try:
        name: str = options[kind][identifier]["short" if short else "label"]
    except KeyError as error:
        raise InputError(
            f"{where(kind, identifier)}: it has no label; add `label` to this block"
        ) from error
    return name


def labels(options: Options, kind: str, ids: Iterable[str], short: bool = False) -> dict[str, str]:
    """Return the `label` of each of some methods, data sets or backbones, by id."""
    return {identifier: label(options, kind, identifier, short) for identifier in ids}


def valued(options: Options, method: str, value: float) -> str:
    """Return a method's short name after a value: what stands at the end of a curve or bar."""
    number = f"{value:.1f}".replace("-", "−")
    return f"{number} {label(options, 'methods', method, short=True)}"


def measured(options: Options) -> list[str]:
    """Return the methods of the suite but those ``absent``, which the backbone has no features for."""
    return [method for method in options["methods"] if method not in options.get("absent", ())]


def grouped(options: Options) -> dict[str, list[str]]:
    """Return ``groups`` (title -> methods) as far as the suite ran their methods."""
    ran = measured(options)
    groups = {title: [m for m in ids if m in ran] for title, ids in options["groups"].items()}
    return {title: ids for title, ids in groups.items() if ids}


def first(options: Options, entry: str) -> str | None:
    """Return the first method of an entry ``a | b`` that the suite ran, or None."""
    ran = measured(options)
    return next((method for method in entry.split(" | ") if method in ran), None)


def shown(options: Options) -> list[str]:
    """Return the methods that a figure draws: the `first` of each entry of ``show``, or all.

    Raises
    ------
    InputError
        The suite has none of them.
    """
    entries = options.get("show", measured(options))
    methods = [method for entry in entries if (method := first(options, entry)) is not None]
    if not methods:
        raise InputError(
            f"none of the methods to show ({', '.join(entries)}) was run in the suite "
            f"({', '.join(measured(options))}); correct {where('figures', options.get('id', '<id>'), 'show')}"
        )
    return methods
