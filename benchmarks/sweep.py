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
from harness import close, verdict

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


@dataclass(frozen=True)
class Case:
    """A method and its grid; orders x ridges x taus are 100."""

    method: str
    orders: int
    grid: dict[str, list[float]]


CASES = {
    "sparcl": Case("sparcl", 10, {"ridge": [0.03, 0.1, 0.3, 1.0, 3.0], "tau": [0.5, 0.95]}),
    "acil": Case("acil", 4, {"ridge": [float(r) for r in np.geomspace(0.01, 10, 25)]}),
}


@dataclass(frozen=True)
class Result:
    """Seconds of the pass over the samples, of the whole sweep, and of each run on its own."""

    name: str
    settings: int
    summing: float
    swept: float
    runs: list[float]
    nbytes: int

    @property
    def ratio(self) -> float:
        """Separate runs / sweep."""
        return self.settings * float(np.mean(self.runs)) / self.swept

    def __str__(self) -> str:
        return (
            f"{self.name:<8}{self.settings:>4} settings  sweep {self.swept:8.2f} s (pass over samples "
            f"{self.summing:.2f} s, sums {self.nbytes / 1e6:.0f} MB)  one run {np.mean(self.runs):7.2f} s "
            f"(mean of {len(self.runs)}, {min(self.runs):.2f} to {max(self.runs):.2f})  ratio "
            f"{self.ratio:5.1f} {verdict(self.ratio, TARGET, larger=True)}"
        )


def drawn(sizes: Sizes, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit-norm rows about overlapping class means, with a decaying spectrum, and labels."""
    centres = 0.15 * np.random.default_rng(0).standard_normal((sizes.classes, sizes.d))
    rng = np.random.default_rng([1, seed])
    y = rng.permutation(n) % sizes.classes
    return harness.features(rng, centres, y), y


def compare(name: str, sizes: Sizes, runs: int) -> Result:
    """Sweep a grid, run some of its settings on their own, and stop where outcomes differ."""
    case = CASES[name]
    train, test = drawn(sizes, sizes.n, 0), drawn(sizes, sizes.test, 1)
    grid = {key: values[:: sizes.part] for key, values in case.grid.items()}
    orders = [
        stream.split_sessions(stream.class_order(1993 + i, sizes.classes), sizes.sessions)
        for i in range(case.orders)[:: sizes.part]
    ]
    began = time.perf_counter()
    sums = ClassSums(sizes.d, sizes.classes)
    for start in range(0, sizes.n, 4096):
        sums.accumulate(train[0][start : start + 4096], train[1][start : start + 4096])
    summing = swept = time.perf_counter() - began
    points = list(itertools.product(*(range(len(values)) for values in grid.values())))
    settings = len(orders) * len(points)
    alone = np.linspace(0, settings - 1, runs).astype(int)
    seconds = []
    for o, sessions in enumerate(orders):  # both sides take turns, as the machine's load may change
        began = time.perf_counter()
        fitted = sweep.learner(case.method, grid)
        counts = sweep.correct(sums, *test, sessions, fitted)
        swept += time.perf_counter() - began
        for i, *j in (points[s % len(points)] for s in alone if s // len(points) == o):
            point = (i, *j, 0)[:2]
            hyper = {key: grid[key][k] for key, k in zip(grid, (i, *j), strict=True)}
            began = time.perf_counter()
            learner, hits = run(case.method, hyper, train, test, sessions)
            seconds.append(time.perf_counter() - began)
            where = f"{name}, order {1993 + o * sizes.part}, {hyper}"
            if not np.array_equal(hits, counts[point]):
                raise SystemExit(f"{where}: counts differ, no time is worth comparing")
            close(f"{where}: R", fitted.sums.R, learner.sums.R, 1e-12)
            solved = fitted.solutions.weights[list(counts).index(point)]
            close(f"{where}: weights", solved, learner.weights, 1e-9)
    return Result(name, settings, summing, swept, seconds, sums.nbytes)


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
        print(compare(name, sizes, chosen.runs), flush=True)


if __name__ == "__main__":
    main()
