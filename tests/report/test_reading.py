"""An id stays the text that it is from a run's record through the summary to tables and figures."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.streams import synthetic_stream

import figures
from figures import frames
from sparcl.base.errors import InputError
from study.loop import experiment
from study.report import comparison, summary
from study.report.reading import read_csv
from study.sealed import write_sealed

SUITE, BACKBONE = "007", "1e2"
# what a reader of CSV files takes for numbers, infinity, truth or nothing
DATASETS, METHODS = ["2019", "1e3", "inf", "nan"], ["ncm", "null", "true"]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The summary of a stream that every method runs on every data set."""
    blocks = synthetic_stream(seed=6, sessions=2, classes=3, samples=16)
    Phi, y = (np.concatenate([b[i] for b in blocks]) for i in (0, 1))
    split = experiment.Split(Phi, y)
    record = experiment.run(split, split, [np.arange(3), np.arange(3, 6)], "ncm", {})
    record |= {"suite": SUITE, "backbone": BACKBONE, "learner": "ncm", "order": 1, "seed": 0}
    record |= dict.fromkeys(summary.SHA, "0" * 64)
    paths = []
    for dataset in DATASETS:
        for method in METHODS:
            paths.append(tmp_path / f"{SUITE}/{dataset}/{BACKBONE}/{method}/1-0.json")
            write_sealed(paths[-1], record | {"dataset": dataset, "method": method})
    for name, frame in summary.summarise(paths).items():
        summary.write_csv(frame, tmp_path / f"{name}.csv")
    summary.write_csv(comparison.compare(paths, steps=True), tmp_path / "differences.csv")
    return tmp_path / "runs.csv"


def test_ids_reach_tables_and_figures(runs: Path) -> None:
    named = {key: {"label": key, "short": key} for key in (*DATASETS, *METHODS, BACKBONE)}
    options: dict[str, Any] = {
        "datasets": {key: named[key] for key in DATASETS},
        "methods": {key: named[key] for key in METHODS},
        "backbones": {BACKBONE: named[BACKBONE]},
        "suite": SUITE,
        "sessions": 2,
        "id": "main",
        "blocks": [["A_bar", "A_last"]],
        "caption": "Suite {suite}, {backbone}",
    }
    outputs = [runs.with_name(f"main{suffix}") for suffix in (".md", ".tex", ".csv")]
    figures.render("table", "main", [runs], options, outputs)
    table = read_csv(outputs[2])
    for column, ids in (("dataset", DATASETS), ("method", METHODS), ("dataset_label", DATASETS)):
        assert list(table[column].unique()) == ids
    assert set(table["suite"]) == {SUITE} and set(table["backbone"]) == {BACKBONE}
    markdown = outputs[0].read_text(encoding="utf-8")
    assert all(key in markdown for key in (*DATASETS, *METHODS, f"Suite {SUITE}, {BACKBONE}"))
    drawn = [runs.with_name(f"sessions{suffix}") for suffix in (".pdf", ".png")]
    of_sessions = [runs.with_name(f"{name}.csv") for name in ("sessions", "differences")]
    figures.render("figure", "sessions", of_sessions, options, drawn)
    assert drawn[0].read_bytes().startswith(b"%PDF")


def test_names_are_text_and_numbers_are_numbers(runs: Path) -> None:
    frame = frames.read([runs])["runs"]
    assert list(frame["dataset"].unique()) == sorted(DATASETS)
    assert set(frame["order_sha256"]) == {"0" * 64}
    assert frame["A_bar"].dtype == float and frame["order"].dtype == int


def test_an_empty_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    path.write_text("id,judge\n,above 1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"claims\.csv: id is empty"):
        frames.require(read_csv(path), "claims", ["id"])
