"""A sweep of 100 settings from the sums of classes against 100 runs: python benchmarks/sweep.py.

    sweep.py [--small] [--runs 10]

50,000 x 768 invented features of unit norm, 100 classes in 10 sessions, 10,000 test rows.  A row is
100 settings of class order, ridge and, for SPARCL, tau.  One side is what ``python -m study.sums sweep``
does in one process: one pass over the samples (``ClassSums``), then every class order with all its
ridges and taus.  The other is the learner on its own, one run a setting on features that lie in
memory: ``--runs`` of the 100 are run, spread over the grid, and their mean counts for the rest.  Both
sides count hits on the test rows after every session.

Before a time is printed it is asserted that each of these runs has the counts of every class and
session of the sweep, R to 1e-12 and weights to 1e-9, relative to their largest entry.

SPARCL_BENCH_THREADS gives the number of BLAS threads (default 2).  ``--small`` scales every size
down, for a test of outcomes.
"""

import argparse
import itertools
import time
from dataclasses import dataclass
from typing import Any

import harness
import numpy as np
from harness import close, timed, verdict

from sparcl import methods
from sparcl.protocol import stream
from study.sums import sweep
from study.sums.class_sums import ClassSums

TARGET = 3.0


@dataclass(frozen=True)
class Sizes:
    """Training and test rows, features, classes, sessions, and how much of a grid is kept."""

    n: int = 50_000
    test: int = 10_000
    d: int = 768
    classes: int = 100
    sessions: int = 10
    part: int = 1  # every part-th value of a grid


FULL = Sizes()
SMALL = Sizes(n=1500, test=300, d=40, classes=12, sessions=4, part=4)


# method -> class orders and grid; orders x ridges x taus are 100
CASES: dict[str, tuple[int, dict[str, list[float]]]] = {
    "sparcl": (10, {"ridge": [0.03, 0.1, 0.3, 1.0, 3.0], "tau": [0.5, 0.95]}),
    "acil": (4, {"ridge": [float(r) for r in np.geomspace(0.01, 10, 25)]}),
}


def drawn(sizes: Sizes, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit-norm rows about overlapping class means, with a decaying spectrum, and labels."""
    centres = 0.15 * np.random.default_rng(0).standard_normal((sizes.classes, sizes.d))
    rng = np.random.default_rng([1, seed])
    y = rng.permutation(n) % sizes.classes
    return harness.features(rng, centres, y), y


def compare(method: str, sizes: Sizes, runs: int) -> tuple[int, float, list[float]]:
    """Sweep a grid, run some of its settings on their own, stop where outcomes differ, and print a row.

    Returns
    -------
    int : settings of the grid; float : seconds of the sweep; list of float : seconds of each run
    """
    number, grid = CASES[method]
    train, test = drawn(sizes, sizes.n, 0), drawn(sizes, sizes.test, 1)
    grid = {key: values[:: sizes.part] for key, values in grid.items()}
    orders = range(1993, 1993 + number)[:: sizes.part]
    sums = ClassSums(sizes.d, sizes.classes)

    def summed() -> None:
        for start in range(0, sizes.n, 4096):
            sums.accumulate(train[0][start : start + 4096], train[1][start : start + 4096])

    summing = swept = timed(summed)
    points = list(itertools.product(*(range(len(values)) for values in grid.values())))
    settings = list(itertools.product(orders, points))
    alone = [settings[i] for i in np.linspace(0, len(settings) - 1, runs).astype(int)]
    seconds = []
    for order in orders:  # both sides take turns, as the machine's load may change
        sessions = stream.split_sessions(stream.class_order(order, sizes.classes), sizes.sessions)
        began = time.perf_counter()
        fitted = sweep.learner(method, grid)
        counts = sweep.correct(sums, *test, sessions, fitted)
        swept += time.perf_counter() - began
        for at in (at for of, at in alone if of == order):
            point = (*at, 0)[:2]
            hyper = {key: grid[key][k] for key, k in zip(grid, at, strict=True)}
            began = time.perf_counter()
            learner, hits = run(method, hyper, train, test, sessions)
            seconds.append(time.perf_counter() - began)
            where = f"{method}, order {order}, {hyper}"
            if not np.array_equal(hits, counts[point]):
                raise SystemExit(f"{where}: counts differ, no time is worth comparing")
            close(f"{where}: R", fitted.sums.R, learner.sums.R, 1e-12)
            solved = fitted.solutions.weights[list(counts).index(point)]
            close(f"{where}: weights", solved, learner.weights, 1e-9)
    ratio = len(settings) * float(np.mean(seconds)) / swept
    print(
        f"{method:<8}{len(settings):>4} settings  sweep {swept:8.2f} s (pass over samples {summing:.2f} s, sums "
        f"{sums.nbytes / 1e6:.0f} MB)  one run {np.mean(seconds):7.2f} s (mean of {runs}, {min(seconds):.2f} to "
        f"{max(seconds):.2f})  ratio {ratio:5.1f} {verdict(ratio, TARGET, larger=True)}",
        flush=True,
    )
    return len(settings), swept, seconds


def run(
    method: str,
    hyper: dict[str, float],
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    sessions: list[np.ndarray],
) -> tuple[Any, np.ndarray]:
    """Fit the learner on its own; return it and its hits (T, K) by place in the class order."""
    learner = methods.build(method, **hyper)
    order = np.concatenate(sessions)
    hits = np.zeros((len(sessions), len(order)), dtype=np.int64)
    for t, classes in enumerate(sessions):
        rows = stream.rows_of(train[1], classes)
        learner.fit_session(train[0][rows], train[1][rows])
        rows = stream.rows_of(test[1], learner.classes)
        labels = test[1][rows]
        hit = labels[learner.predict(test[0][rows]) == labels]
        hits[t] = np.bincount(hit, minlength=len(order))[order]
    return learner, hits


def main() -> None:
    """Print a row a method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--runs", type=int, default=10, help="settings that are run on their own")
    chosen = parser.parse_args()
    sizes = SMALL if chosen.small else FULL
    print(f"{sizes}, {harness.threads()} BLAS thread(s)")
    for name in CASES:
        compare(name, sizes, chosen.runs)


if __name__ == "__main__":
    main()
