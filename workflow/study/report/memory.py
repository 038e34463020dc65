"""How much memory a learner keeps after a stream, and how much fitting it takes."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import InputError
from sparcl.base.rows import prepared
from sparcl.features import store
from sparcl.learners.learner import Learner
from sparcl.protocol import stream
from study import methods
from study.loop.experiment import Split

ROOT = Path(__file__).resolve().parents[3]


def kept(learner: Learner) -> int:
    """Return the size of the arrays in a learner's state, in bytes."""
    return sum(part.nbytes for part in learner.state().values() if isinstance(part, np.ndarray))


def peak() -> int:
    """Return the largest resident memory of this process so far, in bytes.

    On Linux this reads /proc, since ``getrusage`` includes the parent's memory before the program
    was loaded.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        lines = status.read_text(encoding="utf-8").splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS: in bytes


def measure(features: str, order: int, sessions: int, variant: Mapping[str, Any]) -> dict[str, int]:
    """Fit one learner on one stream in this process.

    Parameters
    ----------
    features : str
        Path of the training features.
    order, sessions : int
        Seed of the class order, and number of sessions.
    variant : mapping
        ``learner`` and its ``hyper``.

    Returns
    -------
    dict
        ``state_bytes``: size of the state after the last session; ``start_bytes``: peak memory
        with interpreter, libraries and features before the first; ``peak_bytes``: after the last.
    """
    data = store.read(features)
    parts = stream.split_sessions(stream.class_order(order, len(data.class_names)), sessions)
    train = Split(prepared(data.features, True), data.labels)
    learner = methods.build(variant["learner"], **variant["hyper"])
    start = peak()
    for classes in parts:
        part = train.rows(classes)
        learner.fit_session(part.features, part.labels)
    return {"state_bytes": kept(learner), "start_bytes": start, "peak_bytes": peak()}


def apart(**task: Any) -> dict[str, int]:
    """Call :func:`measure` in a new process, since a peak never falls.

    Raises
    ------
    InputError
        The process fails; the message ends with its last line.
    """
    done = subprocess.run(
        [sys.executable, "-m", "study.report.memory", json.dumps(task)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "workflow")])},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(
            f"memory of {task['variant']}: the process that measures it failed: {last}"
        )
    return json.loads(done.stdout)


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
