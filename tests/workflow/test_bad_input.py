"""Bad settings and bad files: a clear message on the terminal, nothing lost, nothing half-written."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest
from copies import edit_params, leftovers, snakemake
from tiny_suite import write_split

from sparcl.features import layout, store

Run = Callable[..., subprocess.CompletedProcess[str]]
BROKEN = "data/features/tiny-a/efficientnet-lite0/train.h5"
RECORDS = {f"{dataset}/efficientnet-lite0/ncm/1993-0.json" for dataset in ("tiny-a", "tiny-b")}


@pytest.fixture
def tiny(tiny: Path) -> Path:
    """Leave one method in the suite."""
    edit_params(tiny, lambda params: params["suites"]["tiny"].update(methods=["ncm"]))
    return tiny


def records(folder: Path) -> set[str]:
    runs = folder / "results/runs/tiny"
    return {path.relative_to(runs).as_posix() for path in runs.rglob("*.json")}


def test_a_broken_feature_file(tiny: Path, run_tiny: Run) -> None:
    """tests/features has the kinds of damage; here, that its jobs end with the message and others go on."""
    with h5py.File(tiny / BROKEN, "r+") as file:
        file["features"][7, 3] += 1
    run = run_tiny()
    assert run.returncode != 0
    for words in (f"FeatureFileError: {BROKEN}: ", "does not match its manifest", "git checkout"):
        assert words in run.stdout
    assert records(tiny) == {name for name in RECORDS if name.startswith("tiny-b/")}
    assert leftovers(tiny) == []

    write_split(tiny, "tiny-a", "train")
    assert run_tiny().returncode == 0
    assert records(tiny) == RECORDS


def test_files_of_another_data_set_under_this_name(tiny: Path, run_tiny: Run) -> None:
    """Same shapes, same classes, and manifests that fit: only the path says otherwise."""
    folder = (tiny / BROKEN).parent
    shutil.copytree(tiny / "data/features/tiny-b/efficientnet-lite0", folder, dirs_exist_ok=True)
    run = run_tiny()
    assert run.returncode != 0
    said = f"{BROKEN}: dataset is 'tiny-b', but its path stands for 'tiny-a'"
    assert f"FeatureFileError: {said}" in run.stdout
    assert records(tiny) == {name for name in RECORDS if name.startswith("tiny-b/")}


def test_an_error_of_many_jobs_is_said_once(tiny: Path, run_tiny: Run) -> None:
    """With the path of a log, and without what Snakemake says of each job."""
    methods = ["ncm", "acil-paper", "sparcl-paper"]
    edit_params(tiny, lambda params: params["suites"]["tiny"].update(methods=methods))
    path = (tiny / BROKEN).with_name("test.h5")
    data = store.read(path)
    meta = {key: data.meta[key] for key in layout.REQUIRED_KEYS} | {"weights_sha256": "1" * 64}
    store.write(path, data.features, data.labels, data.ids, data.class_names, meta)
    run = run_tiny("--logger=oneline")
    assert run.returncode != 0
    assert run.stdout.count("do not belong together: weights_sha256 is '000") == 1, run.stdout
    assert "Its log: results/logs/run_method/tiny/tiny-a/efficientnet-lite0/" in run.stdout
    for words in ("Traceback", "Error in rule", "CalledProcessError"):
        assert words not in run.stdout
    assert len(run.stdout.splitlines()) < 20, run.stdout
    names = {name.replace("ncm", method) for name in RECORDS for method in methods}
    assert records(tiny) == {name for name in names if name.startswith("tiny-b/")}


def test_a_missing_feature_file_is_named(tiny: Path, run_tiny: Run) -> None:
    (tiny / BROKEN).unlink()
    run = run_tiny()
    assert run.returncode != 0
    assert BROKEN in run.stdout


def test_hyperparameters_out_of_range(tiny: Path, run_tiny: Run) -> None:
    """Each is named with its file and key before anything runs."""
    bad = {
        "bad-tau": {"ridge": 1.0, "tau": 1.5},
        "bad-ridge": {"ridge": 0, "tau": 0.5},
    }

    def change(params: dict[str, Any]) -> None:
        for name, hyper in bad.items():
            params["methods"][name] = {"label": name, "learner": "sparcl", "hyper": hyper}
        params["suites"]["tiny"] |= {"methods": ["ncm", *bad], "datasets": ["tiny-a"]}

    edit_params(tiny, change)
    run = run_tiny()
    assert run.returncode != 0 and "Traceback" not in run.stdout
    assert "config/methods.yaml: bad-tau.hyper: tau = 1.5: " in run.stdout
    assert "config/methods.yaml: bad-ridge.hyper: ridge = 0: " in run.stdout
    assert records(tiny) == set() and leftovers(tiny) == []


def test_fewer_classes_than_sessions(tiny: Path, run_tiny: Run) -> None:
    edit_params(tiny, lambda params: params["suites"]["tiny"].update(sessions=13))
    run = run_tiny()
    assert run.returncode != 0 and "Traceback" not in run.stdout
    said = "config/suites/tiny.yaml: sessions: 'tiny-a': 12 classes cannot fill 13 sessions"
    assert said in run.stdout
    assert records(tiny) == set() and leftovers(tiny) == []


def test_what_the_plan_refuses_is_said_without_a_traceback(clone: Path) -> None:
    """Misspelt keys and unknown ids, each with its file, in one message (tests/pipeline has the kinds of them)."""

    def change(params: dict[str, Any]) -> None:
        params["suites"]["toy"].update(methods=["nonesuch"])
        params["methods"]["ncm"]["hyper"].update(refesh=1)

    edit_params(clone, change)
    plan = snakemake(clone, "--dry-run", "--cores", "1", "all", "--config", "suite=toy")
    assert plan.returncode != 0 and "Traceback" not in plan.stdout
    assert "config/suites/toy.yaml: methods: there is no 'nonesuch'" in plan.stdout
    assert "config/methods.yaml: ncm.hyper: there is no 'refesh'" in plan.stdout
    plan = snakemake(clone, "--dry-run", "--cores", "1", "all", "--config", "suit=toy")
    assert plan.returncode != 0 and "unknown key 'suit'" in plan.stdout
