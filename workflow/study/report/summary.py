"""Run records and traces in, flat tables out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.base.files import write_text
from study.loop import metrics
from study.sealed import RUN, TRACE, read_sealed

if TYPE_CHECKING:
    import pandas as pd

KEYS = ["suite", "dataset", "backbone", "method", "order", "seed"]
# The columns that a summary starts with, as far as it has them: they tell its rows apart.
ROW_KEYS = [*KEYS, "against", "measure", "stress", "rate", "session", "arrival", "mode"]
SHA = ["weights_sha256", "train_sha256", "test_sha256", "order_sha256"]
# Accuracies come from exact counts and get fixed digits; other numbers get six significant ones.
PERCENT = {"A_bar", "A_last", "A_t", "A_t_sessions", "A_t_classes", "A_arrival"}
PERCENT |= {"forgetting", "forgetting_before"}
PERCENT |= {"A_old", "A_first", "A_auc"}
PERCENT |= {"difference", "low", "high", "class_low", "class_high"}
# Columns that depend on R and C alone, with one value for all methods; then those of the learner.
TRACED = ["leading_mass", "overlap", "overlap_share", "core_rank", "residual_rank", "core_angle"]
TRACED += ["core_shrink_exact", "core_shrink_bound", "kappa", "condition", "residual_condition"]
TRACED += ["prototype_cosine", "joint_residual_change", "joint_drift_core", "joint_drift_residual"]
MEASURED = ["expanded_prototype_cosine", "drift_core", "drift_residual", "residual_change"]
MEASURED += ["bound_ratio"]
REPORTED = ["k", "r", "energy", "energy_before"]
PERCENT_FORMAT, FLOAT_FORMAT = "{:.4f}", "{:.6g}"
Counts = tuple[NDArray, NDArray, NDArray]

SHARED = {"ridge", "unit"}

# Settings of rules, the same for all methods (params.yaml): no column in a table of runs.
OF_RULES = ("ridges", "grid", "validation_share", "relative")  # "grid": ridges of older records
# Settings that are newer than recorded tables: a column only where some run has another value.
LATER = {"columns": "plain"}
# Settings whose columns keep the name that they have in recorded tables.
COLUMNS = {"row_weights": "trust"}


def summarise(
    records: Iterable[str | Path], traces: Iterable[str | Path] = ()
) -> dict[str, "pd.DataFrame"]:
    """Return the summaries of run records by name, sorted by their keys.

    Parameters
    ----------
    records : iterable of path
        Run records.
    traces : iterable of path
        Spectrum traces of some of the same streams.

    Returns
    -------
    dict
        Each summary starts with the keys of its rows; accuracies and forgetting are in percent.

        ``runs``: ``sessions``, A_bar, A_last, forgetting, ``drift`` and ``drift_scaled`` (means
        over sessions 2 to T), the ridge of the last session, ``ridge_share``, the same in mean squared
        norms of a mapped row of the first session where that is its unit, every other hyper-parameter,
        and the hashes of what was run on.  ``forgetting_before`` is forgetting by the definition that
        leaves out the last session.

        ``sessions``: per session (from 1) the classes seen, A_t averaged over samples, sessions
        and classes, forgetting and drift, and what the learner reported.

        ``arrivals``: per session of arrival the accuracy on its classes when they arrive and after
        the last session.

        ``diagnostics``: per session what the trace of its stream measured (empty without a trace;
        equal for every method, since it depends on R and C only) and what the run did.

    Raises
    ------
    InputError
        A file is not a record of this project, or is damaged.
    """
    runs: list[dict[str, Any]] = []
    sessions: list[dict[str, Any]] = []
    arrivals: list[dict[str, Any]] = []
    diagnosed: list[dict[str, Any]] = []
    streams: dict[Any, list[dict[str, Any]]] = {}
    for path in traces:
        with opened(path, TRACE) as trace:
            streams[_stream(trace["names"])] = trace["sessions"]
    for path in records:
        with opened(path) as record:
            rows = _session_rows(record)
            sessions += rows
            runs.append(_run_row(record, rows))
            arrivals += arrived({key: record[key] for key in KEYS}, counts(record))
            diagnosed += _diagnostic_rows(record, streams.get(_stream(record), []))
    given = {
        key
        for row in runs
        for key, value in row["hyper"].items()
        if (key, value) not in LATER.items()
    }
    hyper = sorted(given - {"ridge", "tau", "seed", *OF_RULES})
    flat = [row | {key: row["hyper"].get(key) for key in ["ridge", "tau", *hyper]} for row in runs]
    moved = ["forgetting", "forgetting_before", "drift", "drift_scaled"]
    numbers, measures = ["A_bar", "A_last", *moved], ["A_t", "A_t_sessions", "A_t_classes", *moved]
    return {
        "runs": frame(
            flat,
            [*KEYS, "sessions", *numbers, "learner", "ridge", "ridge_share", "tau", *hyper, *SHA],
        ),
        "sessions": frame(
            sessions,
            [*KEYS, "session", "classes_seen", *measures, "ridge", "ridge_share", *REPORTED],
        ),
        "arrivals": frame(arrivals, [*KEYS, "arrival", "A_arrival", "A_last"]),
        "diagnostics": frame(diagnosed, [*KEYS, "session", *TRACED, *MEASURED, *REPORTED]),
    }


def frame(rows: Sequence[dict[str, Any]], columns: list[str]) -> "pd.DataFrame":
    """Return rows as a table, sorted by its keys."""
    import pandas as pd

    table = pd.DataFrame(rows, columns=columns, dtype=object)
    return table.sort_values([key for key in columns if key in ROW_KEYS], kind="stable")


def spectra(traces: Iterable[str | Path]) -> dict[str, "pd.DataFrame"]:
    """Return what traces say of their streams, by name.

    ``spectrum``: the modes, one row per session and mode. ``recommendations``: the advice and the numbers it rests on.
    """
    modes: list[dict[str, Any]] = []
    advice: list[dict[str, Any]] = []
    for path in traces:
        with opened(path, TRACE) as trace:
            modes += [trace["names"] | row for row in trace["modes"]]
            advice.append(trace["names"] | trace["recommended"])
    stream = ["suite", "dataset", "backbone", "order"]
    values = ["eigenvalue", "old_eigenvalue", "inverse_gain", "overlap", "shrink_exact"]
    return {
        "spectrum": frame(modes, [*stream, "session", "mode", *values, "shrink_bound"]),
        "recommendations": frame(advice, [*stream, "advice", "overlap", "drift", "cosine"]),
    }


@contextmanager
def opened(path: str | Path, place: str = RUN) -> Iterator[dict[str, Any]]:
    """Give the content of a sealed file, and name the file where the content is not that of a record."""
    try:
        yield read_sealed(path, place)
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: not a record of this project, or damaged ({type(error).__name__}: {error}). "
            "Delete the file and run again; it will be made anew."
        ) from error


def headline(runs: "pd.DataFrame") -> dict[str, dict[str, float]]:
    """Return A_last of each method, its mean over data sets, backbones and class orders, under the name of the measure.

    `dvc metrics show` prints one column per method, and `dvc metrics diff` one row. In percent, with two decimals.
    """
    means = runs.astype({"A_last": float}).groupby("method")["A_last"].mean()
    return {"last accuracy": {str(method): round(float(mean), 2) for method, mean in means.items()}}


def counts(record: Mapping[str, Any]) -> Counts:
    """Return a record's counts as arrays, the arguments of `study.loop.metrics`.

    Returns
    -------
    correct : ndarray of int, shape (T, c)
        Test samples of each class answered correctly after each of T sessions.
    test_counts, session_of_class : ndarray of int, shape (c,)
        Test samples of each class, and the session it arrives in, from 0.
    """
    keys = ("correct", "test_counts", "session_of_class")
    correct, test_counts, session_of_class = (np.array(record[key]) for key in keys)
    return correct, test_counts, session_of_class


def answers(record: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return which test samples a run answers correctly after each session.

    Returns
    -------
    ndarray of bool, shape (T, n)
        By class, and in file order inside a class, so that runs over other class orders line up; False for classes not
        yet seen.

    Raises
    ------
    InputError
        The answers are not those that the record counts.
    """
    correct, test_counts, session_of_class = counts(record)
    hits = metrics.unpack_answers(record["answers"], test_counts, session_of_class, len(correct))
    found = np.zeros((len(hits), int(test_counts.sum())), dtype=bool)
    for t, now in enumerate(hits):
        found[t, : len(now)] = now
    starts = np.cumsum(test_counts) - test_counts
    if not np.array_equal(np.add.reduceat(found, starts, axis=1, dtype=int), correct):
        raise InputError(
            "the answers of a record are not those that it counts. Delete it and run again."
        )
    return found[:, np.argsort(np.repeat(record["classes"], test_counts), kind="stable")]


def write_csv(frame: "pd.DataFrame", path: str | Path) -> None:
    """Write a table with fixed digits, empty cells for missing values, and line feeds."""
    text = frame.copy()
    for column in text.columns:
        form = PERCENT_FORMAT if column in PERCENT else FLOAT_FORMAT
        text[column] = [_cell(value, form) for value in text[column]]
    write_text(path, text.to_csv(index=False, lineterminator="\n"))


def _cell(value: Any, form: str) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, (float, np.floating)):
        return form.format(value)
    return str(value)


def _session_rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    counted = counts(record)
    measured = {
        "A_t": metrics.session_accuracy(*counted),
        "A_t_sessions": metrics.session_accuracy(*counted, by="sessions"),
        "A_t_classes": metrics.session_accuracy(*counted, by="classes"),
        "forgetting": metrics.forgetting(*counted),
        "forgetting_before": metrics.forgetting(*counted, with_current=False),
        "drift": record["drift"],
        "drift_scaled": record["drift_scaled"],
    }
    return [
        {key: record[key] for key in KEYS}
        | {"session": t + 1, "classes_seen": int(np.count_nonzero(counted[2] <= t))}
        | {name: values[t] for name, values in measured.items()}
        | {key: report.get(key) for key in ("ridge", *REPORTED)}
        | {"ridge_share": report["ridge"] / report["unit"] if report.keys() >= SHARED else None}
        for t, report in enumerate(record["reports"])
    ]


def _stream(names: dict[str, Any]) -> tuple:
    return tuple(names[key] for key in ("suite", "dataset", "backbone", "order"))


def arrived(names: Mapping[str, Any], counted: Counts) -> list[dict[str, Any]]:
    """Return a row for each session of arrival: the accuracy on its classes then and after the last session."""
    a = metrics.by_session(*counted)
    return [
        {**names, "arrival": s + 1, "A_arrival": a[s, s], "A_last": a[-1, s]} for s in range(len(a))
    ]


def later_mean(values: Sequence[float | None]) -> float | None:
    """Return the mean over sessions 2 to T of what was measured; None where nothing was."""
    found = [value for value in values[1:] if value is not None]
    return float(np.mean(found)) if found else None


def _diagnostic_rows(
    record: dict[str, Any], traced: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    rows = []
    for t, (report, measured) in enumerate(
        zip(record["reports"], record["diagnostics"], strict=True)
    ):
        row = {key: record[key] for key in KEYS} | {"session": t + 1}
        row |= dict(traced[t]) if traced else {}
        rows.append(row | measured | {key: report.get(key) for key in REPORTED})
    return rows


def _run_row(record: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    last, ridge = rows[-1], rows[-1]["ridge"]
    return {
        **{key: record[key] for key in (*KEYS, *SHA, "learner")},
        "sessions": len(rows),
        "A_bar": float(np.mean([row["A_t"] for row in rows])),
        "A_last": last["A_t"],
        **{key: last[key] for key in ("forgetting", "forgetting_before", "ridge_share")},
        **{key: later_mean(record[key]) for key in ("drift", "drift_scaled")},
        "hyper": {COLUMNS.get(key, key): value for key, value in record["hyper"].items()}
        | ({} if ridge is None else {"ridge": ridge}),
    }
