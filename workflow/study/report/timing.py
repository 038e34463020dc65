"""How long learners take on one stream, measured in one process, and on what machine."""

import os
import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from study import methods
from study.loop.experiment import Split


def relative(
    sessions: Sequence[Split], variants: Mapping[str, Mapping[str, Any]], repeats: int
) -> list[dict[str, Any]]:
    """Return one row per variant with the median time to fit a stream.

    Variants take turns within a repeat, so that a change in the machine's load affects them all.

    Parameters
    ----------
    sessions : sequence of Split
        Features and labels of each session.
    variants : mapping
        Id -> ``learner`` and its ``hyper``; the first variant is the unit.
    repeats : int
        How often each variant is fitted.

    Returns
    -------
    list of dict
        ``method``; ``seconds`` for all sessions; ``tau_post``, seconds per session (the paper's
        time after extraction, without scoring); ``relative_time``, in units of the first variant.
    """
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(repeats):
        for name, variant in variants.items():
            learner = methods.build(variant["learner"], **variant["hyper"])
            start = time.perf_counter()
            for part in sessions:
                learner.fit_session(part.features, part.labels)
            seconds[name].append(time.perf_counter() - start)
    median = {name: float(np.median(taken)) for name, taken in seconds.items()}
    unit = next(iter(median.values()))
    return [
        {
            "method": name,
            "seconds": value,
            "tau_post": value / len(sessions),
            "relative_time": value / unit,
        }
        for name, value in median.items()
    ]


def machine() -> dict[str, Any]:
    """Return the processor's model, the BLAS threads that the environment allows, and versions."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "threads": int(os.environ.get("OPENBLAS_NUM_THREADS", os.cpu_count() or 1)),
        "numpy": np.__version__,
    }
