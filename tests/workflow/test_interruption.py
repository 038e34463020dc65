"""kill -9 in the middle of runs, then the same command: it finishes, with the same bytes."""

import os
import signal
import subprocess
import time
from pathlib import Path

from copies import TOY, command, environment, outputs, snakemake


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start the suite `toy` as the leader of its own group of processes."""
    return subprocess.Popen(
        command("--cores", "2", *TOY),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for(folder: Path, pattern: str, count: int, run: subprocess.Popen[bytes]) -> None:
    """Wait until ``count`` files are there; the run must still be at work then."""
    deadline = time.monotonic() + 120
    while len(list(folder.glob(pattern))) < count:
        assert time.monotonic() < deadline, f"no {pattern} after two minutes"
        assert run.poll() is None, f"the run ended before {count} of {pattern}"
        time.sleep(0.02)


MOMENTS = [
    ("results/selection/toy/**/*.json", 1, "driver"),
    ("results/runs/toy/**/*.json", 3, "everything"),
    ("paper/toy/summary/runs.csv", 1, "driver"),
]


def test_kill_9_again_and_again(toy: Path, clone: Path) -> None:
    """Once with the jobs, twice the driver alone, whose jobs live on and go on writing."""
    for pattern, count, victim in MOMENTS:
        run = start(clone)
        wait_for(clone, pattern, count, run)
        if victim == "driver":
            os.kill(run.pid, signal.SIGKILL)
        else:
            os.killpg(run.pid, signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
    again = snakemake(clone, "--cores", "2", *TOY)
    assert again.returncode == 0, again.stdout
    whole = {name: content for name, content in outputs(clone).items() if "/." not in name}
    assert whole == outputs(toy)
    assert "Nothing to be done" in snakemake(clone, "--cores", "2", *TOY).stdout
