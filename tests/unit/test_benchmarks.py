"""The benchmarks of the methods and of the sweep at small sizes: same outcomes, right counts; times are not judged."""

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
ROWS = ("ranpac-cifar", "ranpac-cub", "flycl", "acil", "foal", "gacl", "air")


@pytest.fixture
def methods(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in ("methods", "official_forms"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import methods

    return methods


@pytest.mark.parametrize("row", ROWS)
def test_official_form_has_our_outcome_and_the_formulas_count(row: str, methods) -> None:
    result = methods.compare(row, methods.SMALL, repeats=1)
    assert result.flops > 0
    assert result.floor > 0
    assert row in str(result)


def test_every_row_is_tested(methods) -> None:
    assert set(ROWS) == set(methods.CASES)


def test_another_outcome_stops_the_benchmark(methods, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = methods.official.AIR.session

    def turned(self, Phi, y) -> None:
        solved(self, Phi, y)
        self.W *= 1 + 1e-5

    monkeypatch.setattr(methods.official.AIR, "session", turned)
    with pytest.raises(SystemExit, match="scores differ by"):
        methods.compare("air", methods.SMALL, repeats=1)


def test_another_ridge_stops_the_benchmark(methods, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = methods.official.RanPAC.session

    def other(self, Phi, y) -> None:
        solved(self, Phi, y)
        self.ridge *= 10

    monkeypatch.setattr(methods.official.RanPAC, "session", other)
    with pytest.raises(SystemExit, match=r"ridge .* in the official form"):
        methods.compare("ranpac-cub", methods.SMALL, repeats=1)


def test_an_operation_more_stops_the_benchmark(methods, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = methods.official.Recursive.session

    def more(self, Phi, y) -> None:
        solved(self, Phi, y)
        self.count.product(np.ones((10, 10)), np.ones((10, 10)))

    monkeypatch.setattr(methods.official.Recursive, "session", more)
    with pytest.raises(SystemExit, match="operations counted"):
        methods.compare("acil", methods.SMALL, repeats=1)


def test_memory_is_measured_in_processes_of_its_own(methods) -> None:
    # the sums alone are 500^2 float32; a process does not come back without them
    assert methods.memory(methods.SMALL) > 500**2 * 4


# --- sweep.py -------------------------------------------------------------------------------------


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.delitem(sys.modules, "sweep", raising=False)
    import sweep

    return sweep


@pytest.mark.parametrize("name", ["sparcl", "acil"])
def test_a_sweep_has_the_outcomes_of_its_runs(name: str, sweep) -> None:
    case = sweep.CASES[name]
    assert case.orders * int(np.prod([len(values) for values in case.grid.values()])) == 100
    result = sweep.compare(name, sweep.SMALL, runs=3)
    assert len(result.runs) == 3 and result.settings == {"sparcl": 6, "acil": 7}[name]
    assert result.ratio == pytest.approx(result.settings * sum(result.runs) / 3 / result.swept)
    assert name in str(result)


def test_other_weights_stop_the_sweep(sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = sweep.sweep.SummedRidge._solved

    def scaled(self, *arguments) -> dict:  # predictions stay
        return {key: 1.00001 * W for key, W in solved(self, *arguments).items()}

    monkeypatch.setattr(sweep.sweep.SummedRidge, "_solved", scaled)
    with pytest.raises(SystemExit, match="weights differ by"):
        sweep.compare("acil", sweep.SMALL, runs=1)


def test_other_counts_stop_the_sweep(sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = sweep.sweep.SummedRidge._solved

    def turned(self, *arguments) -> dict:
        return {key: -W for key, W in solved(self, *arguments).items()}

    monkeypatch.setattr(sweep.sweep.SummedRidge, "_solved", turned)
    with pytest.raises(SystemExit, match="counts differ"):
        sweep.compare("acil", sweep.SMALL, runs=1)
