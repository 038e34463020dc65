"""Times are ratios of medians; of bytes kept the state's arrays are counted, and a peak is of a process of its own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.streams import synthetic_stream
from tiny_suite import CLASSES, WIDTH, write_split

from sparcl import methods
from sparcl.base.errors import InputError
from study.loop.experiment import Split
from study.report import memory, timing


def test_ratio_of_medians(monkeypatch: pytest.MonkeyPatch) -> None:
    # a clock on which every fit of all sessions takes 2, 6, 3, 9, 4, 12 seconds in turn
    ticks = iter(np.cumsum([0, 2, 1, 6, 1, 3, 1, 9, 1, 4, 1, 12]).tolist())
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(ticks))
    parts = [Split(Phi, y) for Phi, y in synthetic_stream()]
    unit = {"learner": "acil", "hyper": {}}
    assert timing.relative(parts, {"a": unit, "b": unit}, repeats=3) == [
        {"method": "a", "seconds": 3, "tau_post": 0.75, "relative_time": 1},  # four sessions
        {"method": "b", "seconds": 9, "tau_post": 2.25, "relative_time": 3},
    ]


def test_the_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    named = timing.machine()
    assert named["processor"] and named["threads"] == 3


def test_kept_are_the_sums_at_least() -> None:
    learner = methods.build("acil", ridge=1.0)
    rng = np.random.default_rng(0)
    learner.fit_session(rng.standard_normal((20, 8)), np.repeat([0, 1], 10))
    arrays = [part for part in learner.state().values() if isinstance(part, np.ndarray)]
    assert memory.kept(learner) == sum(part.size * part.itemsize for part in arrays)
    assert memory.kept(learner) >= 8 * (8 * 8 + 8 * 2)


def test_a_large_parent_does_not_show_and_a_failing_process_says_why(tmp_path: Path) -> None:
    path = write_split(tmp_path, "tiny-a", "train")
    variant: dict[str, Any] = {"learner": "acil", "hyper": {"ridge": 1.0}}
    task = {"features": str(path), "order": 1993, "sessions": 3, "variant": variant}
    ballast = np.ones(2**26)  # half a gigabyte
    sizes = memory.apart(**task)
    assert sizes["state_bytes"] >= 8 * WIDTH * (WIDTH + CLASSES)
    assert 10**7 < sizes["start_bytes"] <= sizes["peak_bytes"] < ballast.nbytes < memory.peak()
    variant["hyper"]["ridge"] = -1.0
    with pytest.raises(InputError, match="ridge"):
        memory.apart(**task)
