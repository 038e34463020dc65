"""Bytes kept and needed: the state's arrays are counted, the peak is of a process of its own."""

import numpy as np
import pytest
from tiny_suite import CLASSES, WIDTH, write_split

from sparcl import methods
from sparcl.base.errors import InputError
from study.report import memory


@pytest.fixture
def task(tmp_path):
    path = write_split(tmp_path, "tiny-a", "train")
    variant = {"learner": "acil", "hyper": {"ridge": 1.0}}
    return {"features": str(path), "order": 1993, "sessions": 3, "variant": variant}


def test_kept_are_the_sums_at_least() -> None:
    learner = methods.build("acil", ridge=1.0)
    rng = np.random.default_rng(0)
    learner.fit_session(rng.standard_normal((20, 8)), np.repeat([0, 1], 10))
    arrays = [part for part in learner.state().values() if isinstance(part, np.ndarray)]
    assert memory.kept(learner) == sum(part.size * part.itemsize for part in arrays)
    assert memory.kept(learner) >= 8 * (8 * 8 + 8 * 2)


def test_a_large_parent_does_not_show(task) -> None:
    ballast = np.ones(2**26)  # half a gigabyte
    sizes = memory.apart(**task)
    assert sizes["state_bytes"] >= 8 * WIDTH * (WIDTH + CLASSES)
    assert 10**7 < sizes["start_bytes"] <= sizes["peak_bytes"] < ballast.nbytes < memory.peak()


def test_a_failing_process_says_why(task) -> None:
    task["variant"] = {"learner": "acil", "hyper": {"ridge": -1.0}}
    with pytest.raises(InputError, match="ridge"):
        memory.apart(**task)
