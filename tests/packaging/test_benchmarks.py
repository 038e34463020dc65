"""The benchmarks of methods, GPUs, sweeps and scaling at small sizes: same outcomes; times are not compared."""

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sparcl.algebra.host import Host

ROOT = Path(__file__).parents[2]
Benchmark = Callable[[str], Any]


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Return a call that imports a benchmark, whatever else has its name."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for path in (ROOT / "benchmarks").glob("*.py"):
        monkeypatch.delitem(sys.modules, path.stem, raising=False)
    return importlib.import_module


def test_official_forms_have_our_outcomes(benchmark: Benchmark) -> None:
    methods = benchmark("methods")
    for row, case in methods.CASES.items():
        seconds = methods.compare(row, methods.SMALL, repeats=1)
        assert min(seconds.values()) > 0 and {"ours", "floor"} <= seconds.keys(), row
        assert ("official" in seconds, "ridge" in seconds) == (bool(case.form), bool(case.ridge))


def test_another_outcome_stops_the_benchmark(
    benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other scores or another ridge, here and on a card."""
    methods, gpu = benchmark("methods"), benchmark("gpu")
    card, solve = gpu.Card("torch-cpu", small=True), gpu.official.solve
    for scale, times, said in ((1.01, 1, "scores differ by"), (1, 10, "in the official form")):
        wrong = lambda *a: (scale * (found := solve(*a))[0], times * found[1])  # noqa: B023, E731
        monkeypatch.setattr(gpu.official, "solve", wrong)
        with pytest.raises(SystemExit, match=f"ranpac-cub: .*{said}"):
            methods.compare("ranpac-cub", methods.SMALL, repeats=1)
        with pytest.raises(SystemExit, match=f"flycl: .*{said}"):
            next(gpu.peer(card, "flycl", "float64"))


def test_every_table_of_the_gpu_is_made_at_small_sizes(
    benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    gpu = benchmark("gpu")
    monkeypatch.setattr(gpu, "REPEATS", 2)
    monkeypatch.setattr(gpu.tensors.Tensors, "tile", 128)
    gpu.main(["--small", "--device", "torch-cpu"])
    tables = [part.splitlines() for part in capsys.readouterr().out.split("\n\n")[1:-1]]
    assert len(tables) == len(gpu.TABLES) == 6
    for head, line, *rows in tables:
        assert rows and set(line) == {"|", "-"}
        assert {row.count("|") for row in rows} == {head.count("|")}


# --- sweep.py -------------------------------------------------------------------------------------


def test_a_sweep_has_the_outcomes_of_its_runs(benchmark: Benchmark) -> None:
    sweep = benchmark("sweep")
    for name, settings in (("sparcl", 6), ("acil", 7)):
        orders, grid = sweep.CASES[name]
        assert orders * int(np.prod([len(values) for values in grid.values()])) == 100
        found, swept, runs = sweep.compare(name, sweep.SMALL, runs=3)
        assert (found, len(runs)) == (settings, 3) and min(swept, *runs) > 0


@pytest.mark.parametrize(
    ("factor", "said"),
    [(1.00001, "weights differ by"), (-1.0, "counts differ")],  # predictions stay, or turn
)
def test_other_solutions_stop_the_sweep(
    factor: float, said: str, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = benchmark("sweep")
    learned = sweep.sweep.learn_sums

    def wrong(learner: Any, *arguments: Any) -> None:
        learned(learner, *arguments)
        learner.solutions.weights = [factor * W for W in learner.solutions.weights]

    monkeypatch.setattr(sweep.sweep, "learn_sums", wrong)
    with pytest.raises(SystemExit, match=said):
        sweep.compare("acil", sweep.SMALL, runs=1)


# --- scaling.py -----------------------------------------------------------------------------------


@pytest.fixture
def scaling(benchmark: Benchmark) -> Any:
    return benchmark("scaling")


def planted(scaling: Any) -> pd.DataFrame:
    """Measurements that obey the stated exponents, and coefficients that are 2."""
    rows = []
    for quantity in scaling.QUANTITIES:
        for x in scaling.FULL.axes[quantity.axis]:
            held = 7e4 * float(x) ** (quantity.memory or 0)
            if quantity.unit is not None:
                held = 2 * quantity.unit(x, scaling.FULL) + 1e3 * float(x) ** (quantity.memory - 1)
            seconds = 3e-7 * float(x) ** quantity.time
            row = {"axis": quantity.axis, "quantity": quantity.name, "x": x, "seconds": seconds}
            rows.append(row | {"bytes": held, "flops": 1e9, "threads": 1})
    return pd.DataFrame(rows)


def test_every_small_point_has_the_right_outcome_and_a_finite_time(scaling: Any) -> None:
    measured = pd.DataFrame(
        scaling.point(number, x, scaling.SMALL)
        for number, quantity in enumerate(scaling.QUANTITIES)
        for x in scaling.SMALL.axes[quantity.axis]
    )
    assert {*measured["axis"]} == {*scaling.NAMES}
    assert len(measured) == 3 * len(scaling.QUANTITIES)
    assert (measured["seconds"] > 0).all() and np.isfinite(measured["seconds"]).all()
    assert (measured["bytes"] >= 0).all()
    times = scaling.fit(measured, scaling.SMALL).query("of == 'time'")["fitted"]
    assert len(times) == len(scaling.QUANTITIES) and np.isfinite(times).all()


def test_planted_exponents_and_coefficients_are_found(scaling: Any) -> None:
    rows = planted(scaling)
    rows.loc[0, "seconds"] = 1e9  # the smallest n, which no fit may use
    fitted = scaling.fit(rows, scaling.FULL).set_index("of")
    assert len(fitted) > len(scaling.QUANTITIES)
    np.testing.assert_allclose(fitted.filter(like="multiple", axis=0)["fitted"], 2, rtol=1e-9)
    times = fitted.loc["time"]
    np.testing.assert_allclose(times["fitted"], times["stated"].astype(float), atol=1e-9)
    xs = [10, 20, 40, 80]
    assert scaling.exponent(xs, [5 * x**1.5 for x in xs]) == pytest.approx(1.5)
    assert np.isnan(scaling.exponent(xs, [0, 1, 2, 3]))  # no memory beyond that of a warm process


def test_wrong_sums_stop_the_scaling(scaling: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    added = Host.rank_update
    wrong = lambda self, R, X, sign: added(self, R, X * (1 + 1e-10), sign)  # noqa: E731
    monkeypatch.setattr(Host, "rank_update", wrong)
    with pytest.raises(SystemExit, match="R of blocks and of one pass differ"):
        scaling.point(0, 100, scaling.SMALL)


def test_the_command_measures_in_processes_of_their_own_and_draws(
    scaling: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One point is; the others are measured here, to save starts."""
    apart = scaling.apart
    elsewhere: list[int] = []

    def once(call: Callable[..., Any], *given: Any) -> Any:
        if elsewhere:
            return call(*given)
        elsewhere.append(apart(os.getpid))
        return apart(call, *given)

    monkeypatch.setattr(scaling, "apart", once)
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", scaling.THREADS):
        monkeypatch.setenv(name, "1")
    command = ["scaling.py", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*command, "--small", "--axis", "T"])
    scaling.main()
    assert elsewhere != [os.getpid()]
    rows = pd.read_csv(tmp_path / "measured.csv")
    assert [*zip(rows["axis"], rows["x"], strict=True)] == [("T", x) for x in (2, 3, 4)] * 2
    drawn = (tmp_path / "T.png").read_bytes()
    monkeypatch.setattr(sys, "argv", [*command, "--draw"])
    scaling.main()
    assert (tmp_path / "T.png").read_bytes() == drawn


def small_set(monkeypatch: pytest.MonkeyPatch, module) -> None:
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


def test_every_study_of_the_search_writes_its_table(
    benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the columns and learners of the table that is committed; a reference is scored once on test samples."""
    search = benchmark("search")
    small_set(monkeypatch, search)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs/search").mkdir(parents=True)
    scored: list[int] = []
    accuracy = search.accuracy
    monkeypatch.setattr(
        search, "accuracy", lambda *a: scored.append(len(a[1].labels)) or accuracy(*a)
    )
    made = {}
    for name in search.STUDIES:
        scored.clear()
        search.main(name, "set/net")
        tables = (folder / f"docs/search/{name}.csv" for folder in (tmp_path, ROOT))
        made[name], kept = map(pd.read_csv, tables)
        assert [*made[name]] == [*kept]
        (what,) = {"composition", "learner", "reference"} & {*kept}
        assert {*made[name][what]} == {*kept[what]}
    few = len(search.SAMPLES) * len(search.FEW)
    rows = made["composition"]
    assert len(rows) == len(search.ORDERS) * (len(search.COMPOSITIONS) + few)
    assert rows["A_last"].between(50, 100).all()
    assert (made["references"]["A_last"] > 80).all()
    assert scored == [30] * 5 + [120] + [30] * 6 + [120]


def test_the_search_holds_training_samples_out(
    benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = benchmark("search")
    small_set(monkeypatch, search)
    data = search.store.read("")
    stream, held = search.development(data.features, data.labels, 2001)
    assert (np.bincount(stream.labels) == 9).all() and (np.bincount(held.labels) == 3).all()
    assert not set(map(bytes, stream.features)) & set(map(bytes, held.features))
    groups = np.arange(120) // 4
    stream, held = search.development(data.features, data.labels, 2001, groups, 5)
    assert (np.bincount(stream.labels) == 5).all() and (np.bincount(held.labels) == 4).all()
