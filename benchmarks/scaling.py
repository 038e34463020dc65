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
import ctypes
import dataclasses
import os
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import THREADS, close, threads

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


class Clock:
    """Adds up the seconds of the calls that are made through it."""

    seconds = 0.0

    def __call__(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Return what a call returns."""
        start = time.perf_counter()
        outcome = call(*given, **named)
        self.seconds += time.perf_counter() - start
        return outcome


# A task sets a point up and yields its work, which may be done again and again, and the operations that the docstring
# states for it (0: none are stated).  It is sent the outcome, and ends the benchmark unless that is right.
Work = Callable[[Clock], Any]
Task = Generator[tuple[Work, float], Any, None]


@dataclass(frozen=True)
class Quantity:
    """What is measured along an axis, and what is stated about it.

    time, memory : stated exponents; None where nothing is stated
    source : whose docstring states them
    unit : bytes at (x, sizes) of which memory is stated to be one multiple
    """

    axis: str
    name: str
    task: Callable[[int, Sizes], Task]
    time: float
    source: str
    memory: float | None = None
    unit: Callable[[int, Sizes], float] | None = None


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
        self.turned, self.n = np.zeros((d, 2)), 0

    def add(self, Phi: np.ndarray, y: np.ndarray) -> None:
        """Add rows Phi (n, d) with labels y (n,)."""
        Phi = np.asarray(Phi, dtype=np.float64)
        self.turned += product(Phi.T, np.hstack([product(Phi, self.v), self.u[y]]))
        self.n += len(y)

    def check(self, sums: Sums, limit: float = 1e-12) -> None:
        """Stop unless the sums are those of the rows added."""
        close("R of blocks and of one pass", product(sums.R, self.v), self.turned[:, :1], limit)
        close("C of blocks and of one pass", product(sums.C, self.u), self.turned[:, 1:], limit)
        if sums.n != self.n:
            raise SystemExit(f"{sums.n} rows were summed, not {self.n}")


# --- tasks --------------------------------------------------------------------------------------------


def empty(d: int, classes: int, dtype: str = "float64") -> Sums:
    """Return sums of no row."""
    sums = Sums(d, dtype)
    sums.grow(classes)
    return sums


def added(make: Callable[[], Any], flops: float, n: int, d: int, classes: int, **how: bool) -> Task:
    """Accumulate n rows into what ``make`` returns; the sums are compared with those of one pass."""

    def run(clock: Clock) -> tuple[Any, Probe]:
        total, probe = make(), Probe(d, classes)
        for Phi, y in blocks(n, d, classes, **how):
            clock(total.accumulate, Phi, y)
            probe.add(Phi, y)
        return total, probe

    total, probe = yield run, flops
    probe.check(total if isinstance(total, Sums) else total.of(np.arange(classes)))


def sums_of(n: int, d: int, classes: int, **how: bool) -> Task:
    """Accumulate R and C of n rows."""
    return added(lambda: empty(d, classes), float(n) * d * d, n, d, classes, **how)


def class_sums_of(n: int, d: int, classes: int) -> Task:
    """Accumulate the sums of each class apart, of n rows."""
    # rows that are kept as they are cost nothing yet
    flops = float(n) * d * d if n // classes > ClassSums(d, 1).most else 0.0
    return added(lambda: ClassSums(d, classes), flops, n, d, classes)


def read_file(n: int, sizes: Sizes) -> Task:
    """Read a feature file of float16 in blocks, compare its hashes, and divide rows by their norm."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.h5")
        apart(write, path, n, sizes.d, sizes.K)  # writing holds all rows
        read = lambda: sum(prepared(Phi, True).sum(axis=0) for Phi, _ in store.blocks(path))  # noqa: E731
        found = yield lambda clock: clock(read), 0.0
        total = sum(rows_.sum(axis=0) for rows_, _ in blocks(n, sizes.d, sizes.K))
        close("features read and written", found, total, 1e-3)  # float16


def write(path: Path, n: int, d: int, classes: int) -> None:
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

    yield lambda clock: clock(call), d**3 / 3
    b = R.times(v) + v
    with R.factored(1.0) as A:
        close("solutions", A.solve(b), v, 1e-8)


def eigenvectors(d: int, sizes: Sizes) -> Task:
    """All eigenvectors of R."""
    R = gram(d).R
    values, vectors = yield lambda clock: clock(spectra.descending_eigh, R), 0.0
    close("R U and U diag(s)", product(R, vectors), vectors * values, 1e-10)


def renewal(d: int, sizes: Sizes) -> Task:
    """Core that holds tau = 0.95 of the trace of R."""
    source = gram(d)
    part = yield lambda clock: clock(lambda: Spectrum(source).split(tau=0.95)), 0.0
    R, U = source.R, part.U_core
    close("U^T U and I", product(U.T, U), np.eye(U.shape[1]), 1e-10)
    held = np.sum(U * product(R, U)) / np.trace(R)
    if not 0.95 - 1e-12 <= held <= 1:
        raise SystemExit(f"the core holds {held:.3f} of the trace")


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
    H = yield lambda clock: clock(phi, Phi), 2.0 * ROWS * sizes.d * M
    close("outputs of the map", H[:8], np.maximum(Phi[:8] @ phi.weights, 0), 1e-12)


def mapped_sums(M: int, sizes: Sizes, dtype: str = "float64") -> Task:
    """Accumulate R and C of a mapped block."""
    ((Phi, y),) = blocks(ROWS, sizes.d, sizes.K)
    H = drawn(M, Phi)(Phi.astype(dtype))

    def run(clock: Clock) -> Sums:
        sums = empty(M, sizes.K, dtype)
        clock(sums.accumulate, H, y)
        return sums

    sums = yield run, float(ROWS) * M * M
    probe = Probe(M, sizes.K)
    probe.add(H, y)
    probe.check(sums, 1e-12 if dtype == "float64" else 1e-4)


def session(M: int, sizes: Sizes, dtype: str = "float64") -> Task:
    """Learn a session of one block with RanPAC's map and a fixed ridge; the solve counts as time."""
    ((Phi, y),) = blocks(ROWS, sizes.d, sizes.K)

    def run(clock: Clock) -> Any:
        learner = methods.build("ranpac", ridge=RIDGE, width=M, dtype=dtype)
        learner.accumulate(Phi, y)
        clock(learner.solve)
        return learner

    learner = yield run, M**3 / 3 + 2.0 * M * M * sizes.K
    u = np.random.default_rng(5).standard_normal((sizes.K, 1)).astype(dtype)
    w = product(learner.weights, u)
    left = learner.sums.times(w) + learner.sums.C.dtype.type(RIDGE) * w
    right = product(learner.sums.C, u)
    close("(R + ridge I) W and C", left, right, 1e-12 if dtype == "float64" else 1e-4)


def weights(K: int, sizes: Sizes) -> Task:
    """Solve for the weights of K classes with a factor that is there."""
    R, d = gram(sizes.d), sizes.d
    C = np.asfortranarray(np.random.default_rng(6).standard_normal((d, K)))

    def run(clock: Clock) -> np.ndarray:
        with R.factored(1.0) as A:
            return clock(A.solve, C)

    W = yield run, 2.0 * d * d * K
    close("(R + I) W and C", R.times(W) + W, C, 1e-8)


def scores(K: int, sizes: Sizes) -> Task:
    """Score a block of rows for K classes."""
    rng = np.random.default_rng(7)
    Phi, W = rows(rng, ROWS, sizes.d), np.asfortranarray(rng.standard_normal((sizes.d, K)))
    S = yield lambda clock: clock(product, Phi, W), 2.0 * ROWS * sizes.d * K
    close("scores", S[:8], Phi[:8] @ W, 1e-12)


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

    learner, before = yield lambda clock: clock(call), 0.0
    probe = Probe(sizes.d, classes)
    probe.add(Phi, y)
    probe.check(learner.sums)
    if method == "acil":
        with learner.sums.factored(hyper["ridge"]) as A:
            close("weights", learner.weights, A.solve(learner.sums.C), 1e-9)
    else:
        U = learner.core.U_core
        now = product(U.T, learner.weights[:, : before.shape[1]])
        close("core coordinates of old classes", now, product(U.T, before), 1e-9)


def square(size: int) -> Callable[[int, Sizes], float]:
    """Return the bytes of a matrix of x rows and columns, of numbers of ``size`` bytes."""
    return lambda x, sizes: float(size) * x * x


def triangle_sums(K: int, sizes: Sizes) -> Task:
    """Accumulate so many rows of a class that each has a triangle."""
    return class_sums_of(sizes.per_class * K, sizes.d, K)


def triangles(K: int, sizes: Sizes) -> float:
    """Return the bytes of a triangle for each class."""
    return 4.0 * sizes.d * (sizes.d + 1) * K


joint = partial(learned, method="acil", ridge=0.1)
sparcl = partial(learned, method="sparcl", ridge=0.1, tau=0.95, refresh=2)
SUMS = "Sums.accumulate"
QUANTITIES = [
    Quantity("n", "R and C", lambda x, s: sums_of(x, s.d, s.K), 1, SUMS, 0),
    Quantity("n", "sums of classes", lambda x, s: class_sums_of(x, s.d, s.K), 1, "ClassSums", 0),
    Quantity("n", "reading a file", read_file, 1, "store.blocks", 0),
    Quantity("d", "R and C", lambda x, s: sums_of(s.n, x, s.K), 2, SUMS),
    Quantity("d", "Cholesky factor", factor, 3, "Gram.factored", 2, square(8)),
    Quantity("d", "all eigenvectors", eigenvectors, 3, "spectra.descending_eigh"),
    Quantity("d", "renewing the core", renewal, 3, "Spectrum"),
    Quantity("M", "map", mapped, 1, "RandomMap"),
    Quantity("M", "R and C", mapped_sums, 2, SUMS),
    Quantity("M", "R and C, float32", partial(mapped_sums, dtype="float32"), 2, SUMS),
    Quantity("M", "solve", session, 3, "Composed", 2, square(8)),
    Quantity("M", "solve, float32", partial(session, dtype="float32"), 3, "Composed", 2, square(4)),
    Quantity("K", "weights", weights, 1, "Factor.solve"),
    Quantity("K", "scores", scores, 1, "product"),
    Quantity("K", "R and C, class order", lambda x, s: sums_of(s.n, s.d, x), 0, SUMS),
    Quantity("K", "R and C, shuffled", lambda x, s: sums_of(s.n, s.d, x, shuffled=True), 0, SUMS),
    Quantity("K", "sums of classes", triangle_sums, 1, "ClassSums", 1, triangles),
    Quantity("T", "joint ridge", joint, 1, "Composed"),
    Quantity("T", "SPARCL", sparcl, 1, "Composed"),
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


def point(number: int, x: int, sizes: Sizes) -> dict[str, Any]:
    """Measure one point of a quantity in this process."""
    quantity, before, taken = QUANTITIES[number], start(), []
    task = quantity.task(x, sizes)
    work, flops = next(task)
    while not taken or (len(taken) < RUNS and sum(taken) < BUDGET):
        outcome = None  # of the run before
        clock = Clock()
        outcome = work(clock)
        if not taken:
            used = peak() - before  # of one run, and without the check, which may hold more
        taken.append(clock.seconds)
    with suppress(StopIteration):
        task.send(outcome)
    return {
        "axis": quantity.axis,
        "quantity": quantity.name,
        "x": x,
        "seconds": min(taken),
        "bytes": used,
        "flops": flops,
        "threads": int(os.environ.get(THREADS, "2")),
    }


def apart(call: Callable[..., Any], *given: Any) -> Any:
    """Return what a call returns in a process of its own, since a peak never falls."""
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=warm) as pool:
        return pool.submit(call, *given).result()


def best(number: int, x: int, sizes: Sizes) -> dict[str, Any]:
    """Measure one point in two processes and return the quicker: where pages lie differs between processes."""
    return min((apart(point, number, x, sizes) for _ in range(2)), key=lambda row: row["seconds"])


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


def fit(measured: pd.DataFrame, sizes: Sizes) -> pd.DataFrame:
    """Return a row for each quantity and what is stated of it, in the order of ``QUANTITIES``."""
    found = []
    for quantity in QUANTITIES:
        own = measured[
            (measured["axis"] == quantity.axis) & (measured["quantity"] == quantity.name)
        ]
        last = own.sort_values("x").tail(LAST)
        if last.empty:
            continue
        xs = last["x"].tolist()
        results = [("time", quantity.time, exponent(xs, last["seconds"]))]
        if quantity.memory is not None:
            results.append(("memory", quantity.memory, exponent(xs, last["bytes"])))
        if quantity.unit is not None:
            units = [quantity.unit(x, sizes) for x in xs]
            multiple = coefficient(xs, units, last["bytes"], quantity.memory)
            results.append(("memory, multiple of the stated term", 1.0, multiple))
        about = {"from": xs[0], "to": xs[-1], "source": quantity.source}
        found += [
            {"axis": quantity.axis, "quantity": quantity.name, "of": of, "stated": stated}
            | {"fitted": fitted, **about}
            for of, stated, fitted in results
        ]
    return pd.DataFrame(found)


# --- figures ------------------------------------------------------------------------------------------

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000")
NAMES = {
    "n": "rows n",
    "d": "features d",
    "M": "outputs of the map M",
    "K": "classes K",
    "T": "sessions T",
}


def draw(measured: pd.DataFrame, folder: Path) -> None:
    """Draw a figure an axis: time and memory, and dashed lines of the stated slopes (in brackets)."""
    from matplotlib.figure import Figure

    from figures import files, style

    for axis, own in measured.groupby("axis", sort=False):
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
                curves(ax, own.assign(y=own[key] / scale), quantities, key)
                ax.set_xlabel(NAMES[axis])
                ax.set_title(name, loc="left")
            files.save(figure, folder / f"{axis}.png")


def curves(ax: Any, measured: pd.DataFrame, quantities: Sequence[Quantity], key: str) -> None:
    """Draw the curves of one panel with their names."""
    from matplotlib.ticker import LogLocator

    from figures import style

    ax.set_xscale("log")
    ax.set_yscale("log")
    ticks = sorted(set(measured["x"]))
    ends, lines = [], []
    for quantity, color in zip(quantities, COLORS, strict=False):
        own = measured[(measured["quantity"] == quantity.name) & (measured["y"] > 0)]
        if own.empty:
            continue
        xs, values = own.sort_values("x")[["x", "y"]].to_numpy().T
        ax.plot(xs, values, color=color, marker="o")
        stated = quantity.time if key == "seconds" else quantity.memory
        name = quantity.name
        if stated is not None:
            lines.append((xs, values[-1] * (xs / xs[-1]) ** stated, color))
            name = f"{name} ({stated:g})"
        ends.append((name, ticks[-1], values[-1], color))
    if not ends:
        return
    low, high = ax.get_ylim()  # of the curves: a decade at least, or noise looks like a slope
    ax.set_ylim(min(low, high / 10), high)
    for xs, values, color in lines:
        ax.plot(xs, values, color=color, ls="--", lw=0.7, alpha=0.6, zorder=1)
    if ax.get_ylim()[1] < 30 * ax.get_ylim()[0]:  # one power of ten would be the only number
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
    ax.set_xticks(ticks, [short(x) for x in ticks])
    ax.minorticks_off()
    style.label_ends(ax, ends)


def short(x: int) -> str:
    """Return a number for a tick."""
    return f"{x / 1e6:g}M" if x >= 10**6 else f"{x / 1000:g}k" if x >= 10**4 else f"{x:,}"


# --- command line -------------------------------------------------------------------------------------


def main() -> None:
    """Measure, print, write and draw; or draw alone."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--axis", nargs="+", choices=list(NAMES), default=list(NAMES))
    parser.add_argument("--out", type=Path, help="folder of measured.csv, fitted.csv and figures")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--draw", action="store_true", help="draw again from measured.csv")
    chosen = parser.parse_args()
    if chosen.draw:
        folder = chosen.out or Path("docs/scaling")
        draw(pd.read_csv(folder / "measured.csv"), folder)
        return
    sizes = SMALL if chosen.small else FULL
    count, began, points = threads(), time.perf_counter(), []
    fixed = {k: v for k, v in dataclasses.asdict(sizes).items() if k != "axes"}
    print(f"{fixed}, {count} BLAS thread(s)")
    for number, quantity in enumerate(QUANTITIES):
        for x in sizes.axes[quantity.axis] if quantity.axis in chosen.axis else ():
            points.append(row := best(number, x, sizes))
            print(
                f"{quantity.axis:<3}{quantity.name:<22}{x:>9,}{row['seconds']:>12.5f} s"
                f"{row['bytes'] / 1e6:>10.1f} MB{row['flops'] / row['seconds'] / 1e9:8.1f} GFLOP/s",
                flush=True,
            )
    measured = pd.DataFrame(points)
    fitted = fit(measured, sizes)
    print(f"\n{fitted.round(2).to_string(index=False)}")
    print(f"\n{time.perf_counter() - began:.0f} s in all")
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
        measured.to_csv(chosen.out / "measured.csv", index=False)
        fitted.to_csv(chosen.out / "fitted.csv", index=False)
        draw(measured, chosen.out)


if __name__ == "__main__":
    main()
