"""Shared settings and fixtures of the numeric tests."""

import os

# Before numpy loads: small matrices gain nothing from threads, and sums keep their bits.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from reference.streams import Session, synthetic_stream

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=50,
    # The fixtures that property tests use hold no state, so sharing them between examples is safe.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("ci")


@pytest.fixture
def stream() -> list[Session]:
    """Four sessions of three classes, 36 samples each, 16 features."""
    return synthetic_stream()


@pytest.fixture
def probe() -> np.ndarray:
    """Forty unit-norm vectors that no session has seen."""
    rng = np.random.default_rng(99)
    rows = rng.standard_normal((40, 16))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
