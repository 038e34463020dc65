"""Bad settings and bad files: a clear message on the terminal, nothing lost, nothing half-written."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from copies import edit_params, leftovers, snakemake
from tiny_suite import write_split

Run = Callable[..., subprocess.CompletedProcess[str]]
BROKEN = "data/features/tiny-a/efficientnet-lite0/train.h5"
RECORDS = {
    f"{dataset}/efficientnet-lite0/{method}/1993-0.json"
    for dataset in ("tiny-a", "tiny-b")
    for method in ("ncm", "sparcl")
}


def records(folder: Path) -> set[str]:
    runs = folder / "results/runs/tiny"
    return {path.relative_to(runs).as_posix() for path in runs.rglob("*") if path.is_file()}


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-500])


def change_one_value(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file["features"][7, 3] += 1


def put_nan(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        file["features"][7, 3] = np.nan


def replace_with_text(path: Path) -> None:
    path.write_text("<html>404</html>", encoding="utf-8")


DAMAGE = {
    truncate: ["It is truncated", "git checkout"],
    change_one_value: ["does not match its manifest in array features", "git checkout"],
    put_nan: ["NaN or infinite, first row 7, sample 'train-7'", "Extract again"],
    replace_with_text: ["not a readable HDF5 file", "git checkout"],
}


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_broken_feature_file(tiny: Path, run_tiny: Run, damage: Callable[[Path], None]) -> None:
    damage(tiny / BROKEN)
    run = run_tiny()
    assert run.returncode != 0
    for words in [f"FeatureFileError: {BROKEN}: ", *DAMAGE[damage]]:
        assert words in run.stdout
    assert records(tiny) == {name for name in RECORDS if name.startswith("tiny-b/")}
    assert leftovers(tiny) == []

    write_split(tiny, "tiny-a", "train")
    assert run_tiny().returncode == 0
    assert records(tiny) == RECORDS


def test_a_missing_feature_file_is_named(tiny: Path, run_tiny: Run) -> None:
    (tiny / BROKEN).unlink()
    run = run_tiny()
    assert run.returncode != 0
    assert BROKEN in run.stdout


def test_hyperparameters_out_of_range(tiny: Path, run_tiny: Run) -> None:
    """Each names its reason; the sound method finishes."""
    bad = {
        "bad-tau": {"ridge": 1.0, "tau": 1.5},
        "bad-ridge": {"ridge": 0, "tau": 0.5},
        "bad-key": {"refesh": 1},
    }

    def change(params: dict[str, Any]) -> None:
        for name, hyper in bad.items():
            params["methods"][name] = {"label": name, "learner": "sparcl", "hyper": hyper}
        params["suites"]["tiny"] |= {"methods": ["ncm", *bad], "datasets": ["tiny-a"]}

    edit_params(tiny, change)
    run = run_tiny()
    assert run.returncode != 0
    said = [line for line in run.stdout.splitlines() if line.startswith("InputError: ")]
    assert any("tau" in line and "1.5" in line for line in said), run.stdout
    assert any("ridge" in line and "0" in line for line in said), run.stdout
    assert any("refesh" in line and "refresh" in line for line in said), run.stdout
    assert records(tiny) == {"tiny-a/efficientnet-lite0/ncm/1993-0.json"}
    assert leftovers(tiny) == []


def test_fewer_classes_than_sessions(tiny: Path, run_tiny: Run) -> None:
    edit_params(tiny, lambda params: params["suites"]["tiny"].update(sessions=13))
    run = run_tiny()
    assert run.returncode != 0
    (said,) = {line for line in run.stdout.splitlines() if line.startswith("InputError: ")}
    assert "12" in said and "13" in said
    assert leftovers(tiny) == []


UNKNOWN = {
    "suite": lambda params: params.update(suite="nonesuch"),
    "dataset": lambda params: params["suites"]["toy"].update(datasets=["nonesuch"]),
    "backbone": lambda params: params["suites"]["toy"].update(backbones=["nonesuch"]),
    "method": lambda params: params["suites"]["toy"].update(methods=["nonesuch"]),
    "learner": lambda params: params["methods"]["ncm"].update(learner="nonesuch"),
    "curve": lambda params: params["figures"]["drift"].update(show=["acil", "nonesuch"]),
    "group": lambda params: params["tables"]["main"].update(groups={"All": ["ncm", "nonesuch"]}),
}
KNOWN = {
    "suite": "bundled",
    "dataset": "cub-50",
    "backbone": "efficientnet-lite0",
    "method": "sparcl-paper",
    "learner": "sparcl-alg1",
    "curve": "sparcl-paper",
    "group": "sparcl-paper",
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_an_unknown_id_is_named_beside_the_known_ones(clone: Path, what: str) -> None:
    edit_params(clone, lambda params: params.update(suite="toy"))
    edit_params(clone, UNKNOWN[what])
    plan = snakemake(clone, "--dry-run", "--cores", "1", "all")
    assert plan.returncode != 0
    assert any("nonesuch" in line and KNOWN[what] in line for line in plan.stdout.splitlines()), (
        plan.stdout
    )


def test_a_misspelt_key_is_refused_by_name(clone: Path) -> None:
    edit_params(clone, lambda params: params["suites"]["toy"].update(sesions=5))
    plan = snakemake(clone, "--dry-run", "--cores", "1", "all")
    assert plan.returncode != 0
    assert "'sesions' was unexpected" in plan.stdout
