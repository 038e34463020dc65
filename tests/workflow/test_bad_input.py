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


def test_feature_files_that_cannot_be_used(tiny: Path, run_tiny: Run) -> None:
    """Missing, broken, of another data set: jobs end with the message and others go on, and all do once it is mended.

    tests/features has the kinds of damage.
    """
    (tiny / BROKEN).unlink()
    run = run_tiny()
    assert run.returncode != 0 and BROKEN in run.stdout
    assert records(tiny) == set()

    write_split(tiny, "tiny-a", "train")
    with h5py.File(tiny / BROKEN, "r+") as file:
        file["features"][7, 3] += 1
    run = run_tiny()
    assert run.returncode != 0
    for words in (f"FeatureFileError: {BROKEN}: ", "does not match its manifest", "git checkout"):
        assert words in run.stdout
    assert records(tiny) == {name for name in RECORDS if name.startswith("tiny-b/")}
    assert leftovers(tiny) == []

    # same shapes, same classes, and manifests that fit: only the path says otherwise
    folder = (tiny / BROKEN).parent
    shutil.copytree(tiny / "data/features/tiny-b/efficientnet-lite0", folder, dirs_exist_ok=True)
    run = run_tiny()
    assert run.returncode != 0
    said = f"{BROKEN}: dataset is 'tiny-b', but its path stands for 'tiny-a'"
    assert f"FeatureFileError: {said}" in run.stdout
    assert records(tiny) == {name for name in RECORDS if name.startswith("tiny-b/")}

    for split in ("train", "test"):
        write_split(tiny, "tiny-a", split)
    assert run_tiny().returncode == 0
    assert records(tiny) == RECORDS


def test_an_error_of_many_jobs_is_said_once(tiny: Path, run_tiny: Run) -> None:
    """With the path of a log, and without what Snakemake says of each job."""
    several = {"datasets": ["tiny-a"], "methods": ["ncm", "acil-paper", "sparcl-paper"]}
    edit_params(tiny, lambda params: params["suites"]["tiny"].update(several))
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
    assert records(tiny) == set()


def test_what_the_plan_refuses_is_said_without_a_traceback(clone: Path) -> None:
    """Each with its file and key, in one message, before anything runs (tests/pipeline has the kinds of them)."""

    def unknown(params: dict[str, Any]) -> None:
        params["suites"]["toy"].update(methods=["nonesuch"])
        params["methods"]["ncm"]["hyper"].update(refesh=1)

    def impossible(params: dict[str, Any]) -> None:
        del params["methods"]["ncm"]["hyper"]["refesh"]
        for name, hyper in (("bad-tau", {"ridge": 1.0, "tau": 1.5}), ("bad-ridge", {"ridge": 0})):
            params["methods"][name] = {"label": name, "learner": "sparcl", "hyper": hyper}
        params["suites"]["toy"].update(methods=["ncm", "bad-tau", "bad-ridge"], sessions=51)

    for change, suite, expected in (
        (dict, "suit=toy", ["unknown key 'suit'"]),
        (
            unknown,
            "suite=toy",
            [
                "config/suites/toy.yaml: methods: there is no 'nonesuch'",
                "config/methods.yaml: ncm.hyper: there is no 'refesh'",
            ],
        ),
        (
            impossible,
            "suite=toy",
            [
                "config/methods.yaml: bad-tau.hyper: tau = 1.5: ",
                "config/methods.yaml: bad-ridge.hyper: ridge = 0: ",
                "config/suites/toy.yaml: sessions: 'cub-50': 50 classes cannot fill 51 sessions",
            ],
        ),
    ):
        edit_params(clone, change)
        run = snakemake(clone, "--cores", "1", "all", "--config", suite)
        assert run.returncode != 0 and "Traceback" not in run.stdout
        for words in expected:
            assert words in run.stdout
    assert not (clone / "results").exists() and leftovers(clone) == []
