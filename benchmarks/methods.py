"""Closed-form peers against the official form of their computation: python benchmarks/methods.py.

    methods.py [--small] [ranpac-cifar ranpac-cub flycl acil foal gacl air srda fenec teen c-fecam c-ranpac
                          wann wann-filter pseudo-labels]

A row is one session of 10 new classes after 90 earlier ones (K = 100, d = 768), once through this
project and once through ``official_forms.py``: same process, features, map, dtype and threads.  Methods that
solve when they score are timed with the scores of the test rows.
Before a time is printed it is asserted that the chosen ridge is the same, that the scores of 2,000
test rows agree to the row's tolerance and their predictions wholly.

    times    official seconds (one run) / ours (median of SPARCL_BENCH_REPEATS, default 3)
    / floor  ours / the seconds of what cannot be left out: 2 n d M operations of the map, n M^2 of
             a symmetric Gram and M^3 / 3 of one Cholesky at the rate of a matrix product, measured
             in this process and dtype on 4,096 x 4,096; and for a rule that chooses the ridge, its
             products at that rate and its factorisations and solves at their own rate, measured
             by calling LAPACK on matrices of their size: 17 Cholesky factors with their solves for
             RanPAC, one reduction to tridiagonal form for Fly-CL; for SRDA the pooled covariance of the
             session, its Cholesky factor, and both its triangles on each sample so far; for C-FeCAM a covariance
             and a factor for each new class
    / ridge  of few shots and row filters: ours / one session of a ridge on as many rows.  Few shots: RanPAC's with
             one value and M = 2,000, scored where ours is; filters: the same ridge with every row alike

Published times of these methods are those of their official forms; the ratio says what of them the
method needs.  F-OAL's grows with the rows, GACL's and AIR's with width and rows: they run at a
size that takes about a minute, which is printed.

SPARCL_BENCH_THREADS gives the number of BLAS threads (default 2).  ``--small`` scales every size
down, for a test of outcomes.
"""

import copy
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import harness
import numpy as np
import official_forms as official
from harness import timed, verdict
from scipy.linalg import get_lapack_funcs

from sparcl.algebra.gaussians import Gaussians
from sparcl.base.randomness import generator
from sparcl.learners.learner import Learner
from study.methods import build
from study.methods.c_fecam import base_variance

REPEATS = int(os.environ.get("SPARCL_BENCH_REPEATS", "3"))
FLOOR = 1.6  # times the floor that a session may take
TWICE = 2.0  # times the session of a ridge
NORM = 40.0  # of a feature, about that of a ViT-B/16


@dataclass(frozen=True)
class Sizes:
    """Features, class columns, classes of the timed session, test rows, size of the rate's product."""

    d: int = 768
    classes: int = 100
    new: int = 10
    test: int = 2000
    product: int = 4096
    width: int | None = None  # an upper limit to M
    rows: int | None = None  # and to the rows of a session

    def width_of(self, case: "Case") -> int:
        """Return M of a case."""
        return min(case.width, self.width or case.width)

    def rows_of(self, case: "Case") -> int:
        """Return the rows of a case's session."""
        return min(case.rows, self.rows or case.rows)


FULL = Sizes()
SMALL = Sizes(d=48, classes=20, new=4, test=200, product=256, width=500, rows=300)


@dataclass(frozen=True)
class Case:
    """One row: a method, its session, its official form, and what the form must take at least.

    form : fitted learner, K -> official form; selection : rows, M, K_new, dtype, rate -> seconds
    flops : rows, rows of earlier sessions, sizes -> operations, in place of those of a map and a ridge
    old : rows of each earlier class; tolerance : of scores, relative to the largest
    scored : whether test rows are scored in the time; ridge : settings of the ridge for ``/ ridge``
    """

    method: str
    form: Callable[[Learner, int], Any]
    rows: int
    width: int
    dtype: str
    times: float | None
    tolerance: float
    old: int = 10
    uneven: bool = False
    hyper: dict[str, Any] = field(default_factory=dict)
    selection: Callable[[int, int, int, str, float], float] | None = None
    flops: Callable[[int, int, Sizes], float] | None = None
    scored: bool = False
    ridge: dict[str, Any] | None = None


@dataclass(frozen=True)
class Result:
    """What a row measured."""

    name: str
    shape: str
    ours: float
    theirs: float
    floor: float
    times: float | None
    ridge: float | None = None

    def __str__(self) -> str:
        ratio, over = self.theirs / self.ours, self.ours / self.floor
        line = (
            f"{self.name:<14}{self.shape:<34}{self.ours:>9.3f}{self.theirs:>10.2f}{ratio:>8.1f} "
            f"{verdict(ratio, self.times, larger=True):<12}{over:>6.2f} {verdict(over, FLOOR):<14}"
        )
        if self.ridge is None:
            return line
        return f"{line}{self.ours / self.ridge:>6.2f} {verdict(self.ours / self.ridge, TWICE)}"


# --- rates ------------------------------------------------------------------------------------


def product_rate(size: int, dtype: str) -> float:
    """Return flops per second of a matrix product."""
    A = np.random.default_rng(0).standard_normal((size, size)).astype(dtype)
    A @ A
    return 2 * size**3 / min(timed(lambda: A @ A) for _ in range(3))


def _definite(n: int, dtype: str) -> np.ndarray:
    """Return a well-conditioned matrix, whose factor takes as long as any other."""
    A = np.random.default_rng(1).random((n, n), dtype=np.float32)
    A = np.asfortranarray(A + A.T, dtype=dtype)
    A.flat[:: n + 1] += 2 * n
    return A


def holdout_seconds(n: int, M: int, columns: int, dtype: str, rate: float) -> float:
    """Return what RanPAC's rule takes at least: the dual's products, 17 factors, 17 solves."""
    fit, val = int(0.8 * n), n - int(0.8 * n)
    products = fit**2 * M + 2 * val * fit * M
    A, B = _definite(fit, dtype), np.ones((fit, columns), dtype=dtype, order="F")
    potrf, potrs = get_lapack_funcs(("potrf", "potrs"), (A,))
    factor = min(timed(lambda: potrf(A, lower=1, clean=0)) for _ in range(3))
    solve = min(timed(lambda: potrs(A, B, lower=1)) for _ in range(3))
    return products / rate + 17 * (factor + solve)


def gcv_seconds(n: int, M: int, columns: int, dtype: str, rate: float) -> float:
    """Return what Fly-CL's rule takes at least: H H^T and its reduction to tridiagonal form."""
    A = _definite(n, dtype)
    sytrd, sytrd_lwork = get_lapack_funcs(("sytrd", "sytrd_lwork"), (A,))
    lwork = int(sytrd_lwork(n, lower=1)[0])
    reduction = min(timed(lambda: sytrd(A, lower=1, lwork=lwork)) for _ in range(2))
    return n**2 * M / rate + reduction


# --- cases ------------------------------------------------------------------------------------


def _ranpac(ours: Learner, K: int) -> official.Form:
    def split(n: int) -> tuple[np.ndarray, np.ndarray]:
        return ours.rule.holdout.split(np.zeros(n, dtype=np.int64), ours.session - 1)

    return official.RanPAC(ours.map.weights, K, ours.rule.ridges, split)


def _flycl(ours: Learner, K: int) -> official.Form:
    return official.FlyCL(ours.map.weights, K, ours.rule.ridges, ours.map.level)


def _recursive(ridge: float, batch: int, **how: Any) -> Callable[[Learner, int], official.Form]:
    return lambda ours, K: official.Recursive(ours.map.weights, K, ridge, batch, **how)


def _air(ours: Learner, K: int) -> official.Form:
    return official.AIR(ours.map.weights, K, 0.1)


def _srda(ours: Learner, K: int) -> official.SRDA:
    return official.SRDA(ours.d, K, ours.own, ours.epsilon)


def _srda_flops(n: int, old: int, s: Sizes) -> float:
    return n * s.d**2 + s.d**3 / 3 + 2 * (n + old) * s.d**2


def _fenec(ours: Learner, K: int) -> official.FeNeC:
    start = lambda: generator("centroids", ours.seed)  # noqa: E731
    return official.FeNeC(ours.alpha, ours.alpha2, ours.centroids, start)


def _fenec_flops(n: int, old: int, s: Sizes) -> float:
    """Gram and factor of each new class, k-means++ and two rounds of Lloyd's, and the distances of test rows."""
    own, before = n / s.new, old / (s.classes - s.new)
    k = min(26, own)
    fitted = n * s.d * (3 * own + 2 * k + 8 * k)
    return fitted + 2 * s.test * s.d * (n + s.new * k + old + min(26, before) * (s.classes - s.new))


def _teen(ours: Learner, K: int) -> official.TEEN:
    return official.TEEN(ours.shift)


def _teen_flops(n: int, old: int, s: Sizes) -> float:
    return n * s.d + 4 * s.new * (s.classes - s.new) * s.d + 2 * s.test * s.classes * s.d


def _c_fecam(ours: Learner, K: int) -> official.CFeCAM:
    return official.CFeCAM(
        ours.shift, lambda: ours.alpha * base_variance(ours.gaussians, ours.base)
    )


def _c_fecam_flops(n: int, old: int, s: Sizes) -> float:
    fitted = s.new * (old * s.d**2 + s.d**3 / 3) + n * s.d**2
    return fitted + s.new * s.test * s.d**2 + 2 * s.test * old * s.d


def _c_ranpac(ours: Learner, K: int) -> official.CRanPAC:
    def draw(label: int, rows: np.ndarray) -> np.ndarray:
        before, arrived = copy.copy(ours), Gaussians(rows.shape[1])
        before.session, before.classes = 1, ours.classes[:label]
        arrived.add(rows, np.zeros(len(rows), dtype=int), 1)
        return before._drawn(arrived, 0)

    return official.CRanPAC(ours.map.weights, K, FEW["ridge"], ours.shift, draw)


def _c_ranpac_flops(n: int, old: int, s: Sizes) -> float:
    M, drawn = s.width_of(CASES["c-ranpac"]), s.new * DRAWS
    return 2 * old * s.d * drawn + 2 * drawn * s.d * M + drawn * M**2 + M**3 / 3


def _filtered(judge: Callable[..., Any], **how: Any) -> Callable[[Learner, int], official.Filtered]:
    return lambda ours, K: official.Filtered(ours.d, K, 0.1, partial(judge, **how))


def _wann_flops(n: int, old: int, s: Sizes) -> float:
    return n**2 * s.d + n * s.d**2 + s.d**3 / 3 + 2 * s.d**2 * s.classes


def _l3a_flops(n: int, old: int, s: Sizes) -> float:
    solves = 2 * (s.d**3 / 3 + 2 * s.d**2 * s.classes)
    return solves + 2 * n * s.d * s.classes + n * s.d**2


FEW = {"ridge": 1000.0}  # few shots; about a mean squared norm
DRAWS = 800  # of a class, C-RanPAC's official number
CASES = {
    "ranpac-cifar": Case(
        "ranpac", _ranpac, 5000, 10000, "float32", 8.0, 1e-3, selection=holdout_seconds
    ),
    "ranpac-cub": Case(
        "ranpac", _ranpac, 940, 10000, "float32", 20.0, 1e-3, selection=holdout_seconds
    ),
    "flycl": Case("flycl", _flycl, 5000, 10000, "float32", 3.0, 1e-3, selection=gcv_seconds),
    "acil": Case("acil-rhl", _recursive(0.1, 4096), 5000, 8192, "float64", 5.0, 1e-6),
    "foal": Case(
        "foal",
        _recursive(1.0, 10, activation=official.sigmoid, invert=np.linalg.pinv),
        5000,
        1000,
        "float64",
        50.0,
        1e-6,
    ),
    "gacl": Case("gacl", _recursive(100.0, 64, passes=3), 640, 5000, "float64", None, 1e-6, old=1),
    "air": Case("air", _air, 5000, 2048, "float64", None, 1e-6, uneven=True),
    "srda": Case(
        "srda", _srda, 940, 0, "float64", None, 1e-6, hyper={"official": True}, flops=_srda_flops
    ),
    "fenec": Case(
        "fenec",
        _fenec,
        940,
        0,
        "float64",
        None,
        1e-6,
        hyper={"alpha": 6.12},
        flops=_fenec_flops,
        scored=True,
    ),
    "teen": Case(
        "teen", _teen, 50, 0, "float64", None, 1e-6, flops=_teen_flops, scored=True, ridge=FEW
    ),
    "c-fecam": Case(
        "c-fecam",
        _c_fecam,
        50,
        0,
        "float64",
        None,
        1e-6,
        flops=_c_fecam_flops,
        scored=True,
        ridge=FEW,
    ),
    "c-ranpac": Case(
        "c-ranpac",
        _c_ranpac,
        50,
        2000,
        "float64",
        None,
        1e-6,
        flops=_c_ranpac_flops,
        ridge=FEW,
        hyper=FEW,
    ),
    **{
        name: Case(
            "compose",
            _filtered(judge, **how),
            940,
            0,
            "float64",
            None,
            1e-6,
            flops=flops,
            ridge={"ridge": 0.1},
            hyper={"ridge": 0.1, "row_weights": name},
        )
        for name, judge, how, flops in (
            ("wann", official.wann, {}, _wann_flops),
            ("wann-filter", official.wann, {"drops": True}, _wann_flops),
            ("pseudo-labels", official.l3a, {}, _l3a_flops),
        )
    },
}


def stream(case: Case, sizes: Sizes) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Return the earlier and the timed session of a case, and test rows of all classes."""
    rng = np.random.default_rng(0)
    d, K, first = sizes.d, sizes.classes, sizes.classes - sizes.new
    centres = rng.standard_normal((K, d))
    old = np.repeat(np.arange(first), case.old)
    weights = 1.0 + np.arange(sizes.new) % 5 if case.uneven else np.ones(sizes.new)
    new = first + rng.choice(sizes.new, sizes.rows_of(case), p=weights / weights.sum())
    test = np.arange(sizes.test) % K
    rows = [harness.features(rng, centres, y, NORM).astype(case.dtype) for y in (old, new, test)]
    return [(rows[0], old), (rows[1], new)], rows[2]


Session = tuple[np.ndarray, np.ndarray]


def _learned(
    learner: Learner, old: Session, new: Session, test: np.ndarray, scored: bool, repeats: int
) -> tuple[Learner, list[float]]:
    """Return a learner after both sessions, and the seconds of the second, each time from the same state."""
    learner.fit_session(*old)
    state, taken = learner.state(), []
    for _ in range(repeats):
        learner = type(learner).from_state(state)
        if hasattr(learner, "map"):
            learner.expand(test[:1])  # draws the map, which is kept from session to session
        call = lambda: (learner.fit_session(*new), scored and learner.logits(test))  # noqa: B023, E731
        taken.append(timed(call))
    return learner, taken


def _ridge_seconds(case: Case, sizes: Sizes, old: Session, new: Session, test: np.ndarray) -> float:
    """Return the seconds of a ridge's session on as many rows."""
    if case.method == "compose":
        ridge = build("compose", **case.ridge)
    else:
        ridge = build("ranpac", width=min(2000, sizes.width or 2000), **case.ridge)
    if case.method == "c-ranpac":
        y = np.repeat(np.unique(new[1]), DRAWS)
        new = (np.random.default_rng(1).standard_normal((len(y), sizes.d)), y)
    return float(np.median(_learned(ridge, old, new, test, case.scored, REPEATS)[1]))


def compare(name: str, sizes: Sizes = FULL, repeats: int = REPEATS) -> Result:
    """Run a row: ours, the official form, the comparison of outcomes, the floor."""
    case = CASES[name]
    M, K = sizes.width_of(case), sizes.classes
    (old, new), test = stream(case, sizes)
    told = {"width": M} if M else {}
    told |= {"dtype": case.dtype} if case.dtype != "float64" else {}  # the default
    ours = build(case.method, **told, **case.hyper)
    ours, taken = _learned(ours, old, new, test, case.scored, repeats)
    scores = ours.logits(test)
    form = case.form(ours, K)
    form.accumulate(*old)
    theirs = timed(lambda: (form.session(*new), case.scored and form.logits(test)))
    if case.selection and (chosen := ours.report()["ridge"]) != form.ridge:
        raise SystemExit(f"{name}: ridge {chosen:g} here, {form.ridge:g} in the official form")
    wanted = form.logits(test)
    if case.method == "srda":  # up to a term that all classes share
        scores, wanted = (part - part[:, :1] for part in (scores, wanted))
    harness.same_predictions(name, scores, wanted, case.tolerance)
    n, rate = len(new[1]), product_rate(sizes.product, case.dtype)
    floor = (2 * n * sizes.d * M + n * M**2 + M**3 / 3) / rate
    if case.flops:
        floor = case.flops(n, len(old[1]), sizes) / rate
    if case.selection:
        floor += case.selection(n, M, sizes.new, case.dtype, rate)
    shape = f"n {n:,}, M {M:,}, {case.dtype}, {rate / 1e9:.0f} GFLOP/s"
    ridge = _ridge_seconds(case, sizes, old, new, test) if case.ridge else None
    return Result(name, shape, float(np.median(taken)), theirs, floor, case.times, ridge)


def main(arguments: list[str]) -> None:
    """Print the rows that the arguments name, or all."""
    sizes = SMALL if "--small" in arguments else FULL
    rows = [name for name in arguments if name != "--small"] or [*CASES]
    if unknown := {*rows} - {*CASES}:
        raise SystemExit(f"no row {', '.join(sorted(unknown))}; there are {[*CASES]}")
    count = harness.threads()
    print(f"{count} BLAS thread(s), median of {REPEATS}, K = {sizes.classes}, d = {sizes.d}")
    print(
        f"{'':<48}{'ours, s':>9}{'official':>10}{'times':>8} {'':<12}{'/ floor':>6}{'/ ridge':>21}"
    )
    for name in rows:
        print(compare(name, sizes), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
