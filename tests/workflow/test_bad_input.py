"""Bad settings and bad files: a clear message on the terminal, nothing lost, nothing half-written."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
from copies import edit_params, leftovers, snakemake
from tiny_suite import records, write_split

from sparcl.features import layout, store

Run = Callable[..., subprocess.CompletedProcess[str]]
FILE = "data/features/tiny-{}/efficientnet-lite0/{}.h5"
METHODS = ["ncm", "acil-paper", "sparcl-paper"]


def test_an_error_is_said_once_and_mended_files_are_computed(tiny: Path, run_tiny: Run) -> None:
    """One of many jobs too, with the path of a log, and without what Snakemake says of each job.

    tests/features has the kinds of damage.
    """
    edit_params(tiny, lambda params: params["suites"]["tiny"].update(methods=METHODS))
    damaged, other = tiny / FILE.format("a", "train"), tiny / FILE.format("b", "test")
    with h5py.File(damaged, "r+") as file:
        file["features"][7, 3] += 1
    data = store.read(other)
    meta = {key: data.meta[key] for key in layout.REQUIRED_KEYS} | {"weights_sha256": "1" * 64}
    store.write(other, data.features, data.labels, data.ids, data.class_names, meta)
    run = run_tiny("--logger=oneline")
    assert run.returncode != 0
    for words in (
        f"{FILE.format('a', 'train')}: does not match its manifest",
        "do not belong together: weights_sha256 is '000",
    ):
        assert run.stdout.count(words) == 1, run.stdout
    for rule in ("verify_features/tiny-a", "run_method/tiny/tiny-b"):
        assert f"Its log: results/logs/{rule}/efficientnet-lite0/" in run.stdout, run.stdout
    for words in ("Traceback", "Error in rule", "CalledProcessError"):
        assert words not in run.stdout
    assert len(run.stdout.splitlines()) < 22, run.stdout
    assert records(tiny) == set() and leftovers(tiny) == []

    write_split(tiny, "tiny-a", "train")
    write_split(tiny, "tiny-b", "test")
    assert run_tiny().returncode == 0
    assert records(tiny) == {f"tiny-{name}/{method}" for name in "ab" for method in METHODS}


def test_what_the_plan_refuses_is_said_without_a_traceback(clone: Path) -> None:
    """All of it with file and key, in one message, before anything runs (tests/pipeline has the kinds of it)."""

    def impossible(params: dict[str, Any]) -> None:
        for name, hyper in (("bad-tau", {"ridge": 1.0, "tau": 1.5}), ("bad-ridge", {"ridge": 0})):
            params["methods"][name] = {"label": name, "learner": "sparcl", "hyper": hyper}
        params["suites"]["toy"].update(methods=["ncm", "bad-tau", "bad-ridge"], sessions=51)

    edit_params(clone, impossible)
    run = snakemake(clone, "--cores", "1", "all", "--config", "suite=toy")
    assert run.returncode != 0 and "Traceback" not in run.stdout
    for words in (
        "config/methods.yaml: bad-tau.hyper: tau = 1.5: ",
        "config/methods.yaml: bad-ridge.hyper: ridge = 0: ",
        "config/suites/toy.yaml: sessions: 'cub-50': 50 classes cannot fill 51 sessions",
    ):
        assert words in run.stdout
    assert not (clone / "results").exists() and leftovers(clone) == []
