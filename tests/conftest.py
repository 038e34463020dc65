"""Settings and fixtures that tests of several folders share."""

import copy
import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# What tests start finds the study and the figures, which are no installed packages.
os.environ["PYTHONPATH"] = os.pathsep.join(
    str(folder) for folder in (Path(__file__).parents[1], Path(__file__).parents[1] / "workflow")
)

# Before numpy loads: small matrices gain nothing from threads, and sums keep their bits.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import copies
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from sparcl.features import store

# Tests write a great many small files, and each waits for its disk. In memory, where there is space and programs may
# run, that wait is nothing.
MEMORY, SPACE = "/dev/shm", 6 << 30
if (
    os.path.isdir(MEMORY)
    and shutil.disk_usage(MEMORY).free > SPACE
    and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)

ROOT = Path(__file__).resolve().parents[1]
LONG = ("extraction", "fuzz", "packaging", "trained", "workflow")

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=50,
    # The fixtures that property tests use hold no state, so sharing them between examples is safe.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("ci")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without a search for garbage: what is imported stays, and later searches leave it out."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the folders with the longest files first: no worker is left alone with a long file at the end."""
    items.sort(key=lambda item: item.path.relative_to(ROOT / "tests").parts[0] not in LONG)


@pytest.fixture(scope="session")
def project() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def loaded() -> dict[str, Any]:
    """All settings, read once."""
    return copies.loaded()


@pytest.fixture
def params(loaded: dict[str, Any]) -> dict[str, Any]:
    """All settings, free to change."""
    return copy.deepcopy(loaded)


@pytest.fixture
def content() -> dict[str, Any]:
    """A valid feature file of 12 samples, 5 features, 3 classes, as arguments of `store.write`."""
    rng = np.random.default_rng(0)
    return {
        "features": rng.standard_normal((12, 5)).astype(np.float16),
        "labels": np.arange(12) % 3,
        "ids": [f"train/ä{i}.png" for i in range(12)],
        "class_names": ["ant", "bee", "cat"],
        "meta": {
            "dataset": "toy",
            "split": "train",
            "backbone": "toy-net",
            "timm_id": "toy",
            "weights_sha256": "0" * 64,
            "preprocessing": {"size": 224, "crop": 1.0, "mean": [0.5, 0.5, 0.5]},
        },
        "blocks": rng.standard_normal((12, 2, 5)).astype(np.float16),
        "blocks_mean": rng.standard_normal((12, 5)).astype(np.float16),
    }


@pytest.fixture
def feature_file(tmp_path: Path, content: dict[str, Any]) -> Path:
    path = tmp_path / "toy" / "train.h5"
    store.write(path, **content)
    return path
