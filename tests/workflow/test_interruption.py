"""kill -9 at any moment, then the same command: it finishes, with the same bytes."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest
from copies import command, duplicate, environment, outputs, snakemake
from own_data import add_own_data


def kill_when(folder: Path, pattern: str, arguments: Sequence[str], *, driver: bool) -> None:
    """Start snakemake and kill it as soon as a file is there: the driver alone, whose jobs live on, or all of it."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # the leader of its own group of processes
    own = {"cwd": folder, "env": environment(folder), "start_new_session": True}
    run = subprocess.Popen(command(*arguments), **own, **quiet)
    deadline = time.monotonic() + 120
    while not any(folder.glob(pattern)):
        assert time.monotonic() < deadline, f"no {pattern} after two minutes"
        assert run.poll() is None, f"the run ended before a file of {pattern}"
        time.sleep(0.02)
    (os.kill if driver else os.killpg)(run.pid, signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL


def test_kill_9_while_records_are_written(undisturbed: Path, tiny: Path) -> None:
    """The driver alone first: its jobs go on writing while the second run starts."""
    made = [f"results/runs/tiny/tiny-a/efficientnet-lite0/{m}" for m in ("ncm", "sparcl")]
    arguments = ("--cores", "2", *made, "--config", "suite=tiny")
    kill_when(tiny, "results/orders/tiny/tiny-a/*.json", arguments, driver=True)
    kill_when(tiny, "results/selection/tiny/**/*.json", arguments, driver=False)
    again = snakemake(tiny, *arguments)
    assert again.returncode == 0, again.stdout
    found, expected = whole(tiny), outputs(undisturbed)
    assert {f"{path.removeprefix('results/')}/1993-0.json" for path in made} < found.keys()
    assert found == {name: expected[name] for name in found}


OWN = ("all", "--config", "suite=my-suite")
KILLS = 20
SECONDS = 20.0  # a run from images to figures takes about as long


def kill_driver(run: subprocess.Popen[str]) -> None:
    """Kill the snakemake that make has started, and nothing else."""
    for process in psutil.Process(run.pid).children(recursive=True):
        try:
            if "--cores" in process.cmdline():
                process.kill()
                return
        except psutil.Error:
            continue


@pytest.mark.slow
def test_kill_9_at_random_moments_of_make_results(
    clone: Path, tmp_path: Path, start_make: Callable
) -> None:
    """Of extraction, runs, summary and figures; every other time the driver alone, whose jobs live on."""
    add_own_data(clone, tmp_path / "images")
    folder = duplicate(clone, tmp_path / "killed")
    undisturbed = snakemake(clone, "--cores", "2", *OWN)
    assert undisturbed.returncode == 0, undisturbed.stdout
    expected = outputs(clone)
    moments = random.Random(0)
    done = 0
    while done < KILLS:
        run = start_make(folder, "results", "SUITE=my-suite")
        try:
            said, _ = run.communicate(timeout=moments.uniform(0.5, SECONDS))
        except subprocess.TimeoutExpired:
            done += 1
            if done % 2:
                os.killpg(run.pid, signal.SIGKILL)
            else:
                kill_driver(run)
            said, _ = run.communicate()
            continue
        # It was finished before it could be killed: then it must be whole, and starts anew.
        assert run.returncode == 0, said
        assert whole(folder) == expected
        for name in ("results", "paper", ".snakemake"):
            shutil.rmtree(folder / name)
    run = start_make(folder, "results", "SUITE=my-suite")
    said, _ = run.communicate()
    assert run.returncode == 0, said
    assert whole(folder) == expected


def whole(folder: Path) -> dict[str, bytes]:
    """Return the outputs without what killed jobs left under temporary names."""
    return {name: content for name, content in outputs(folder).items() if "/." not in name}
