"""Time and memory against rows, features, width, classes and sessions: python benchmarks/scaling.py.

    scaling.py [--axis n d M K T] [--out docs/scaling] [--small]      measure, print, write, draw
    scaling.py --draw [--out docs/scaling]                            draw again from measured.csv

One axis changes, the others stay at ``Sizes``.  Every point is the quicker of two processes of its
own: its memory is the peak of its resident memory above that of imports and a warm BLAS, its time the
best of up to five runs, as many as fit into a second or so.  Features are generated block by block and their
generation is not timed.  A point that does not have the right outcome ends the benchmark.

An exponent is the least-squares slope of log time (or bytes) over log x, over the last three points,
where the largest term counts; beside it stands the one that the docstring named in ``source``
states.  Where memory has a stated coefficient, bytes are fitted by a multiple of the stated term and
a next smaller power of x.

--out writes measured.csv, fitted.csv and <axis>.png.  SPARCL_BENCH_THREADS gives the number of BLAS
threads (default 2).  --small shrinks everything, for a test of outcomes.
"""

import argparse
import csv
import ctypes
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from composition import write as write_csv
from harness import THREADS, close, threads, timed

from sparcl import methods
from sparcl.algebra import spectra
from sparcl.algebra.backend import product
from sparcl.algebra.partition import Spectrum
from sparcl.algebra.sums import Gram, Sums
from sparcl.base.rows import prepared
from sparcl.features import layout, store
from sparcl.parts.maps import RandomMap
from sparcl.protocol import stream
from study.report.memory import peak
from study.sums.class_sums import ClassSums

ROWS = 4096  # of a block of features, as feature files are read
BUDGET, RUNS = 1.0, 5  # seconds after which no further run of a point is begun; runs at most
LAST = 3  # points of the upper end that an exponent is fitted to
RIDGE = (
    1e4  # of a map of unit-norm rows by a normal matrix: within RanPAC's grid, solvable in float32
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """What stays while one axis changes, and the values of each axis."""

    n: int = 8192
    d: int = 768
    K: int = 100
    T: int = 10
    total: int = 20_000  # rows of a whole stream, whatever T
    per_class: int = 400  # rows of a class where sums of classes are kept as triangles
    axes: Mapping[str, Sequence[int]] = field(
        default_factory=lambda: {
            "n": (10_000, 30_000, 100_000, 300_000, 1_000_000),
            "d": (384, 768, 1024, 1536, 2048),
            "M": (1000, 2000, 4000, 7000, 10_000),
            "K": (10, 30, 100, 300, 1000),
            "T": (5, 10, 20, 50, 100),
        }
    )


FULL = Sizes()
SMALL = Sizes(
    n=256,
    d=24,
    K=6,
    T=3,
    total=240,
    per_class=20,
    axes={
        "n": (100, 200, 400),
        "d": (16, 24, 32),
        "M": (20, 40, 80),
        "K": (4, 8, 16),
        "T": (2, 3, 4),
    },
)


@dataclass(frozen=True)
class Task:
    """A point that is set up.

    run : does the work from its start and returns the seconds that count, and the outcome
    check : ends the benchmark unless an outcome is right
    flops : of a run, the terms that the docstring states; 0 where none are
    """

    run: Callable[[], tuple[float, Any]]
    check: Callable[[Any], None]
    flops: float = 0.0

    @classmethod
    def of(
        cls, call: Callable[[], Any], check: Callable[[Any], None], flops: float = 0.0
    ) -> "Task":
        """Return a task all of whose call is timed."""

        def run() -> tuple[float, Any]:
            outcome: list[Any] = []
            seconds = timed(lambda: outcome.append(call()))
            return seconds, outcome[0]

        return cls(run, check, flops)


@dataclass(frozen=True)
class Quantity:
    """What is measured along an axis, and what is stated about it.

    time, memory : stated exponents; None where nothing is stated
    source : whose docstring states them
    unit : bytes at (x, sizes) of which memory is stated to be one multiple
    """

    axis: str
    name: str
    prepare: Callable[[int, Sizes], Task]
    time: float | None
    source: str
    memory: float | None = None
    unit: Callable[[int, Sizes], float] | None = None

    def xs(self, sizes: Sizes) -> list[int]:
        """Return the values of the axis."""
        return list(sizes.axes[self.axis])


# --- features, and the check of sums ----------------------------------------------------------------


def rows(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return unit-norm rows (n, d) about a common mean, with a decaying spectrum."""
    Phi = rng.standard_normal((n, d), dtype=np.float32)
    Phi *= np.arange(1, d + 1, dtype=np.float32) ** -0.25
    Phi += 0.5
    Phi /= np.linalg.norm(Phi, axis=1, keepdims=True)
    return Phi.astype(np.float64)


def blocks(
    n: int, d: int, classes: int, *, shuffled: bool = False
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield n rows and labels in blocks; in class order, as extraction writes them, or shuffled."""
    rng = np.random.default_rng(0)
    for start in range(0, n, ROWS):
        stop = min(start + ROWS, n)
        y = np.arange(start, stop) * classes // n
        if shuffled:
            y = rng.integers(classes, size=stop - start)
        yield rows(rng, stop - start, d), y


class Probe:
    """R v and C u of one pass over all rows, without R and C: 4 n d flops.

    Sums that agree with it on random v and u agree with Phi^T Phi and Phi^T Y, but for a set of
    vectors of measure zero.  Its products are of the BLAS that the sums use: two take turns badly.
    """

    def __init__(self, d: int, classes: int) -> None:
        rng = np.random.default_rng(1)
        self.v, self.u = rng.standard_normal((d, 1)), rng.standard_normal((classes, 1))
        self.Rv, self.Cu, self.n = np.zeros((d, 1)), np.zeros((d, 1)), 0

    def add(self, Phi: np.ndarray, y: np.ndarray) -> None:
        """Add rows Phi (n, d) with labels y (n,)."""
        Phi = np.asarray(Phi, dtype=np.float64)
        right = np.hstack([product(Phi, self.v), self.u[y]])
        turned = product(Phi.T, right)
        self.Rv, self.Cu, self.n = self.Rv + turned[:, :1], self.Cu + turned[:, 1:], self.n + len(y)

    def check(self, sums: Sums, limit: float = 1e-12) -> None:
        """Stop unless the sums are those of the rows added."""
        close("R of blocks and of one pass", product(sums.R, self.v), self.Rv, limit)
        close("C of blocks and of one pass", product(sums.C, self.u), self.Cu, limit)
        if sums.n != self.n:
            raise SystemExit(f"{sums.n} rows were summed, not {self.n}")


# --- tasks --------------------------------------------------------------------------------------------


def added(
    make: Callable[[], Any], sums: Callable[[Any], Sums], n: int, d: int, classes: int, **how: bool
) -> Callable[[], tuple[float, tuple[Sums, Probe]]]:
    """Return what times the sums of n rows alone, and returns them beside those of one pass.

    Parameters
    ----------
    make, sums : make what accumulates rows, and return its sums
    """

    def run() -> tuple[float, tuple[Sums, Probe]]:
        seconds, total, probe = 0.0, make(), Probe(d, classes)
        for Phi, y in blocks(n, d, classes, **how):
            seconds += timed(lambda: total.accumulate(Phi, y))  # noqa: B023
            probe.add(Phi, y)
        return seconds, (sums(total), probe)

    return run


def checked(outcome: tuple[Sums, Probe]) -> None:
    """Stop unless sums are those of one pass."""
    outcome[1].check(outcome[0])


def empty(d: int, classes: int, dtype: str = "float64") -> Sums:
    """Return sums of no row."""
    sums = Sums(d, dtype)
    sums.grow(classes)
    return sums


def sums_of(n: int, d: int, classes: int, **how: bool) -> Task:
    """Accumulate R and C of n rows."""
    run = added(lambda: empty(d, classes), lambda sums: sums, n, d, classes, **how)
    return Task(run, checked, float(n) * d * d)


def class_sums_of(n: int, d: int, classes: int) -> Task:
    """Accumulate the sums of each class apart, of n rows."""
    total = lambda sums: sums.of(np.arange(classes))  # noqa: E731
    # rows that are kept as they are cost nothing yet
    flops = float(n) * d * d if n // classes > ClassSums(d, 1).most else 0.0
    return Task(added(lambda: ClassSums(d, classes), total, n, d, classes), checked, flops)


def read_file(n: int, sizes: Sizes) -> Task:
    """Read a feature file of float16 in blocks, compare its hashes, and divide rows by their norm."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name, "train.h5")
    # by another process, since writing holds all rows
    command = [sys.executable, __file__, "--write", str(path), str(n), str(sizes.d), str(sizes.K)]
    subprocess.run(command, check=True)

    def read() -> tuple[np.ndarray, Any]:
        parts = (prepared(Phi, True).sum(axis=0) for Phi, _ in store.blocks(path))
        return sum(parts), folder  # the folder lies there as long as its task

    def check(outcome: tuple[np.ndarray, Any]) -> None:
        total = sum(rows_.sum(axis=0) for rows_, _ in blocks(n, sizes.d, sizes.K))
        close("features read and written", outcome[0], total, 1e-3)  # float16

    return Task.of(read, check)


def write(path: str, n: int, d: int, classes: int) -> None:
    """Write a feature file of n rows in class order."""
    parts = [(Phi.astype(np.float16), y) for Phi, y in blocks(n, d, classes)]
    Phi, y = map(np.concatenate, zip(*parts, strict=True))
    meta = dict.fromkeys(layout.REQUIRED_KEYS, "invented") | {"split": "train"}
    meta |= {"weights_sha256": "0" * 64, "preprocessing": {}}
    names = [f"{i:05d}" for i in range(classes)]
    ids = np.array([f"{i:010d}" for i in range(n)], dtype=np.bytes_)
    store.write(path, Phi, y, ids, names, meta)


def gram(d: int) -> Gram:
    """Return R of 2 d rows, added in blocks so small that they do not count for memory."""
    R, rng = Gram(d), np.random.default_rng(2)
    for _ in range(0, 2 * d, 128):
        R.add(rows(rng, 128, d))
    return R


def factor(d: int, sizes: Sizes) -> Task:
    """Cholesky factor of R + I."""
    R = gram(d)
    v = np.random.default_rng(3).standard_normal((d, 1))

    def call() -> None:
        with R.factored(1.0):
            pass

    def check(_: None) -> None:
        b = R.times(v) + v
        with R.factored(1.0) as A:
            close("solutions", A.solve(b), v, 1e-8)

    return Task.of(call, check, d**3 / 3)


def eigenvectors(d: int, sizes: Sizes) -> Task:
    """All eigenvectors of R."""
    R = gram(d).R

    def check(pairs: tuple[np.ndarray, np.ndarray]) -> None:
        values, vectors = pairs
        close("R U and U diag(s)", product(R, vectors), vectors * values, 1e-10)

    return Task.of(lambda: spectra.descending_eigh(R), check)


def renewal(d: int, sizes: Sizes) -> Task:
    """Core that holds tau = 0.95 of the trace of R."""
    source = gram(d)
    R = source.R

    def check(part: Any) -> None:
        U = part.U_core
        close("U^T U and I", product(U.T, U), np.eye(U.shape[1]), 1e-10)
        held = np.sum(U * product(R, U)) / np.trace(R)
        if not 0.95 - 1e-12 <= held <= 1:
            raise SystemExit(f"the core holds {held:.3f} of the trace")

    return Task.of(lambda: Spectrum(source).split(tau=0.95), check)


def drawn(M: int, Phi: np.ndarray) -> RandomMap:
    """Return a map of M outputs, drawn."""
    phi = RandomMap(M)
    phi.begin(Phi)
    phi.weights  # noqa: B018
    return phi


def mapped(M: int, sizes: Sizes) -> Task:
    """Map a block of rows."""
    Phi = rows(np.random.default_rng(4), ROWS, sizes.d)
    phi = drawn(M, Phi)

    def check(H: np.ndarray) -> None:
        close("outputs of the map", H[:8], np.maximum(Phi[:8] @ phi.weights, 0), 1e-12)

    return Task.of(lambda: phi(Phi), check, 2.0 * ROWS * sizes.d * M)


def mapped_sums(M: int, sizes: Sizes, dtype: str = "float64") -> Task:
    """Accumulate R and C of a mapped block."""
    ((Phi, y),) = blocks(ROWS, sizes.d, sizes.K)
    H = drawn(M, Phi)(Phi.astype(dtype))

    def run() -> tuple[float, Sums]:
        sums = empty(M, sizes.K, dtype)
        return timed(lambda: sums.accumulate(H, y)), sums

    def check(sums: Sums) -> None:
        probe = Probe(M, sizes.K)
        probe.add(H, y)
        probe.check(sums, 1e-12 if dtype == "float64" else 1e-4)

    return Task(run, check, float(ROWS) * M * M)


def session(M: int, sizes: Sizes, dtype: str = "float64") -> Task:
    """Learn a session of one block with RanPAC's map and a fixed ridge; the solve counts as time."""
    ((Phi, y),) = blocks(ROWS, sizes.d, sizes.K)

    def run() -> tuple[float, Any]:
        learner = methods.build("ranpac", ridge=RIDGE, width=M, dtype=dtype)
        learner.accumulate(Phi, y)
        return timed(learner.solve), learner

    def check(learner: Any) -> None:
        u = np.random.default_rng(5).standard_normal((sizes.K, 1)).astype(dtype)
        w = product(learner.weights, u)
        left = learner.sums.times(w) + learner.sums.C.dtype.type(RIDGE) * w
        right = product(learner.sums.C, u)
        close("(R + ridge I) W and C", left, right, 1e-12 if dtype == "float64" else 1e-4)

    return Task(run, check, M**3 / 3 + 2.0 * M * M * sizes.K)


def weights(K: int, sizes: Sizes) -> Task:
    """Solve for the weights of K classes with a factor that is there."""
    R, d = gram(sizes.d), sizes.d
    C = np.asfortranarray(np.random.default_rng(6).standard_normal((d, K)))

    def run() -> tuple[float, np.ndarray]:
        with R.factored(1.0) as A:
            return Task.of(lambda: A.solve(C), check).run()

    def check(W: np.ndarray) -> None:
        close("(R + I) W and C", R.times(W) + W, C, 1e-8)

    return Task(run, check, 2.0 * d * d * K)


def scores(K: int, sizes: Sizes) -> Task:
    """Score a block of rows for K classes."""
    rng = np.random.default_rng(7)
    Phi, W = rows(rng, ROWS, sizes.d), np.asfortranarray(rng.standard_normal((sizes.d, K)))
    check = lambda S: close("scores", S[:8], Phi[:8] @ W, 1e-12)  # noqa: E731
    return Task.of(lambda: product(Phi, W), check, 2.0 * ROWS * sizes.d * K)


def learned(T: int, sizes: Sizes, method: str, **hyper: Any) -> Task:
    """Learn a stream of T sessions with a fixed total of rows and classes."""
    classes = max(sizes.K, T)
    Phi, y = map(np.concatenate, zip(*blocks(sizes.total, sizes.d, classes), strict=True))
    parts = [stream.rows_of(y, part) for part in stream.split_sessions(np.arange(classes), T)]
    sessions = [(Phi[chosen], y[chosen]) for chosen in parts]

    def call() -> tuple[Any, np.ndarray]:
        learner = methods.build(method, **hyper)
        for session_ in sessions:
            before = learner.weights if learner.session else None
            learner.fit_session(*session_)
        return learner, before

    def check(outcome: tuple[Any, np.ndarray]) -> None:
        (learner, before), probe = outcome, Probe(sizes.d, classes)
        probe.add(Phi, y)
        probe.check(learner.sums)
        if method == "acil":
            with learner.sums.factored(hyper["ridge"]) as A:
                close("weights", learner.weights, A.solve(learner.sums.C), 1e-9)
        else:
            U = learner.core.U_core
            now = product(U.T, learner.weights[:, : before.shape[1]])
            close("core coordinates of old classes", now, product(U.T, before), 1e-9)

    return Task.of(call, check)


SUMS = "Sums.accumulate"
QUANTITIES = [
    Quantity("n", "R and C", lambda x, s: sums_of(x, s.d, s.K), 1, SUMS, memory=0),
    Quantity(
        "n", "sums of classes", lambda x, s: class_sums_of(x, s.d, s.K), 1, "ClassSums", memory=0
    ),
    Quantity("n", "reading a file", read_file, 1, "store.blocks", memory=0),
    Quantity("d", "R and C", lambda x, s: sums_of(s.n, x, s.K), 2, SUMS),
    Quantity(
        "d",
        "Cholesky factor",
        factor,
        3,
        "Gram.factored",
        memory=2,
        unit=lambda x, s: 8.0 * x * x,
    ),
    Quantity("d", "all eigenvectors", eigenvectors, 3, "spectra.descending_eigh"),
    Quantity("d", "renewing the core", renewal, 3, "Spectrum"),
    Quantity("M", "map", mapped, 1, "RandomMap"),
    Quantity("M", "R and C", mapped_sums, 2, SUMS),
    Quantity("M", "R and C, float32", lambda x, s: mapped_sums(x, s, "float32"), 2, SUMS),
    Quantity("M", "solve", session, 3, "Composed", memory=2, unit=lambda x, s: 8.0 * x * x),
    Quantity(
        "M",
        "solve, float32",
        lambda x, s: session(x, s, "float32"),
        3,
        "Composed",
        memory=2,
        unit=lambda x, s: 4.0 * x * x,
    ),
    Quantity("K", "weights", weights, 1, "Factor.solve"),
    Quantity("K", "scores", scores, 1, "product"),
    Quantity("K", "R and C, class order", lambda x, s: sums_of(s.n, s.d, x), 0, SUMS),
    Quantity("K", "R and C, shuffled", lambda x, s: sums_of(s.n, s.d, x, shuffled=True), 0, SUMS),
    Quantity(
        "K",
        "sums of classes",
        lambda x, s: class_sums_of(s.per_class * x, s.d, x),
        1,
        "ClassSums",
        memory=1,
        unit=lambda x, s: 4.0 * s.d * (s.d + 1) * x,
    ),
    Quantity("T", "joint ridge", lambda x, s: learned(x, s, "acil", ridge=0.1), 1, "Composed"),
    Quantity(
        "T",
        "SPARCL",
        lambda x, s: learned(x, s, "sparcl", ridge=0.1, tau=0.95, refresh=2),
        1,
        "Composed",
    ),
]


# --- points -------------------------------------------------------------------------------------------


def warm() -> None:
    """Let BLAS, LAPACK and HDF5 take the memory that they keep."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.h5")
        write(str(path), 1, 1, 1)
        list(store.blocks(path))
    A = np.asfortranarray(np.eye(1024) + 1.0)
    product(A, A)
    spectra.descending_eigh(A[:256, :256])
    with Gram.wrap(A).factored(1.0) as factored:
        factored.solve(np.asfortranarray(A[:, :64] + 0.0))


def start() -> int:
    """Return the resident memory from which on a peak counts.

    On Linux that of now, with what was freed given back; elsewhere the peak so far, below which
    nothing is seen.
    """
    reset = Path("/proc/self/clear_refs")
    if reset.is_file():
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc alone
        if trim is not None:
            trim(0)
        reset.write_text("5", encoding="ascii")  # the peak becomes what is resident (man proc)
    return peak()


def point(quantity: Quantity, x: int, sizes: Sizes) -> Row:
    """Measure one point in this process."""
    before = start()
    task = quantity.prepare(x, sizes)
    first, outcome = task.run()
    used = peak() - before  # before the check, which may hold more, and further runs
    task.check(outcome)
    del outcome
    seconds = [first]
    while len(seconds) < RUNS and sum(seconds) < BUDGET:
        seconds.append(task.run()[0])
    return {
        "axis": quantity.axis,
        "quantity": quantity.name,
        "x": x,
        "seconds": min(seconds),
        "bytes": used,
        "flops": task.flops,
        "threads": int(os.environ.get(THREADS, "2")),
    }


def best(quantity: Quantity, x: int, small: bool) -> Row:
    """Measure one point in two processes and return the quicker: where pages lie differs between processes."""
    return min((apart(quantity, x, small) for _ in range(2)), key=lambda row: row["seconds"])


def apart(quantity: Quantity, x: int, small: bool) -> Row:
    """Measure one point in a process of its own, since a peak never falls."""
    command = [sys.executable, __file__, "--point", str(QUANTITIES.index(quantity)), str(x)]
    done = subprocess.run([*command, *["--small"] * small], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{quantity.axis} = {x}, {quantity.name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


# --- exponents ----------------------------------------------------------------------------------------


def exponent(xs: Sequence[float], values: Sequence[float]) -> float:
    """Return the least-squares slope of log value over log x; NaN unless all are positive."""
    if min(values) <= 0 or len(xs) < 2:
        return float("nan")
    return float(np.polyfit(np.log(xs), np.log(values), 1)[0])


def coefficient(
    xs: Sequence[float], units: Sequence[float], values: Sequence[float], power: float
) -> float:
    """Return a of ``value = a unit + b x^(power - 1)``, by least squares of the relative error."""
    values = np.asarray(values, dtype=float)
    if values.min() <= 0 or len(xs) < 2:
        return float("nan")
    columns = np.stack([units, np.asarray(xs, dtype=float) ** (power - 1)], axis=1)
    return float(np.linalg.lstsq(columns / values[:, None], np.ones(len(values)))[0][0])


def fit(measured: Iterable[Row], sizes: Sizes) -> list[Row]:
    """Return a row for each quantity and what is stated of it, in the order of ``QUANTITIES``."""
    measured, found = list(measured), []
    for quantity in QUANTITIES:
        own = [r for r in measured if (r["axis"], r["quantity"]) == (quantity.axis, quantity.name)]
        last = sorted(own, key=lambda row: row["x"])[-LAST:]
        if not last:
            continue
        xs = [row["x"] for row in last]
        stated = {"time": (quantity.time, [row["seconds"] for row in last])}
        stated["memory"] = (quantity.memory, [row["bytes"] for row in last])
        results = [
            (name, value, exponent(xs, values))
            for name, (value, values) in stated.items()
            if value is not None
        ]
        if quantity.unit is not None:
            units = [quantity.unit(x, sizes) for x in xs]
            multiple = coefficient(xs, units, stated["memory"][1], quantity.memory)
            results.append(("memory, multiple of the stated term", 1.0, multiple))
        found += [
            {
                "axis": quantity.axis,
                "quantity": quantity.name,
                "of": name,
                "stated": value,
                "fitted": result,
                "from": xs[0],
                "to": xs[-1],
                "source": quantity.source,
            }
            for name, value, result in results
        ]
    return found


def print_measured(row: Row) -> None:
    """Print a measured row."""
    rate = f"{row['flops'] / row['seconds'] / 1e9:8.1f} GFLOP/s" if row["flops"] else ""
    print(
        f"{row['axis']:<3}{row['quantity']:<22}{row['x']:>9,}{row['seconds']:>12.5f} s"
        f"{row['bytes'] / 1e6:>10.1f} MB{rate}",
        flush=True,
    )


def print_fitted(rows_: Iterable[Row]) -> None:
    """Print the fitted rows."""
    print(f"\n{'':<3}{'':<22}{'of':<37}{'stated':>7}{'fitted':>8}   over")
    for row in rows_:
        print(
            f"{row['axis']:<3}{row['quantity']:<22}{row['of']:<37}{row['stated']:>7g}"
            f"{row['fitted']:>8.2f}   {row['from']:,} to {row['to']:,} ({row['source']})"
        )


def read_csv(path: Path) -> list[Row]:
    """Read measured.csv."""
    kinds = {"axis": str, "quantity": str, "x": int, "bytes": int, "threads": int}
    with open(path, encoding="utf-8", newline="") as file:
        return [
            {key: kinds.get(key, float)(value) for key, value in row.items()}
            for row in csv.DictReader(file)
        ]


# --- figures ------------------------------------------------------------------------------------------

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000")
NAMES = {
    "n": "rows n",
    "d": "features d",
    "M": "outputs of the map M",
    "K": "classes K",
    "T": "sessions T",
}


def draw(measured: Sequence[Row], folder: Path) -> None:
    """Draw a figure an axis: time and memory, and dashed lines of the stated slopes (in brackets)."""
    from matplotlib.figure import Figure

    from figures import files, style

    for axis in dict.fromkeys(row["axis"] for row in measured):
        quantities = [quantity for quantity in QUANTITIES if quantity.axis == axis]
        panels = [("seconds", 1.0, "time (s)"), ("bytes", 1e6, "peak of memory (MB)")]
        if all(quantity.memory is None for quantity in quantities):
            del panels[1]  # what is held there are the features
        with style.settings():
            width = 0.5 * style.PAGE * len(panels)
            figure = Figure(figsize=(width, 2.5))
            for i, (key, scale, name) in enumerate(panels):
                place = np.array((0.07 + 0.5 * i, 0.28)) * style.PAGE / width
                ax = figure.add_axes((place[0], 0.16, place[1], 0.76))
                curves(ax, measured, quantities, key, scale)
                ax.set_xlabel(NAMES[axis])
                ax.set_title(name, loc="left")
            files.save(figure, folder / f"{axis}.png")


def curves(
    ax: Any, measured: Sequence[Row], quantities: Sequence[Quantity], key: str, scale: float
) -> None:
    """Draw the curves of one panel with their names."""
    from matplotlib.ticker import LogLocator

    from figures import style

    ax.set_xscale("log")
    ax.set_yscale("log")
    ends, lines = [], []
    for quantity, color in zip(quantities, COLORS, strict=False):
        own = sorted(
            (row["x"], row[key] / scale)
            for row in measured
            if (row["axis"], row["quantity"]) == (quantity.axis, quantity.name) and row[key] > 0
        )
        if not own:
            continue
        xs, values = map(np.array, zip(*own, strict=True))
        ax.plot(xs, values, color=color, marker="o")
        stated = quantity.time if key == "seconds" else quantity.memory
        if stated is not None:
            lines.append((xs, values[-1] * (xs / xs[-1]) ** stated, color))
        exponent_ = f" ({stated:g})" if stated is not None else ""
        ends.append((quantity.name + exponent_, xs[-1], values[-1], color))
    if not ends:
        return
    furthest = max(x for _, x, _, _ in ends)
    low, high = ax.get_ylim()  # of the curves: a decade at least, or noise looks like a slope
    ax.set_ylim(min(low, high / 10), high)
    for xs, values, color in lines:
        ax.plot(xs, values, color=color, ls="--", lw=0.7, alpha=0.6, zorder=1)
    if ax.get_ylim()[1] < 30 * ax.get_ylim()[0]:  # one power of ten would be the only number
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
    ticks = [row["x"] for row in measured if row["axis"] == quantities[0].axis]
    ax.set_xticks(sorted(set(ticks)), [short(x) for x in sorted(set(ticks))])
    ax.minorticks_off()
    style.label_ends(ax, [(text, furthest, y, color) for text, _, y, color in ends])


def short(x: int) -> str:
    """Return a number for a tick."""
    return f"{x / 1e6:g}M" if x >= 10**6 else f"{x / 1000:g}k" if x >= 10**4 else f"{x:,}"


# --- command line -------------------------------------------------------------------------------------


def main() -> None:
    """Measure, print, write and draw; or one of the smaller things that the options name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--axis", nargs="+", choices=list(NAMES), default=list(NAMES))
    parser.add_argument("--out", type=Path, help="folder of measured.csv, fitted.csv and figures")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--draw", action="store_true", help="draw again from measured.csv")
    parser.add_argument("--point", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    folder = chosen.out or Path("docs/scaling")
    sizes = SMALL if chosen.small else FULL
    if chosen.draw:
        draw(read_csv(folder / "measured.csv"), folder)
        return
    if chosen.write:
        write(chosen.write[0], *map(int, chosen.write[1:]))
        return
    count = threads()
    if chosen.point:
        warm()
        print(json.dumps(point(QUANTITIES[chosen.point[0]], chosen.point[1], sizes)))
        return
    began = time.perf_counter()
    fixed = {k: v for k, v in dataclasses.asdict(sizes).items() if k != "axes"}
    print(f"{fixed}, {count} BLAS thread(s)")
    measured = []
    for quantity in QUANTITIES:
        if quantity.axis in chosen.axis:
            for x in quantity.xs(sizes):
                measured.append(best(quantity, x, chosen.small))
                print_measured(measured[-1])
    fitted = fit(measured, sizes)
    print_fitted(fitted)
    print(f"\n{time.perf_counter() - began:.0f} s in all")
    if chosen.out:
        folder.mkdir(parents=True, exist_ok=True)
        write_csv(measured, str(folder / "measured.csv"))
        write_csv(fitted, str(folder / "fitted.csv"))
        draw(measured, folder)


if __name__ == "__main__":
    main()
