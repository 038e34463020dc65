"""What a change reruns: the jobs that rest on it, what follows from them, and nothing else."""

import os
from pathlib import Path

import pytest
from copies import TOY, duplicate, edited, outputs, planned, snakemake

REPORT = {
    "summarise_runs": {""},
    "write_table": {"main"},
    "draw_figure": {"drift", "sessions"},
}
EVERY = {"ncm", "acil", "sparcl"}
SELECTED = {"acil", "sparcl"}
CODE = {
    "sparcl/methods/ncm.py": {"run_method": {"ncm"}},
    "sparcl/methods/sparcl.py": {"run_method": {"sparcl"}, "select_hyper": {"sparcl"}},
    "sparcl/methods/ranpac.py": {},
    "sparcl/learners/spectral.py": {"run_method": SELECTED, "select_hyper": SELECTED},
    "sparcl/algebra/ridge.py": {"run_method": SELECTED, "select_hyper": SELECTED},
    "sparcl/protocol/selection.py": {"run_method": SELECTED, "select_hyper": SELECTED},
    "sparcl/protocol/experiment.py": {
        "run_method": EVERY,
        "select_hyper": SELECTED,
        "trace_spectrum": {""},
        "summarise_spectra": {""},
        "draw_figure": {"dilution", "drift", "sessions"},
    },
    "sparcl/extraction/extract.py": {},
}
SHOWN = {
    "figures/drift.py": {"draw_figure": {"drift"}},
    "figures/main_table.py": {"write_table": {"main"}},
    "sparcl/report/summary.py": {
        "summarise_runs": {""},
        "summarise_spectra": {""},
        "write_table": {"main"},
        "draw_figure": {"dilution", "drift", "sessions"},
    },
}
PARAMS = {
    "comment": (("suites:", "# changed\nsuites:"), {}),
    "caption": (
        ("Suite {suite}: frozen", "Changed. Suite {suite}: frozen"),
        {"write_table": {"main"}},
    ),
    "label": (
        ("label: Nearest class mean", "label: Nearest mean"),
        {"write_table": {"main"}, "draw_figure": {"dilution", "drift", "sessions"}},
    ),
    "figure": (("  session: 2 ", "  session: 3 "), {"draw_figure": {"dilution"}}),
    "a method of another suite": (("tau_map: 0.5", "tau_map: 0.6"), {}),
    "refresh": (
        ("hyper: {refresh: 1}", "hyper: {refresh: 2}"),
        {"run_method": {"sparcl"}, "select_hyper": {"sparcl"}, **REPORT},
    ),
    "tau of one method": (
        ("{refresh: 1}\n    select: [ridge, tau]", "{refresh: 1, tau: 0.5}\n    select: [ridge]"),
        {"run_method": {"sparcl"}, "select_hyper": {"sparcl"}, **REPORT},
    ),
    "tau grid": (
        ("tau: [0.3, 0.5,", "tau: [0.4, 0.5,"),
        {"run_method": {"sparcl"}, "select_hyper": {"sparcl"}, **REPORT},
    ),
    "extraction": (("batch_size: 16 ", "batch_size: 32 "), {}),
}


@pytest.mark.parametrize("file", CODE)
def test_code_of_the_library(toy: Path, file: str) -> None:
    expected = CODE[file] and {**REPORT, **CODE[file]}
    with edited(toy / file, ("", "# changed\n")):
        assert planned(toy) == expected


@pytest.mark.parametrize("file", SHOWN)
def test_code_of_tables_and_figures(toy: Path, file: str) -> None:
    with edited(toy / file, ("", "# changed\n")):
        assert planned(toy) == SHOWN[file]


@pytest.mark.parametrize("change", PARAMS)
def test_params(toy: Path, change: str) -> None:
    replacement, expected = PARAMS[change]
    with edited(toy / "params.yaml", replacement):
        assert planned(toy) == expected


def test_another_class_order_computes_that_order_alone(toy: Path) -> None:
    """Its runs are new; those of the other orders stand."""
    with edited(toy / "params.yaml", ("[[1993, 0], [1994, 1]]", "[[1993, 0], [1994, 1], [7, 7]]")):
        plan = snakemake(toy, "--dry-run", "--cores", "1", *TOY).stdout
    assert "order=7, seed=7" in plan
    assert "order=1993" not in plan and "order=1994" not in plan


def test_touch_alone_reruns_nothing(toy: Path) -> None:
    touched = 0
    for top in ("data", "figures", "sparcl", "workflow", "Snakefile", "params.yaml"):
        for path in [toy / top, *(toy / top).rglob("*")]:
            os.utime(path, follow_symlinks=False)
            touched += 1
    assert touched > 50
    assert planned(toy) == {}


def test_a_changed_method_really_reruns_alone(toy: Path, tmp_path: Path) -> None:
    """Not planned but run: the other methods' records are neither rewritten nor different."""
    folder = duplicate(toy, tmp_path / "changed")
    records = sorted((folder / "results/runs").rglob("*.json"))
    times = {path: path.stat().st_mtime_ns for path in records}
    before = outputs(folder)
    runs = ("--cores", "2", "runs", *TOY[1:])
    with edited(folder / "params.yaml", ("hyper: {refresh: 1}", "hyper: {refresh: 0}")):
        run = snakemake(folder, *runs)
        assert run.returncode == 0, run.stdout
        written = {path.parent.name for path in records if path.stat().st_mtime_ns != times[path]}
        assert written == {"sparcl"}
        assert outputs(folder) != before
    run = snakemake(folder, *runs)
    assert run.returncode == 0, run.stdout
    assert outputs(folder) == before
