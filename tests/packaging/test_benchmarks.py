"""The benchmarks at small sizes: same outcomes, right counts; times are not compared."""

import csv
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import warm

from sparcl.algebra.host import Host

FOLDER = Path(__file__).parents[2] / "benchmarks"
Load = Callable[[str], ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Return a call that imports a benchmark by its name; none is one that another test has changed."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for file in FOLDER.glob("*.py"):
        monkeypatch.delitem(sys.modules, file.stem, raising=False)
    return importlib.import_module


def test_official_forms_have_our_outcomes(load: Load) -> None:
    methods = load("methods")
    for row, case in methods.CASES.items():
        result = methods.compare(row, methods.SMALL, repeats=1)
        assert min(result.ours, result.theirs, result.floor) > 0
        assert row in str(result) and (result.ridge is not None) == (case.ridge is not None)


def test_another_outcome_or_ridge_stops_the_benchmark(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = load("methods")
    for row, form, key, factor, said in (
        ("air", methods.official.AIR, "W", 1 + 1e-5, "scores differ by"),
        ("ranpac-cub", methods.official.RanPAC, "ridge", 10, r"ridge .* in the official form"),
    ):

        def changed(self: Any, *data: Any, solved=form.session, key=key, factor=factor) -> None:
            solved(self, *data)
            setattr(self, key, getattr(self, key) * factor)

        monkeypatch.setattr(form, "session", changed)
        with pytest.raises(SystemExit, match=said):
            methods.compare(row, methods.SMALL, repeats=1)


@pytest.fixture
def gpu(load: Load, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = load("gpu")
    monkeypatch.setattr(module, "REPEATS", 2)
    monkeypatch.setattr(module.tensors.Tensors, "tile", 128)
    return module


def test_every_table_of_the_gpu_is_made_at_small_sizes(gpu, capsys: pytest.CaptureFixture) -> None:
    gpu.main(["--small", "--device", "torch-cpu"])
    tables = [part.splitlines() for part in capsys.readouterr().out.split("\n\n")[1:-1]]
    assert len(tables) == 6
    for head, line, *rows in tables:
        assert rows and set(line) == {"|", "-"}
        assert {row.count("|") for row in rows} == {head.count("|")}


def test_another_outcome_stops_the_benchmark_of_the_gpu(
    gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = gpu.Card("torch-cpu", small=True)
    form = gpu.public_form
    for scores, ridge, said in (
        (1.01, 1, "flycl, public form: scores differ"),
        (1, 10, "in the public form"),
    ):

        def changed(*given: Any, scores: float = scores, ridge: float = ridge) -> tuple[Any, Any]:
            found = form(*given)
            return scores * found[0], ridge * found[1]

        monkeypatch.setattr(gpu, "public_form", changed)
        with pytest.raises(SystemExit, match=said):
            gpu.peer(card, "flycl", "float64")


def test_a_sweep_has_the_outcomes_of_its_runs(load: Load) -> None:
    sweep = load("sweep")
    for name, settings in (("sparcl", 6), ("acil", 7)):
        case = sweep.CASES[name]
        assert case.orders * int(np.prod([len(values) for values in case.grid.values()])) == 100
        result = sweep.compare(name, sweep.SMALL, runs=3)
        assert len(result.runs) == 3 and result.settings == settings
        assert result.ratio == pytest.approx(result.settings * sum(result.runs) / 3 / result.swept)
        assert name in str(result)


def test_other_weights_or_counts_stop_the_sweep(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = load("sweep")
    learned = sweep.sweep.learn_sums
    # the first leaves predictions as they are
    for factor, said in ((1.00001, "weights differ by"), (-1.0, "counts differ")):

        def wrong(learner: Any, *arguments: Any, factor: float = factor) -> None:
            learned(learner, *arguments)
            learner.solutions.weights = [factor * W for W in learner.solutions.weights]

        monkeypatch.setattr(sweep.sweep, "learn_sums", wrong)
        with pytest.raises(SystemExit, match=said):
            sweep.compare("acil", sweep.SMALL, runs=1)


@pytest.fixture
def scaling(load: Load) -> ModuleType:
    return load("scaling")


def planted(scaling, sizes) -> list[dict]:
    """Measurements that obey the stated exponents, and coefficients that are 2."""
    rows = []
    for quantity in scaling.QUANTITIES:
        for x in quantity.xs(sizes):
            held = 7e4 * float(x) ** (quantity.memory or 0)
            if quantity.unit is not None:
                held = 2 * quantity.unit(x, sizes) + 1e3 * float(x) ** (quantity.memory - 1)
            seconds = 3e-7 * float(x) ** quantity.time
            row = {"axis": quantity.axis, "quantity": quantity.name, "x": x, "seconds": seconds}
            rows.append(row | {"bytes": held, "flops": 1e9, "threads": 1})
    return rows


def test_every_small_point_has_the_right_outcome_and_a_finite_time(scaling) -> None:
    measured = [
        scaling.point(quantity, x, scaling.SMALL)
        for quantity in scaling.QUANTITIES
        for x in quantity.xs(scaling.SMALL)
    ]
    assert {row["axis"] for row in measured} == set(scaling.NAMES)
    assert len(measured) == 3 * len(scaling.QUANTITIES)
    assert all(0 < row["seconds"] < np.inf and row["bytes"] >= 0 for row in measured)
    times = [row["fitted"] for row in scaling.fit(measured, scaling.SMALL) if row["of"] == "time"]
    assert len(times) == len(scaling.QUANTITIES) and np.isfinite(times).all()


def test_planted_exponents_of_the_upper_part_and_coefficients_are_found(scaling) -> None:
    measured = planted(scaling, scaling.FULL)
    rows = scaling.fit(measured, scaling.FULL)
    assert len(rows) > len(scaling.QUANTITIES)
    for row in rows:
        if row["of"].startswith("memory, multiple"):
            assert row["fitted"] == pytest.approx(2, rel=1e-9)
        elif row["of"] == "time":
            assert row["fitted"] == pytest.approx(row["stated"], abs=1e-9)
    xs = [10, 20, 40, 80]
    assert scaling.exponent(xs, [5 * x**1.5 for x in xs]) == pytest.approx(1.5)
    assert np.isnan(scaling.exponent(xs, [0, 1, 2, 3]))  # no memory beyond that of a warm process
    measured[0]["seconds"] = 1e9  # the smallest n
    assert scaling.fit(measured, scaling.FULL)[0]["fitted"] == pytest.approx(1)


def test_wrong_sums_stop_the_scaling(scaling, monkeypatch: pytest.MonkeyPatch) -> None:
    added = Host.rank_update
    wrong = lambda self, R, X, sign: added(self, R, X * (1 + 1e-10), sign)  # noqa: E731
    monkeypatch.setattr(Host, "rank_update", wrong)
    with pytest.raises(SystemExit, match="R of blocks and of one pass differ"):
        scaling.point(scaling.QUANTITIES[0], 100, scaling.SMALL)


def test_the_command_measures_in_processes_of_their_own_and_draws(
    scaling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [warm.python(), str(FOLDER / "scaling.py"), "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, "--small", "--axis", "T"],
        cwd=FOLDER.parent,
        env=os.environ | {"SPARCL_BENCH_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "measured.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["axis"], row["x"]) for row in rows] == [("T", x) for x in "234"] * 2
    drawn = (tmp_path / "T.png").read_bytes()
    monkeypatch.setattr(sys, "argv", [*command[1:], "--draw"])
    scaling.main()
    assert (tmp_path / "T.png").read_bytes() == drawn


def on_a_small_set(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Let a benchmark read two invented splits of 10 classes."""

    def read(path: str) -> SimpleNamespace:
        rng = np.random.default_rng(len(path))
        labels = np.repeat(np.arange(10), 12)
        centres = np.random.default_rng(1).standard_normal((10, 20))
        features = centres[labels] + 0.5 * rng.standard_normal((len(labels), 20))
        return SimpleNamespace(
            features=features,
            labels=labels,
            ids=[f"{i:03d}" for i in range(len(labels))],
            class_names=[f"class-{i}" for i in range(10)],
        )

    monkeypatch.setattr(module.store, "read", read)
    return module


def test_the_search_reads_training_samples_alone_and_holds_some_out(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    composition = on_a_small_set(load("composition"), monkeypatch)
    rows = [*composition.measured("set/net")]
    few = len(composition.SAMPLES) * len(composition.FEW)
    assert len(rows) == len(composition.ORDERS) * (len(composition.TRIED) + few)
    assert {row["composition"] for row in rows} == {*composition.TRIED}
    assert all(50 < float(row["A_last"]) <= 100 for row in rows)
    data = composition.store.read("")
    stream, held = composition.development(data.features, data.labels, 2001)
    assert (np.bincount(stream.labels) == 9).all() and (np.bincount(held.labels) == 3).all()
    assert not set(map(bytes, stream.features)) & set(map(bytes, held.features))
    groups = np.arange(120) // 4
    stream, held = composition.development(data.features, data.labels, 2001, groups, 5)
    assert (np.bincount(stream.labels) == 5).all() and (np.bincount(held.labels) == 4).all()


def test_references_choose_on_training_samples_and_score_once(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    references = on_a_small_set(load("references"), monkeypatch)
    scored: list[int] = []
    accuracy = references.accuracy
    monkeypatch.setattr(
        references, "accuracy", lambda *a: scored.append(len(a[1].labels)) or accuracy(*a)
    )
    rows = [*references.measured("set")]
    assert [row["reference"] for row in rows] == [*references.REFERENCES]
    assert all(float(row["A_last"]) > 80 for row in rows)
    assert scored == [30] * 5 + [120] + [30] * 6 + [120]
