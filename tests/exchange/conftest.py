"""A run record of ten classes in four sessions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparcl.protocol import stream
from study.sealed import write_sealed


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Path]:
    """Return a call that writes the record of a run with drawn counts."""

    def write(order: int = 1993, sizes: tuple[int, ...] = (4, 2, 2, 2), **names: Any) -> Path:
        K, T = sum(sizes), len(sizes)
        classes = names.pop("classes", stream.class_order(order, K).tolist())
        rng = np.random.default_rng(order)
        counts = rng.integers(5, 40, K)
        session = np.repeat(np.arange(T), sizes)
        seen = session <= np.arange(T)[:, None]
        content = {
            "suite": "tiny",
            "dataset": "cub-50",
            "backbone": "net",
            "method": "acil",
            "order": order,
            "seed": 0,
            "hyper": {"ridge": 0.1, "ridges": [0.1, 1.0]},
        } | names
        path = tmp_path / "{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.json".format(
            **content
        )
        write_sealed(
            path,
            content
            | {
                "classes": classes,
                "session_of_class": session.tolist(),
                "test_counts": counts.tolist(),
                "correct": (rng.integers(0, counts + 1, (T, K)) * seen).tolist(),
            },
        )
        return path

    return write
