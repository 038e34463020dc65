"""The suite `toy` through profiles/slurm, with one job cancelled and one that outruns its memory.

Needs a cluster (tests/cluster/slurm.sh starts one), so pytest does not collect it by itself: `make test-slurm`.
"""

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from copies import (
    TOY,
    command,
    copy_project,
    duplicate,
    edit_yaml,
    environment,
    leftovers,
    outputs,
    snakemake,
)
from own_data import add_own_data

PROFILE = ("--profile", "profiles/slurm")
# Snakemake's number, SLURM's number, the log and in it the rule or group.
SUBMITTED = re.compile(
    r"^Job (\S+) has been submitted with SLURM jobid (\d+) \(log: (.+/slurm_logs/(\w+)/.+)\)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Run:
    """A run on the cluster: its folder, what it said, and the SLURM job that was cancelled."""

    folder: Path
    said: str
    cancelled: str

    def submitted(self, name: str) -> dict[str, tuple[str, Path]]:
        """Return the SLURM jobs of a rule or group: SLURM's number -> Snakemake's, and the log."""
        return {
            slurm: (job, Path(log))
            for job, slurm, log, of in SUBMITTED.findall(self.said)
            if of.startswith(name)
        }


def squeue(state: str) -> dict[str, str]:
    """Return the jobs in a state: id -> the comment, which names the rule."""
    lines = subprocess.run(
        ["squeue", "--noheader", f"--states={state}", "--format=%i|%k"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return dict(line.split("|", 1) for line in lines)


def cancel_one(rule: str, run: subprocess.Popen[str], deadline: float) -> str:
    """Cancel the first job of a rule that runs, and return its id."""
    while time.monotonic() < deadline and run.poll() is None:
        for slurm, comment in squeue("RUNNING").items():
            if comment.startswith(f"rule_{rule}"):
                subprocess.run(["scancel", slurm], check=True)
                return slurm
        time.sleep(0.1)
    raise RuntimeError(f"No job of rule {rule} was seen running.")


def starve(profile: dict[str, Any]) -> None:
    """Give the first attempt of a rule 60 MB, less than Python with numpy takes."""
    profile["set-resources"]["trace_spectrum"] = {"mem_mb": "60 if attempt == 1 else 3000"}


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_project(tmp_path_factory.mktemp("pristine") / "project")


@pytest.fixture(scope="module")
def local(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run on this machine."""
    folder = duplicate(pristine, tmp_path_factory.mktemp("local") / "project")
    run = snakemake(folder, "--cores", "2", *TOY)
    assert run.returncode == 0, run.stdout
    return folder


@pytest.fixture(scope="module")
def cluster(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run on the cluster, which met a cancelled job and one killed for its memory."""
    folder = duplicate(pristine, tmp_path_factory.mktemp("cluster") / "project")
    edit_yaml(folder / PROFILE[1] / "config.yaml", starve)
    log = folder.parent / "said.txt"
    with log.open("w", encoding="utf-8") as said:
        run = subprocess.Popen(
            command(*PROFILE, *TOY),
            cwd=folder,
            env=environment(folder),
            stdout=said,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            cancelled = cancel_one("run_method", run, time.monotonic() + 180)
            code = run.wait(timeout=600)
        finally:
            run.terminate()  # Snakemake cancels its jobs
            run.wait()
    text = log.read_text(encoding="utf-8")
    assert code == 0, text
    return Run(folder, text, cancelled)


def test_the_bytes_are_those_of_a_local_run(local: Path, cluster: Run) -> None:
    here, there = outputs(local), outputs(cluster.folder)
    assert {"paper/toy/tables/main.csv", "paper/toy/figures/drift.png"} <= set(here)
    assert set(there) == set(here)
    assert [name for name in here if there[name] != here[name]] == []
    assert leftovers(cluster.folder) == []


def test_a_cancelled_job_is_retried(cluster: Run) -> None:
    assert f"SLURM-job '{cluster.cancelled}' failed, SLURM status is: 'CANCELLED'" in cluster.said
    jobs = cluster.submitted("rule_run_method")
    job = jobs[cluster.cancelled][0]
    again = [slurm for slurm, (number, _) in jobs.items() if number == job]
    assert len(again) == 2 and again[0] == cluster.cancelled
    assert len(jobs) == 3 + 1


def test_a_job_that_outruns_its_memory_is_retried_with_more(cluster: Run) -> None:
    first, second = cluster.submitted("rule_trace_spectrum").items()
    assert first[1][0] == second[1][0]
    assert re.search(rf"SLURM-job '{first[0]}' failed, SLURM status is", cluster.said)
    assert "memory limit" in first[1][1].read_text(encoding="utf-8")
    assert re.search(r"rule trace_spectrum:(\n .*)*\n +resources: .*mem_mb=60\b", cluster.said)
    assert re.search(
        r"rule trace_spectrum:(\n .*)*\n +resources: .*mem_mb=[1-9]\d{3}\b", cluster.said
    )


def test_short_jobs_share_a_place_in_the_queue(cluster: Run) -> None:
    """Two checks and two orders, then summaries, tables and figures: sixteen jobs at most, two submissions or three."""
    assert 1 <= len(cluster.submitted("group_prepare")) <= 2
    assert len(cluster.submitted("group_report")) == 1
    alone = {of for _, _, _, of in SUBMITTED.findall(cluster.said) if of.startswith("rule_")}
    assert alone == {"rule_run_method", "rule_select_hyper", "rule_trace_spectrum"}


def test_nothing_is_left_in_the_queue(cluster: Run) -> None:
    assert squeue("PENDING,RUNNING") == {}
    again = snakemake(cluster.folder, *PROFILE, *TOY)
    assert again.returncode == 0 and "Nothing to be done" in again.stdout


def scontrol(*arguments: str) -> str:
    """Return what scontrol prints."""
    return subprocess.run(
        ["scontrol", *arguments], capture_output=True, text=True, check=True
    ).stdout


def test_extraction_asks_for_the_gpu(pristine: Path, tmp_path: Path) -> None:
    """SLURM's own record of the jobs: partition and GPU; HDF5 locks no file."""
    folder = duplicate(pristine, tmp_path / "project")
    add_own_data(folder, tmp_path / "images")
    run = snakemake(folder, *PROFILE, "runs", "--config", "suite=my-suite")
    assert run.returncode == 0, run.stdout
    kinds = {True: set(), False: set()}
    for _, slurm, _, of in SUBMITTED.findall(run.stdout):
        record = scontrol("show", "job", slurm)
        partition = re.search(r"Partition=(\w+)", record).group(1)
        gpu = re.search(r"TresPerJob=gres[:/]gpu:1\b", record) is not None
        kinds[of == "rule_extract_features"].add((partition, gpu))
        script = scontrol("write", "batch_script", slurm, "-")
        assert "export HDF5_USE_FILE_LOCKING=FALSE &&" in script
    assert kinds == {True: {("gpu", True)}, False: {("cpu", False)}}
