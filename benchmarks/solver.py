"""Cost of the solver's steps as ratios measured in one process: python benchmarks/solver.py.

Each ratio first asserts that both sides give the same outcome; then both run in turn, REPEATS
times, and the table shows the ratio of medians and of minima.  The numbers of BLAS threads named
on the command line (default 1 and 2) each get a process of their own, since OpenBLAS fixes them
at import.  A verdict is on the ratio of minima: the machine's other work can only add time.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

REPEATS = int(os.environ.get("SPARCL_BENCH_REPEATS", "9"))
THREADS = "SPARCL_BENCH_THREADS"
D, N, CLASSES, FEW = 768, 5000, 100, 32


@dataclass
class Row:
    """One line of the table: a measured number, its target, and whether larger is better."""

    name: str
    median: float
    best: float
    target: float | None = None
    larger: bool = False

    def verdict(self) -> str:
        """Return whether the best ratio meets the target."""
        if self.target is None:
            return ""
        met = self.best >= self.target if self.larger else self.best <= self.target
        return "met" if met else "MISSED"

    def __str__(self) -> str:
        target = ""
        if self.target is not None:
            target = f"{'>=' if self.larger else '<='} {self.target:g}"
        return f"{self.name:<58}{self.median:>8.2f}{self.best:>8.2f}  {target:<8}{self.verdict()}"


def timed(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_turn(*calls: Callable[[], float]) -> np.ndarray:
    """Return seconds (REPEATS, calls); each call times itself, so that it may prepare first."""
    for call in calls:
        call()
    return np.array([[call() for call in calls] for _ in range(REPEATS)])


def ratio(name: str, seconds: np.ndarray, **target: object) -> Row:
    """Compare the first column with the second."""
    return Row(
        name,
        float(np.median(seconds[:, 0]) / np.median(seconds[:, 1])),
        float(seconds[:, 0].min() / seconds[:, 1].min()),
        **target,
    )


def same(a: np.ndarray, b: np.ndarray, limit: float) -> None:
    """Stop where two outcomes differ by more than ``limit``, relative."""
    error = np.abs(a - b).max() / np.abs(b).max()
    if not error < limit:
        raise SystemExit(f"outcomes differ by {error:.1e}: no time is worth comparing")


def features(rng: np.random.Generator, n: int, d: int, classes: int, first: int) -> tuple:
    """Unit-norm rows of ``classes`` classes about a common mean, with a decaying spectrum."""
    spread = np.arange(1, d + 1) ** -0.25
    centres = 0.5 + spread * rng.standard_normal((classes, d))
    y = np.arange(n) % classes
    Phi = centres[y] + spread * rng.standard_normal((n, d))
    return Phi / np.linalg.norm(Phi, axis=1, keepdims=True), y + first


def sessions() -> list[Row]:
    """Compare a SPARCL session with a joint-ridge session, d = 768, n_t = 5,000, c = 100."""
    from sparcl.methods import build

    rng = np.random.default_rng(0)
    stream = [features(rng, N, D, CLASSES // 4, t * CLASSES // 4) for t in range(4)]

    def last_two(name: str, **hyper: object) -> Callable[[], np.ndarray]:
        """Time sessions 3 and 4 of a learner, with 75 and 100 classes."""
        learner = build(name, ridge=1.0, **hyper)
        for session in stream[:2]:
            learner.fit_session(*session)
        state = learner.state()

        def call() -> np.ndarray:
            again = type(learner).from_state(state)
            seconds = [timed(lambda s=s: again.fit_session(*s)) for s in stream[2:]]
            return np.array(seconds)

        return call

    rows = []
    for tau in (0.5, 0.95):
        off = build("sparcl", ridge=1.0, k=0, tau=None)
        joint = build("acil", ridge=1.0)
        for session in stream:
            off.fit_session(*session)
            joint.fit_session(*session)
        same(off.weights, joint.weights, 1e-10)
        fixed = last_two("sparcl", tau=tau, refresh=0)
        every = last_two("sparcl", tau=tau, refresh=2)  # renews before session 4
        plain = last_two("acil")
        seconds = in_turn(fixed, every, plain)  # (REPEATS, 3, 2)
        k = _rank(build, stream, tau)
        label = f"tau {tau:g} (k = {k}) / joint ridge"
        rows.append(ratio(f"session without refresh, {label}", seconds[:, [0, 2], 1], target=1.5))
        pairs = seconds.sum(axis=2)
        rows.append(ratio(f"refresh every 2 sessions, {label}", pairs[:, [1, 2]], target=2.2))
        rows.append(ratio(f"  the session that renews, {label}", seconds[:, [1, 2], 1]))
    return rows


def _rank(build: Callable, stream: list, tau: float) -> int:
    learner = build("sparcl", ridge=1.0, tau=tau, refresh=1)
    for session in stream[:2]:
        learner.fit_session(*session)
    return int(learner.report()["k"])


def recursion() -> list[Row]:
    """Compare a recursive update with a direct session, n_t = 32."""
    from sparcl.methods import build

    rng = np.random.default_rng(1)
    base = [features(rng, N, D, CLASSES // 2, t * CLASSES // 2) for t in range(2)]
    few = [features(rng, FEW, D, 2, CLASSES + 2 * (t // 4)) for t in range(3 * REPEATS)]
    rows = []
    for how in ({"tau": 0.5}, {"k": 64, "tau": None}, {"tau": 0.95}):
        learners = []
        for update in ("woodbury", "direct"):
            learner = build("sparcl", ridge=0.1, refresh=0, update=update, **how)
            for session in [*base, few[0]]:  # the first small session builds the inverse
                learner.fit_session(*session)
            learners.append(learner)
        fast, slow = learners
        seconds = []
        for session in few[1:]:  # every session is a repeat of both, new classes in each fourth
            seconds.append([timed(lambda: one.fit_session(*session)) for one in (slow, fast)])  # noqa: B023
            same(fast.weights, slow.weights, 1e-8)
        seconds, k = np.array(seconds), fast.report()["k"]
        rows.append(
            ratio(
                f"direct session / recursive update, n_t = {FEW}, k = {k}",
                seconds,
                target=3.0,
                larger=True,
            )
        )
    return rows


def gram(d: int) -> Row:
    """Symmetric accumulation, counted as n d^2 flops, against the matrix-multiply rate."""
    from sparcl.algebra.sums import Gram

    n, rng = 4096, np.random.default_rng(2)
    Phi, A = rng.standard_normal((n, d)), np.asfortranarray(rng.standard_normal((d, n)))
    kept = Gram(d)
    kept.add(Phi)
    same(kept.R, Phi.T @ Phi, 1e-12)
    seconds = in_turn(lambda: timed(lambda: kept.add(Phi)), lambda: timed(lambda: A @ Phi))
    ours, theirs = n * d * d / seconds[:, 0], 2 * n * d * d / seconds[:, 1]
    return Row(
        f"Gram rate / matrix-multiply rate, d = {d} ({theirs.max() / 1e9:.0f} GFLOP/s)",
        float(np.median(ours) / np.median(theirs)),
        float(ours.max() / theirs.max()),
        0.55,
        larger=True,
    )


def exponent(sizes: list[int], prepare: Callable[[int], Callable[[], object]]) -> float:
    """Return the slope of log time over log size, from minima."""
    least = []
    for size in sizes:
        call = prepare(size)
        call()
        least.append(min(timed(call) for _ in range(REPEATS)))
    return float(np.polyfit(np.log(sizes), np.log(least), 1)[0])


def complexity() -> list[Row]:
    """Fitted exponents beside those of the operation counts, which small sizes stay below."""
    from sparcl.algebra import recursive, spectra
    from sparcl.algebra.partition import Spectrum
    from sparcl.algebra.sums import Gram

    rng = np.random.default_rng(3)

    def matrix(d: int) -> np.ndarray:
        Phi = rng.standard_normal((2 * d, d)) * np.arange(1, d + 1) ** -0.7
        return np.asfortranarray(Phi.T @ Phi)

    def factor(d: int) -> Callable[[], object]:
        R = Gram.wrap(matrix(d))

        def call() -> None:
            with R.factored(1.0):
                pass

        return call

    def truncated(d: int) -> Callable[[], object]:
        R = matrix(d)
        return lambda: Spectrum(R).split(k=16)

    def dense(d: int) -> Callable[[], object]:
        R = matrix(d)
        return lambda: spectra.descending_eigh(R)

    def cores(k: int) -> Callable[[], object]:
        R, U = Gram.wrap(matrix(768)), np.asfortranarray(np.eye(768)[:, :k])

        def call() -> None:
            with R.factored(1.0) as A:
                for _ in range(10):  # so that the solves outweigh the factor
                    A.solve(U)

        return call

    def update(n: int) -> Callable[[], object]:
        R = Gram.wrap(matrix(768))
        P = recursive.residual_inverse(R, 1.0, np.zeros((768, 0), order="F"))
        X = rng.standard_normal((n, 768))
        return lambda: recursive.woodbury(P, X)

    def sums(n: int) -> Callable[[], object]:
        R, Phi = Gram(768), rng.standard_normal((n, 768))
        return lambda: R.add(Phi)

    dims = [512, 768, 1152, 1728]
    found = [
        ("factor of R + ridge I over d (3)", exponent(dims, factor)),
        ("dense decomposition over d (3)", exponent(dims[:3], dense)),
        ("truncated decomposition, k = 16, over d (2)", exponent(dims, truncated)),
        ("solves for the core over k (1)", exponent([64, 128, 256, 512], cores)),
        ("recursive update over n_t (1)", exponent([32, 64, 128, 256], update)),
        ("Gram accumulation over n_t (1)", exponent([500, 1000, 2000, 4000], sums)),
    ]
    return [Row(f"exponent: {name}", slope, slope) for name, slope in found]


def main() -> None:
    """Print one table a number of threads."""
    threads = os.environ.get(THREADS)
    if threads is None:
        for count in sys.argv[1:] or ["1", "2"]:
            names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", THREADS)
            environment = os.environ | dict.fromkeys(names, count)
            subprocess.run([sys.executable, __file__], env=environment, check=True)
        return
    print(f"{threads} BLAS thread(s), {REPEATS} repeats".ljust(58) + "  median    best  target")
    for part in (sessions, recursion, lambda: map(gram, (D, 1280)), complexity):
        for row in part():
            print(row, flush=True)
    print()


if __name__ == "__main__":
    main()
