"""What the benchmarks of speed share: threads, clocks, features, and outcomes that must agree before a time counts."""

import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

THREADS = "SPARCL_BENCH_THREADS"


def threads(count: str | None = None) -> str:
    """Return the number of BLAS threads; with another one the program starts again, as OpenBLAS fixes it at import.

    Parameters
    ----------
    count : the number; else that of SPARCL_BENCH_THREADS, or 2
    """
    count = count or os.environ.get(THREADS, "2")
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", THREADS)
    if any(os.environ.get(name) != count for name in names):
        environment = os.environ | dict.fromkeys(names, count)
        raise SystemExit(subprocess.run([sys.executable, *sys.argv], env=environment).returncode)
    return count


def timed(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds that a call takes, by this clock."""
    start = clock()
    call()
    return clock() - start


def close(what: str, a: np.ndarray, b: np.ndarray, limit: float) -> None:
    """Stop where two outcomes differ by more than ``limit``, relative to the largest entry."""
    error = np.abs(a - b).max() / np.abs(b).max()
    if not error <= limit:
        raise SystemExit(f"{what} differ by {error:.1e}: no time is worth printing")


def same_predictions(name: str, ours: np.ndarray, theirs: np.ndarray, limit: float) -> None:
    """Stop where scores (n, c) differ by more than ``limit``, or any prediction does."""
    close(f"{name}: scores", ours, theirs, limit)
    changed = np.count_nonzero(ours.argmax(axis=1) != theirs.argmax(axis=1))
    if changed:
        raise SystemExit(f"{name}: {changed} of {len(ours)} predictions differ")


def features(
    rng: np.random.Generator, centres: np.ndarray, y: np.ndarray, norm: float = 1.0
) -> np.ndarray:
    """Return rows (n, d) of this norm about a common mean and the centres (c, d) of their classes y (n,).

    The spectrum decays in both, and deviations from a centre are standard normal before.
    """
    spread = np.arange(1, centres.shape[1] + 1) ** -0.25
    Phi = 0.5 + spread * (centres[y] + rng.standard_normal((len(y), centres.shape[1])))
    return norm * Phi / np.linalg.norm(Phi, axis=1, keepdims=True)


def verdict(value: float, target: float | None, *, larger: bool = False) -> str:
    """Return a target and whether a value meets it."""
    if target is None:
        return ""
    met = value >= target if larger else value <= target
    return f"{'>=' if larger else '<='} {target:g} {'met' if met else 'MISSED'}"
