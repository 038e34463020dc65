"""How many bytes a learner keeps after a stream, and how many its process needed, in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparcl import methods
from sparcl.base.errors import InputError
from sparcl.features import store
from sparcl.learners.learner import Learner
from sparcl.protocol import stream, stress

ROOT = Path(__file__).resolve().parents[2]


def kept(learner: Learner) -> int:
    """Return the bytes of the arrays in a learner's state: what it needs to go on."""
    return sum(part.nbytes for part in learner.state().values() if isinstance(part, np.ndarray))


def peak() -> int:
    """Return the largest resident memory of this process so far, in bytes.

    Linux counts it for a program in /proc; ``getrusage`` would count the parent's before the program
    was loaded, too.
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
    features : path of the training features
    order, sessions : seed of the class order, number of sessions
    variant : ``learner`` and its ``hyper``

    Returns
    -------
    ``state_bytes`` after the last session; ``start_bytes``, the peak of interpreter, libraries and
    features before the first; ``peak_bytes`` after the last.
    """
    data = store.read(features)
    parts = stream.split_sessions(stream.class_order(order, len(data.class_names)), sessions)
    (train,) = stress.splits({"normalize": True, "stress": {}}, parts, data)
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
        The process fails; its last line says why.
    """
    done = subprocess.run(
        [sys.executable, "-m", "sparcl.report.memory", json.dumps(task)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
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
