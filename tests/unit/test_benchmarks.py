"""The benchmark of the methods at small sizes: same outcomes, right counts; times are not judged."""

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
