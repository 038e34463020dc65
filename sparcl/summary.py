"""Run records in, two flat tables out: one row a run, one row a run and session."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparcl import metrics
from sparcl.files import read_json, write_text

if TYPE_CHECKING:
    import pandas as pd

KEYS = ["suite", "dataset", "backbone", "method", "order", "seed"]
SHA = ["weights_sha256", "train_sha256", "test_sha256", "order_sha256"]
# Fixed digits: accuracies are exact counts, everything else is a float of some condition number.
PERCENT = {"A_bar", "A_last", "A_t", "A_t_sessions", "A_t_classes", "forgetting"}
PERCENT_FORMAT, FLOAT_FORMAT = "{:.4f}", "{:.6g}"


def summarise(records: Iterable[str | Path]) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """Return (runs, sessions) of run records, sorted by their keys.

    runs: the keys, ``sessions``, A_bar, A_last and forgetting in percent, drift and drift_scaled
    (mean over sessions 2..T), ridge (of the last session) and every other hyper-parameter, hashes.
    sessions: the keys, session (from 1), the three averages of A_t, forgetting and drift so far,
    and what the learner reported.
    """
    import pandas as pd

    runs: list[dict[str, Any]] = []
    sessions: list[dict[str, Any]] = []
    for path in records:
        record = read_json(path)
        rows = _session_rows(record)
        sessions += rows
        runs.append(_run_row(record, rows))
    hyper = sorted({key for row in runs for key in row["hyper"]} - {"ridge", "tau", "seed"})
    flat = [row | {key: row["hyper"].get(key) for key in ["ridge", "tau", *hyper]} for row in runs]
    numbers = ["sessions", "A_bar", "A_last", "forgetting", "drift", "drift_scaled"]
    run_columns = [*KEYS, *numbers, "learner", "ridge", "tau", *hyper, *SHA]
    order = ["session", "classes_seen", "A_t", "A_t_sessions", "A_t_classes", "forgetting"]
    order += ["drift", "drift_scaled", "ridge", "k", "r", "energy", "energy_before"]
    session_columns = [*KEYS, *order]
    runs_frame = pd.DataFrame(flat, columns=run_columns, dtype=object).sort_values(KEYS)
    sessions_frame = pd.DataFrame(sessions, columns=session_columns, dtype=object)
    return runs_frame, sessions_frame.sort_values([*KEYS, "session"])


def spectra(traces: Iterable[str | Path]) -> "pd.DataFrame":
    """Return the rows of spectrum traces, one a session and mode, with the names of their runs."""
    import pandas as pd

    keys = ["suite", "dataset", "backbone", "order", "session", "mode"]
    values = ["eigenvalue", "old_eigenvalue", "overlap", "shrink_exact", "shrink_bound"]
    rows = [trace["names"] | row for trace in map(read_json, traces) for row in trace["rows"]]
    return pd.DataFrame(rows, columns=[*keys, *values], dtype=object).sort_values(keys)


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
    counts = [np.array(record[key]) for key in ("correct", "test_counts", "session_of_class")]
    accuracy = {by: metrics.session_accuracy(*counts, by=by) for by in ("sessions", "classes")}
    samples, forgetting = metrics.session_accuracy(*counts), metrics.forgetting(*counts)
    return [
        {key: record[key] for key in KEYS}
        | {
            "session": t + 1,
            "classes_seen": int(np.count_nonzero(counts[2] <= t)),
            "A_t": samples[t],
            "A_t_sessions": accuracy["sessions"][t],
            "A_t_classes": accuracy["classes"][t],
            "forgetting": forgetting[t],
            "drift": record["drift"][t],
            "drift_scaled": record["drift_scaled"][t],
        }
        | {key: report.get(key) for key in ("ridge", "k", "r", "energy", "energy_before")}
        for t, report in enumerate(record["reports"])
    ]


def _run_row(record: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def mean(column: str) -> float | None:
        values = [row[column] for row in rows[1:] if row[column] is not None]
        return float(np.mean(values)) if values else None

    ridge = rows[-1]["ridge"]
    return {
        **{key: record[key] for key in (*KEYS, *SHA, "learner")},
        "sessions": len(rows),
        "A_bar": float(np.mean([row["A_t"] for row in rows])),
        "A_last": rows[-1]["A_t"],
        "forgetting": rows[-1]["forgetting"],
        "drift": mean("drift"),
        "drift_scaled": mean("drift_scaled"),
        "hyper": record["hyper"] | ({} if ridge is None else {"ridge": ridge}),
    }
