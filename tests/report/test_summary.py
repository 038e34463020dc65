"""Summaries of run records and traces."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reference.streams import synthetic_stream

from sparcl.base.errors import InputError
from sparcl.protocol import diagnostics
from study.loop import experiment
from study.report import summary
from study.sealed import write_sealed

METHODS = {"acil": {}, "sparcl": {"tau": 0.7}, "ncm": {}}


@pytest.fixture
def files(tmp_path: Path) -> tuple[list[Path], list[Path]]:
    """Records of three methods over two orders, of which the first is traced."""
    records, traces = [], []
    blocks = synthetic_stream(seed=6, sessions=3, classes=3, samples=16)
    Phi, y = (np.concatenate([b[i] for b in blocks]) for i in (0, 1))
    even = np.arange(len(y)) % 2 == 0
    train, test = experiment.Split(Phi[even], y[even]), experiment.Split(Phi[~even], y[~even])
    groups = [np.array(sorted(set(labels.tolist()))) for _, labels in blocks]
    keys = {"suite": "toy", "dataset": "one", "backbone": "net"}
    for order, sessions in ((7, groups), (3, groups[::-1])):
        for method, hyper in METHODS.items():
            record = experiment.run(train, test, sessions, method, hyper) | keys
            record |= {"method": method, "learner": method, "order": order, "seed": 0}
            record |= dict.fromkeys(summary.SHA, "0")
            records.append(tmp_path / f"toy/one/net/{method}/{order}-0.json")
            write_sealed(records[-1], record)
    parts = [train.rows(part) for part in groups]
    traced = diagnostics.trace([(p.features, p.labels) for p in parts], 1.0, 0.8, 5)
    advice = {"advice": "both", "overlap": 0.5, "drift": 0.1, "cosine": 0.6}
    traces.append(tmp_path / "toy/one/net/7.json")
    write_sealed(traces[0], traced | {"names": keys | {"order": 7}, "recommended": advice})
    return records, traces


def test_diagnostics_join_the_stream_and_the_run(files: tuple) -> None:
    records, traces = files
    table = summary.summarise(records, traces)["diagnostics"]
    assert len(table) == 2 * 3 * 3
    stream = json.loads(traces[0].read_text())["sessions"]
    for t in (1, 2, 3):
        rows = table[(table["order"] == 7) & (table["session"] == t)]
        # R and C are the same for every method, and so is what depends on nothing else
        for column in ("kappa", "condition", "overlap", "residual_condition"):
            expected = stream[t - 1].get(column, np.nan)
            got = rows[column].astype(float).to_numpy()
            np.testing.assert_array_equal(got, np.full(3, expected))
    untraced = table[table["order"] == 3]
    assert untraced[summary.TRACED].isna().all(axis=None)
    record = json.loads(records[1].read_text())
    mine = untraced[untraced["method"] == "sparcl"]
    assert record["method"] == "sparcl"
    other = json.loads(records[4].read_text())
    for column in ("drift_residual", "bound_ratio"):
        expected = [row.get(column) for row in other["diagnostics"]]
        assert [None if pd.isna(v) else v for v in mine[column]] == expected
        assert expected[0] is None and expected[1] > 0
    assert list(mine["k"]) == [report["k"] for report in other["reports"]]
    assert table[table["method"] == "ncm"]["drift_core"].isna().all()


def test_arrivals_are_accuracies_by_session_of_arrival(files: tuple) -> None:
    records, _ = files
    table = summary.summarise(records)["arrivals"]
    record = json.loads(records[0].read_text())
    mine = table[(table["method"] == "acil") & (table["order"] == 7)]
    session, correct = np.array(record["session_of_class"]), np.array(record["correct"])
    counts = np.array(record["test_counts"])
    for s in range(3):
        of_session = session == s
        for column, t in (("A_arrival", s), ("A_last", 2)):
            expected = 100 * correct[t, of_session].sum() / counts[of_session].sum()
            assert mine[column].iloc[s] == pytest.approx(expected)


def test_answers_are_those_of_the_counts(files: tuple) -> None:
    for path in files[0]:
        record = json.loads(path.read_text())
        hits = summary.answers(record)
        classes = np.argsort(np.argsort(record["classes"]))
        starts = np.cumsum(np.bincount(classes, record["test_counts"]).astype(int))
        by_class = np.add.reduceat(hits, np.r_[0, starts[:-1]], axis=1, dtype=int)
        assert np.array_equal(by_class[:, classes], record["correct"])
        assert len(record["answers"]) < 20_000
    record["correct"][-1][0] -= 1
    with pytest.raises(InputError, match="not those that it counts"):
        summary.answers(record)


def test_a_newer_setting_has_a_column_where_a_run_has_another_value_than_before(
    files: tuple,
) -> None:
    """Recorded tables of suites without it keep their columns."""
    assert "columns" not in summary.summarise(files[0])["runs"]
    for path in files[0][::3]:
        record = json.loads(path.read_text())
        record["hyper"]["columns"] = "unit"
        write_sealed(path, {key: record[key] for key in record if key != "seal"})
    table = summary.summarise(files[0])["runs"].set_index("method")["columns"]
    assert {*table["acil"]} == {"unit"} and {*table["sparcl"]} == {"plain"}
    assert table["ncm"].isna().all()


def test_spectrum_and_advice_carry_the_names_of_their_stream(files: tuple) -> None:
    modes, told = summary.spectra(files[1]).values()
    assert set(modes["order"]) == {7} and set(modes["session"]) == {1, 2, 3}
    later = modes[modes["session"] == 2].astype({"inverse_gain": float, "old_eigenvalue": float})
    np.testing.assert_allclose(later["inverse_gain"], 1 / (later["old_eigenvalue"] + 1.0))
    advice = told.iloc[0]
    assert (advice["dataset"], advice["advice"], advice["cosine"]) == ("one", "both", 0.6)


def test_a_record_or_a_trace_that_was_edited_or_moved_is_refused(files: tuple) -> None:
    records, traces = files
    moved = records[0].rename(records[0].with_name("8-0.json"))
    with pytest.raises(InputError, match=r"belongs to \.\.\./toy/one/net/acil/7-0\.json"):
        summary.summarise([moved])
    for path, key in ((records[1], "correct"), (traces[0], "sessions")):
        path.write_text(json.dumps(json.loads(path.read_text()) | {key: []}))
    with pytest.raises(InputError, match="does not fit its seal"):
        summary.summarise([records[1]])
    for read in (summary.spectra, lambda t: summary.summarise([], t)):
        with pytest.raises(InputError, match="does not fit its seal"):
            read(traces)
