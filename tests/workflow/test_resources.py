"""Disk full, a folder that takes no files, too little memory: said clearly, and nothing is lost."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from copies import duplicate, edit_params, edited, leftovers, outputs, snakemake
from tiny_suite import RUNS, records

EVERY = {f"{dataset}/{method}" for dataset in ("tiny-a", "tiny-b") for method in ("ncm", "sparcl")}


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """Mount a file system in memory over a folder; skip the test where that is not permitted."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder read-only, for root as well."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        with mounted(folder, "ro,size=1m"):
            yield
        return
    folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o755)


def limited(folder: Path, script: str, what: str, limit: str) -> subprocess.CompletedProcess[str]:
    """Compute the run records where a script's jobs are under a limit, as `ulimit` sets one."""
    path = folder / "workflow/scripts" / f"{script}.py"
    line = f"import resource\nresource.setrlimit(resource.{what}, ({limit},) * 2)\n"
    with edited(path, ("", line)):
        return snakemake(folder, *RUNS)


def said(run: subprocess.CompletedProcess[str], error: str) -> list[str]:
    """Return an error's lines; Snakemake may be in the middle of a line of its own when a job says one."""
    return re.findall(rf"\b{error}: .*", run.stdout)


def finishes(folder: Path, reference: Path) -> None:
    """Check that the same command completes, with the bytes of a run that nothing disturbed."""
    again = snakemake(folder, *RUNS)
    assert again.returncode == 0, again.stdout
    assert records(folder) == EVERY
    assert leftovers(folder) == []
    expected = {n: c for n, c in outputs(reference).items() if n.startswith("results/")}
    assert {n: c for n, c in outputs(folder).items() if n.startswith("results/")} == expected


@pytest.fixture
def ready(undisturbed: Path, tmp_path: Path) -> Path:
    """Return a copy in which nothing but the run records is missing."""
    folder = duplicate(undisturbed, tmp_path / "ready")
    shutil.rmtree(folder / "results/runs")
    return folder


def test_disk_full(ready: Path, undisturbed: Path) -> None:
    """Room for one or two records of four."""
    runs = ready / "results/runs"
    with mounted(runs, "size=8k"):
        run = snakemake(ready, *RUNS)
        whole = records(ready)
        assert run.returncode != 0
        assert 0 < len(whole) < len(EVERY), run.stdout
        errors = said(run, "OutputError")
        assert len(errors) == len(EVERY) - len(whole), run.stdout
        for line in errors:
            assert "results/runs/tiny/" in line and "No space left" in line and "Make room" in line
        assert leftovers(ready) == []
        subprocess.run(["mount", "-o", "remount,size=10m", str(runs)], check=True)
        finishes(ready, undisturbed)


def test_places_that_take_no_files(ready: Path, undisturbed: Path) -> None:
    """A limit as `ulimit -f` sets it, in the jobs that write the records, and a folder that is read-only."""
    smallest = min(p.stat().st_size for p in (undisturbed / "results/runs").rglob("*.json"))
    run = limited(ready, "run_method", "RLIMIT_FSIZE", str(smallest - 1))
    assert run.returncode != 0
    assert records(ready) == set()
    errors = said(run, "OutputError")
    assert len(errors) == len(EVERY), run.stdout
    assert all("/runs/tiny/" in line and "File too large" in line for line in errors)
    assert leftovers(ready) == []
    with read_only(ready / "results/runs/tiny/tiny-a"):
        run = snakemake(ready, *RUNS)
    assert run.returncode != 0
    assert "results/runs/tiny/tiny-a" in run.stdout and "Read-only" in run.stdout, run.stdout
    finishes(ready, undisturbed)


def test_out_of_memory_in_one_job(tiny: Path) -> None:
    """One matrix of random features 20,000 wide needs 3 GB; a job may have 2 more than it starts with."""

    def wide(params: dict[str, Any]) -> None:
        params["methods"]["ranpac"].update(hyper={"width": 20_000})
        few = {"datasets": ["tiny-a"], "methods": ["ncm", "ranpac", "sparcl"]}
        params["suites"]["tiny"].update(few)

    edit_params(tiny, wide)
    held = "int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()"
    run = limited(tiny, "select_hyper", "RLIMIT_AS", f"{held} + 2**31")
    assert run.returncode != 0
    assert records(tiny) == {"tiny-a/ncm", "tiny-a/sparcl"}, run.stdout
    assert len(said(run, "MemoryError")) == 1
    assert "Its log: results/logs/select_hyper/tiny/tiny-a/efficientnet-lite0/ranpac" in run.stdout
    assert leftovers(tiny) == []
