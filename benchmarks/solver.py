"""Cost of the solver's steps as ratios measured in one process: python benchmarks/solver.py.

Each ratio first asserts that both sides give the same outcome; then both run in turn, REPEATS
times, and the table shows the ratio of medians and of minima.  SPARCL_BENCH_THREADS gives the number
of BLAS threads (default 2).  A verdict is on the ratio of minima: the machine's other work can only
add time.
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from harness import close, features, threads, timed, verdict

from sparcl.algebra.sums import Gram
from sparcl.methods import build

REPEATS = int(os.environ.get("SPARCL_BENCH_REPEATS", "9"))
D, N, CLASSES, FEW = 768, 5000, 100, 32


def in_turn(*calls: Callable[[], Any]) -> np.ndarray:
    """Return seconds (REPEATS, calls); each call times itself, so that it may prepare first."""
    for call in calls:
        call()
    return np.array([[call() for call in calls] for _ in range(REPEATS)])


def ratio(name: str, seconds: np.ndarray, target: float | None = None, larger: bool = False) -> str:
    """Return a line of the table: the first column over the second, by medians and by minima."""
    median, best = (f(seconds, axis=0)[0] / f(seconds, axis=0)[1] for f in (np.median, np.min))
    return f"{name:<58}{median:>8.2f}{best:>8.2f}  {verdict(best, target, larger=larger)}"


def drawn(rng: np.random.Generator, n: int, classes: int, first: int) -> tuple:
    """Return n rows and labels of ``classes`` classes, which are numbered from ``first``."""
    y = np.arange(n) % classes
    return features(rng, rng.standard_normal((classes, D)), y), y + first


def sessions() -> Iterator[str]:
    """Compare a SPARCL session with a joint-ridge session, d = 768, n_t = 5,000, c = 100."""
    rng = np.random.default_rng(0)
    stream = [drawn(rng, N, CLASSES // 4, t * CLASSES // 4) for t in range(4)]

    def learned(name: str, length: int, **hyper: Any) -> Any:
        """Return a learner of the first sessions."""
        learner = build(name, ridge=1.0, **hyper)
        for session in stream[:length]:
            learner.fit_session(*session)
        return learner

    def last_two(name: str, **hyper: Any) -> Callable[[], list[float]]:
        """Return what times sessions 3 and 4 of a learner, with 75 and 100 classes."""
        learner = learned(name, 2, **hyper)
        state = learner.state()

        def call() -> list[float]:
            again = type(learner).from_state(state)
            return [timed(lambda s=s: again.fit_session(*s)) for s in stream[2:]]

        return call

    without = learned("sparcl", 4, k=0, tau=None).weights
    close("weights without a core", without, learned("acil", 4).weights, 1e-10)
    for tau in (0.5, 0.95):
        fixed = last_two("sparcl", tau=tau, refresh=0)
        every = last_two("sparcl", tau=tau, refresh=2)  # renews before session 4
        seconds = in_turn(fixed, every, last_two("acil"))  # (REPEATS, 3, 2)
        k = learned("sparcl", 2, tau=tau, refresh=1).report()["k"]
        label = f"tau {tau:g} (k = {k}) / joint ridge"
        yield ratio(f"session without refresh, {label}", seconds[:, [0, 2], 1], 1.5)
        yield ratio(f"refresh every 2 sessions, {label}", seconds.sum(axis=2)[:, [1, 2]], 2.2)
        yield ratio(f"  the session that renews, {label}", seconds[:, [1, 2], 1])


def recursion() -> Iterator[str]:
    """Compare a recursive update with a direct session, n_t = 32."""
    rng = np.random.default_rng(1)
    base = [drawn(rng, N, CLASSES // 2, t * CLASSES // 2) for t in range(2)]
    few = [drawn(rng, FEW, 2, CLASSES + 2 * (t // 4)) for t in range(3 * REPEATS)]
    for how in ({"tau": 0.5}, {"k": 64, "tau": None}, {"tau": 0.95}):
        direct, recursive = (
            build("sparcl", ridge=0.1, refresh=0, update=update, **how)
            for update in ("direct", "woodbury")
        )
        seconds = []
        for session in [
            *base,
            *few,
        ]:  # of the few each is a repeat of both, new classes in each fourth
            both = [timed(lambda: one.fit_session(*session)) for one in (direct, recursive)]  # noqa: B023
            seconds.append(both)
            close("weights", recursive.weights, direct.weights, 1e-8)
        name = f"direct session / recursive update, n_t = {FEW}, k = {recursive.report()['k']}"
        # the first small session builds the inverse
        yield ratio(name, np.array(seconds[len(base) + 1 :]), 3.0, larger=True)


def accumulation() -> Iterator[str]:
    """Compare symmetric accumulation, counted as n d^2 flops, with the matrix-multiply rate."""
    n, rng = 4096, np.random.default_rng(2)
    for d in (D, 1280):
        Phi, A = rng.standard_normal((n, d)), np.asfortranarray(rng.standard_normal((d, n)))
        kept = Gram(d)
        kept.add(Phi)
        close("R and a product", kept.R, Phi.T @ Phi, 1e-12)
        seconds = in_turn(lambda: timed(lambda: A @ Phi), lambda: timed(lambda: kept.add(Phi)))  # noqa: B023
        rate = 2 * n * d**2 / seconds[:, 0].min() / 1e9
        name = f"Gram rate / matrix-multiply rate, d = {d} ({rate:.0f} GFLOP/s)"
        yield ratio(name, seconds * [0.5, 1.0], 0.55, larger=True)  # a product has twice the flops


if __name__ == "__main__":
    print(f"{threads()} BLAS thread(s), {REPEATS} repeats".ljust(58) + "  median    best  target")
    for part in (sessions, recursion, accumulation):
        for row in part():
            print(row, flush=True)
