"""One finished run of the suite `toy`, and a suite of invented features that takes seconds."""

import compileall
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import warm
from copies import (
    TOY,
    clone_of,
    copy_project,
    duplicate,
    edit_params,
    environment,
    snakemake,
    stand_in,
)
from tiny_suite import RUNS, tiny_bare, tiny_repository

from sparcl.base.files import read_json, write_json
from sparcl.features import layout, store
from study.pipeline import configuration, plan

Builder = Callable[[str, Callable[[Path], None]], Path]
Make = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Return a call that builds a folder once for all workers of pytest-xdist."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    def build_once(name: str, build: Callable[[Path], None]) -> Path:
        folder, whole = shared / name, shared / f"{name}.whole"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not whole.exists():
                shutil.rmtree(folder, ignore_errors=True)
                build(folder)
                whole.touch()
        return folder

    return build_once


@pytest.fixture(scope="session")
def pristine(once: Builder) -> Path:
    """Return a fresh copy that stays as it is; `toy` takes 64 features in place of 1,280, which are solved at once."""

    def build(folder: Path) -> None:
        suite = copy_project(folder) / "config/suites/toy.yaml"
        text = suite.read_text(encoding="utf-8")
        suite.write_text(text.replace("efficientnet-lite0", "vit-s14-focus"), encoding="utf-8")
        for split in ("train", "test"):
            path = folder / f"data/features/cub-50/vit-s14-focus/{split}.h5"
            data = store.read(path)
            path.unlink()  # a link
            meta = {key: data.meta[key] for key in layout.REQUIRED_KEYS}
            rest = data.labels, data.ids, data.class_names, meta
            store.write(path, data.features[:, :64], *rest)
        for package in ("sparcl", "figures", "workflow"):
            compileall.compile_dir(
                folder / package, quiet=1
            )  # once, and not in every job of every copy

    return once("pristine", build)


@pytest.fixture
def clone(pristine: Path, tmp_path: Path) -> Path:
    """Return a fresh copy of the project to do anything with."""
    return duplicate(pristine, tmp_path / "clone")


@pytest.fixture(scope="session")
def one_order(once: Builder, pristine: Path) -> Path:
    """Return a copy whose suites have one class order each: every rule and input, in a fraction of the jobs."""

    def shorten(settings: dict[str, Any]) -> None:
        for suite in settings["suites"].values():
            del suite["pairs"][1:]

    return once("one-order", lambda folder: edit_params(duplicate(pristine, folder), shorten))


@pytest.fixture(scope="session")
def everything(once: Builder, one_order: Path) -> str:
    """Return one plan of the records, tables and figures of all suites, the claims, and a bundled file's extraction."""

    def build(folder: Path) -> None:
        short = configuration.load(one_order)
        targets = [
            path
            for suite in short["suites"]
            for path in (*plan.job_outputs(short, suite), *plan.paper_files(short, suite))
        ]
        bundled = "results/features/cub-50/efficientnet-lite0/train.h5"
        more = (*targets, "paper/claims/claims.pdf", bundled)
        said = snakemake(one_order, "--dry-run", "--cores", "1", *more)
        assert said.returncode == 0, said.stdout[-3000:]
        folder.mkdir()
        (folder / "plan.txt").write_text(said.stdout, encoding="utf-8")

    return (once("everything", build) / "plan.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def toy(once: Builder, pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return this worker's copy of a run of the suite `toy`; tests put back what they change."""

    def build(folder: Path) -> None:
        run = snakemake(duplicate(pristine, folder), "--cores", "2", *TOY)
        assert run.returncode == 0, run.stdout

    return duplicate(once("toy", build), tmp_path_factory.mktemp("toy") / "project")


@dataclass(frozen=True)
class Elsewhere:
    """A run in another folder and environment, and what a second call beside it said."""

    folder: Path
    code: int
    said: str
    intruder_code: int
    intruder_said: str


@pytest.fixture(scope="session")
def elsewhere(once: Builder, pristine: Path) -> Elsewhere:
    """Run `toy` where everything around it differs, and start it once more meanwhile."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    surroundings = {
        "LC_ALL": "C",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONHASHSEED": "7",
        "PYTHONUTF8": "0",
        "TZ": "Pacific/Kiritimati",
        "USER": "somebody",
    } | dict.fromkeys(threads, "2")

    def build(folder: Path) -> None:
        place = duplicate(pristine, folder / "another place")
        run = subprocess.Popen(
            [warm.python(**surroundings), "-m", "snakemake", "--cores", "1", *TOY],
            cwd=place,
            env=environment(place, HOME=str(folder), **surroundings),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            umask=0o077,
        )
        said = ""
        while "steps" not in said and (line := run.stdout.readline()):
            said += line
        intruder = snakemake(place, "--cores", "1", *TOY)
        said += run.stdout.read()
        report = [run.wait(), said, intruder.returncode, intruder.stdout]
        write_json(folder / "report.json", report)

    folder = once("elsewhere", build)
    return Elsewhere(folder / "another place", *read_json(folder / "report.json"))


@pytest.fixture
def tiny(pristine: Path, tmp_path: Path) -> Path:
    """Return a copy with the suite `tiny`, which has not run."""
    return tiny_bare(pristine, tmp_path / "clone")


@pytest.fixture(scope="session")
def undisturbed(once: Builder, pristine: Path) -> Path:
    """Return a copy in which the suite `tiny` has its run records."""

    def build(folder: Path) -> None:
        tiny_bare(pristine, folder)
        run = snakemake(folder, *RUNS)
        assert run.returncode == 0, run.stdout

    return once("undisturbed", build)


@pytest.fixture
def run_tiny(tiny: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a call that computes the run records of the suite `tiny`."""
    return lambda *more: snakemake(tiny, "--cores", "2", *more, "runs", "--config", "suite=tiny")


@pytest.fixture(scope="session")
def recorded(once: Builder, pristine: Path) -> Path:
    """Return a repository whose default suite is tiny, reproduced and committed with its dvc.lock."""

    def build(folder: Path) -> None:
        tiny_repository(duplicate(pristine, folder))

    return once("recorded", build)


@pytest.fixture
def work(recorded: Path, tmp_path: Path) -> Path:
    """Return a working copy that has its runs."""
    return duplicate(recorded, tmp_path / "work")


@pytest.fixture
def fresh(recorded: Path, tmp_path: Path) -> Path:
    """Return a fresh clone: what git holds and nothing else."""
    return clone_of(recorded, tmp_path / "fresh")


@pytest.fixture
def start_make(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Return a call that starts make in a folder, with this environment in place of one that make sets up."""
    venv = tmp_path / "environment"

    def start(folder: Path, *arguments: str, python: str = sys.executable) -> subprocess.Popen[str]:
        stand_in(venv, python)
        # Without PYTHONPATH: a clone that make starts in must find its own code.
        return subprocess.Popen(
            ["make", f"VENV={venv}", "CORES=2", *arguments],
            cwd=folder,
            env=environment(folder) | {"PYTHONPATH": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    return start


@pytest.fixture
def make(start_make: Callable[..., subprocess.Popen[str]]) -> Make:
    """Return a call of make that waits for its end."""

    def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        process = start_make(folder, *arguments, python=warm.python())
        said, _ = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, said)

    return run
