"""One method on every stream of a suite: records, and the summaries made of them."""

from pathlib import Path

import numpy as np
import pytest

from sparcl.base.errors import InputError
from study.loop import experiment
from study.loop.experiment import Split
from study.report import stressed as report
from study.sealed import write_sealed
from study.streams import run as stressed

SESSIONS = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
SETTINGS = {"unannotated": {"reserve": 0.4}, "si-blurry": {"disjoint": 50, "points": 8}}
STREAMS = [{"unannotated": [0, 1.0]}, {"few": [5], "symmetric": [0.4]}]
CORE = {"core": {"spectral": {"tau": 0.6}}, "ridge": 0.1}


def split(n: int, seed: int) -> Split:
    labels = np.repeat(np.arange(12), n)
    means = np.random.default_rng(0).standard_normal((12, 10))
    noise = np.random.default_rng(seed).standard_normal((len(labels), 10))
    return Split(means[labels] + 0.6 * noise, labels)


TRAIN, TEST = split(20, 1), split(10, 2)


def record(hyper=CORE, streams=STREAMS) -> dict:
    return stressed.run(TRAIN, TEST, SESSIONS, streams, SETTINGS, 1993, "compose", hyper)


def written(folder: Path, made: dict) -> Path:
    names = {"suite": "s", "dataset": "d", "backbone": "b", "method": "m", "order": 1993, "seed": 0}
    path = folder / "s/d/b/m/1993-0.json"
    path.parent.mkdir(parents=True)
    write_sealed(path, made | names | {key: "0" * 64 for key in report.SHA})
    return path


def test_streams_are_all_combinations_of_each_items_rates() -> None:
    streams = [{"few": [5, 10], "symmetric": [0, 0.2]}, {"similar": [0.4]}]
    assert list(stressed.expanded(streams)) == [
        {"few": 5, "symmetric": 0},
        {"few": 5, "symmetric": 0.2},
        {"few": 10, "symmetric": 0},
        {"few": 10, "symmetric": 0.2},
        {"similar": 0.4},
    ]


def test_without_stress_a_run_is_that_of_the_experiment() -> None:
    streams = [{"symmetric": [0.0]}]
    (run,) = record(streams=streams)["runs"]
    plain = experiment.run(TRAIN, TEST, [np.array(s) for s in SESSIONS], "compose", CORE)
    assert run["correct"] == plain["correct"] and run["drift"] == plain["drift"]


def test_a_record_holds_every_stream() -> None:
    made = record()
    assert [run["rates"] for run in made["runs"]] == list(stressed.expanded(STREAMS))
    clean, wrong, few = made["runs"]
    assert (
        clean["rows"] == [36] * 4 and wrong["rows"] == [36, 60, 72, 72] and few["rows"] == [15] * 4
    )
    assert np.sum(clean["correct"][-1]) > np.sum(wrong["correct"][-1])
    for run in made["runs"]:
        assert run["old_change"][0] is None
        assert all(c["change"] <= c["bound"] <= c["bound_simple"] for c in run["old_change"][1:])
        assert 0.5 < run["called_old"] < 1.5
    assert made["hyper"]["core"] == CORE["core"]


def test_what_a_learner_notices_is_recorded() -> None:
    runs = record({"head": "ridged-scatter", "row_weights": "filter", "ridge": 1.0})["runs"]
    assert runs[0]["contamination_filter"] == pytest.approx([0] * 4, abs=0.05)
    assert np.mean(runs[1]["contamination_filter"][1:]) == pytest.approx(0.45, abs=0.1)
    assert runs[0]["old_change"] == [None] * 4


def test_an_error_names_the_stream() -> None:
    few_rows = {"repetition": {"experiences": 2, "rows": 2, "first": 0.1}}
    with pytest.raises(InputError, match=r"repetition 0\.5: .*Raise `rows`"):
        stressed.run(
            *(TRAIN, TEST, SESSIONS, [{"repetition": [0.5]}]), few_rows, 1993, "compose", CORE
        )


def test_blocks_are_sessions_and_any_time_accuracy_is_over_their_points(tmp_path: Path) -> None:
    whole = experiment.run(TRAIN, TEST, [np.arange(12)], "compose", {"ridge": 0.1})
    made = record({"ridge": 0.1}, [{"si-blurry": [0, 50]}])
    for run in made["runs"]:
        assert sum(run["rows"]) == 240 and run["rows"][0] <= 30
        assert np.array(run["points"]).size == 7 and run["ends"][-1] == len(run["rows"]) - 1
        # sums do not know in which blocks their rows came
        by_class = np.argsort(run["classes"])
        assert np.array(run["correct"])[-1][by_class].tolist() == whole["correct"][0]
        assert run["test_counts"] == [10] * 12
    frames = report.summarise([written(tmp_path, made)])
    assert frames["ages"].empty
    for row, run in zip(frames["rates"].itertuples(), made["runs"], strict=True):
        seen = np.array(run["session_of_class"]) <= np.arange(len(run["rows"]))[:, None]
        a = 100 * np.sum(run["correct"] * seen, axis=1) / (10 * seen.sum(axis=1))
        found = (row.A_auc, row.A_bar, row.A_last)
        assert found == pytest.approx((a[run["points"]].mean(), a[run["ends"]].mean(), a[-1]))
        *earlier, last = 10.0 * np.array(run["correct"])[run["ends"]]
        lost = [max(a) - b for *a, b in zip(*earlier, last, strict=True) if max(a) > 0]
        assert 0 < len(lost) and row.forgetting == pytest.approx(np.mean(lost))


def test_summaries_say_what_records_do(tmp_path: Path) -> None:
    made = record()
    path = written(tmp_path, made)
    frames = report.summarise([path])
    rates, ages = frames["rates"], frames["ages"]
    assert list(zip(rates["stress"], rates["rate"], strict=True)) == [
        ("few=5+symmetric", 0.4),
        ("unannotated", 0.0),
        ("unannotated", 1.0),
    ]
    last = np.array(made["runs"][1]["correct"][-1])
    row = rates.iloc[2]
    assert row["A_last"] == pytest.approx(100 * last.sum() / 120)
    assert row["A_old"] == pytest.approx(100 * last[:6].sum() / 60)
    assert row["A_first"] == pytest.approx(100 * last[:3].sum() / 30)
    assert row["rows"] == 240 and row["bound_factor"] >= 1
    of_stream = ages[(ages["stress"] == "unannotated") & (ages["rate"] == 1.0)]
    assert of_stream["A_last"].to_numpy(float) == pytest.approx(
        100 * last.reshape(4, 3).sum(axis=1) / 30
    )
    path.write_text("{}")
    with pytest.raises(InputError, match="seal"):
        report.summarise([path])
