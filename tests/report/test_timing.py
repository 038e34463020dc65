"""Relative times: a ratio of medians, the first variant is the unit."""

import numpy as np
import pytest
from reference.streams import synthetic_stream

from sparcl.base.errors import InputError
from study.loop.experiment import Split
from study.report import timing


def test_ratio_of_medians(monkeypatch: pytest.MonkeyPatch) -> None:
    # a clock on which every fit of all sessions takes 2, 6, 3, 9, 4, 12 seconds in turn
    ticks = iter(np.cumsum([0, 2, 1, 6, 1, 3, 1, 9, 1, 4, 1, 12]).tolist())
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(ticks))
    parts = [Split(Phi, y) for Phi, y in synthetic_stream()]
    unit = {"learner": "acil", "hyper": {}}
    rows = timing.relative(parts, {"a": unit, "b": unit}, repeats=3)
    assert [row["method"] for row in rows] == ["a", "b"]
    assert [row["seconds"] for row in rows] == [3, 9]
    assert [row["relative_time"] for row in rows] == [1, 3]
    assert [row["tau_post"] for row in rows] == [0.75, 2.25]  # four sessions


def test_the_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    named = timing.machine()
    assert named["processor"] and named["threads"] == 3


def test_nothing_to_time_is_refused() -> None:
    with pytest.raises(InputError):
        timing.relative([], {}, repeats=1)
