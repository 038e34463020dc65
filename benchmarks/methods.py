"""Closed-form peers against the official form of their computation: python benchmarks/methods.py.

    methods.py [--small] [ranpac-cifar ranpac-cub flycl acil foal gacl air srda fenec teen c-fecam c-ranpac
                          wann pseudo-labels]

A row is one session of 10 new classes after 90 earlier ones (K = 100, d = 768).  Methods that solve when they
score are timed with the scores of the test rows.

    times    seconds of the form in ``official_forms.py`` (one run) / ours (median of SPARCL_BENCH_REPEATS, default
             3): same process, features, map, dtype and threads.  Before a time is printed it is asserted that
             the chosen ridge is the same, that the scores of 2,000 test rows agree to 1e-6 (float32: 1e-3) and
             their predictions wholly
    / floor  ours / the seconds of what cannot be left out: 2 n d M operations of the map, n M^2 of
             a symmetric Gram and M^3 / 3 of one Cholesky at the rate of a matrix product, measured
             in this process and dtype on 4,096 x 4,096; and for a rule that chooses the ridge, its
             products at that rate and its factorisations and solves at their own rate, measured
             by calling LAPACK on matrices of their size: 17 Cholesky factors with their solves for
             RanPAC, one reduction to tridiagonal form for Fly-CL.  Methods without a map have a function
             of their own (``_srda_flops`` and those after it)
    / ridge  of few shots and row filters: ours / one session of a ridge on as many rows.  Few shots: RanPAC's with
             one value and M = 2,000, scored where ours is; filters: the same ridge with every row alike

Published times of these methods are those of their official forms; the ratio says what of them the
method needs.  F-OAL's grows with the rows, GACL's and AIR's with width and rows: they run at a
size that takes about a minute, which is printed.

SPARCL_BENCH_THREADS gives the number of BLAS threads (default 2).  ``--small`` scales every size
down, for a test of outcomes.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import harness
import numpy as np
import official_forms as official
from harness import timed, verdict
from scipy.linalg import get_lapack_funcs

from sparcl.learners.learner import Learner
from study.methods import build

REPEATS = int(os.environ.get("SPARCL_BENCH_REPEATS", "3"))
FLOOR = 1.6  # times the floor that a session may take
TWICE = 2.0  # times the session of a ridge
NORM = 40.0  # of a feature, about that of a ViT-B/16
Session = tuple[np.ndarray, np.ndarray]
Clock = Callable[[Callable[[], object]], float]  # seconds of a call


@dataclass(frozen=True)
class Sizes:
    """Features, class columns, classes of the timed session, test rows, size of the rate's product."""

    d: int = 768
    classes: int = 100
    new: int = 10
    test: int = 2000
    product: int = 4096
    width: int = 10_000  # M at most
    rows: int = 5000  # of a session at most


FULL = Sizes()
SMALL = Sizes(d=48, classes=20, new=4, test=200, product=256, width=500, rows=300)


def _ridge_flops(n: int, old: int, M: int, s: Sizes) -> float:
    return 2 * n * s.d * M + n * M**2 + M**3 / 3


@dataclass(frozen=True)
class Case:
    """One row: a method, its session, what it is compared with, and what it must take at least.

    width : M, 0 without a map; old : rows of each earlier class; scored : whether test rows are scored in the time
    form : fitted learner, K -> official form; times : how many times slower that should be
    flops : rows, rows of earlier sessions, M, sizes -> operations
    selection : rows, M, K_new, dtype, rate -> seconds of the rule that chooses the ridge
    ridge : settings of the ridge for ``/ ridge``
    """

    method: str
    rows: int
    width: int = 0
    dtype: str = "float64"
    hyper: dict[str, Any] = field(default_factory=dict)
    old: int = 10
    uneven: bool = False
    scored: bool = False
    form: Callable[[Learner, int], Any] | None = None
    times: float | None = None
    flops: Callable[[int, int, int, Sizes], float] = _ridge_flops
    selection: Callable[[int, int, int, str, float], float] | None = None
    ridge: dict[str, Any] | None = None

    @property
    def tolerance(self) -> float:
        """Return how far scores may be from those of another form, relative to the largest."""
        return 1e-6 if self.dtype == "float64" else 1e-3


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
    return official.Summed(ours, K, official.relu)


def _flycl(ours: Learner, K: int) -> official.Form:
    return official.Summed(ours, K, official.largest(ours.map.level))


def _recursive(ridge: float, batch: int, **how: Any) -> Callable[[Learner, int], official.Form]:
    return lambda ours, K: official.Recursive(ours.map.weights, K, ridge, batch, **how)


def _air(ours: Learner, K: int) -> official.Form:
    return official.AIR(ours.map.weights, K, 0.1)


def _srda_flops(n: int, old: int, M: int, s: Sizes) -> float:
    """Pooled covariance of the session, its Cholesky factor, and both its triangles on each sample so far."""
    return n * s.d**2 + s.d**3 / 3 + 2 * (n + old) * s.d**2


def _fenec_flops(n: int, old: int, M: int, s: Sizes) -> float:
    """Gram and factor of each new class, k-means++ and two rounds of Lloyd's, and the distances of test rows."""
    own, before = n / s.new, old / (s.classes - s.new)
    k = min(26, own)
    fitted = n * s.d * (3 * own + 2 * k + 8 * k)
    return fitted + 2 * s.test * s.d * (n + s.new * k + old + min(26, before) * (s.classes - s.new))


def _teen_flops(n: int, old: int, M: int, s: Sizes) -> float:
    return n * s.d + 4 * s.new * (s.classes - s.new) * s.d + 2 * s.test * s.classes * s.d


def _c_fecam_flops(n: int, old: int, M: int, s: Sizes) -> float:
    """Covariance and factor of each new class, and the distances of test rows."""
    fitted = s.new * (old * s.d**2 + s.d**3 / 3) + n * s.d**2
    return fitted + s.new * s.test * s.d**2 + 2 * s.test * old * s.d


def _c_ranpac_flops(n: int, old: int, M: int, s: Sizes) -> float:
    return 2 * old * s.d * s.new * DRAWS + _ridge_flops(s.new * DRAWS, old, M, s)


def _wann_flops(n: int, old: int, M: int, s: Sizes) -> float:
    return n**2 * s.d + n * s.d**2 + s.d**3 / 3 + 2 * s.d**2 * s.classes


def _l3a_flops(n: int, old: int, M: int, s: Sizes) -> float:
    solves = 2 * (s.d**3 / 3 + 2 * s.d**2 * s.classes)
    return solves + 2 * n * s.d * s.classes + n * s.d**2


FEW = {"ridge": 1000.0}  # few shots; about a mean squared norm
ALIKE = {"ridge": 0.1}  # every row
DRAWS = 800  # of a class, C-RanPAC's official number
RANPAC = Case("ranpac", 5000, 10_000, "float32", form=_ranpac, selection=holdout_seconds)
CASES = {
    "ranpac-cifar": replace(RANPAC, times=8.0),
    "ranpac-cub": replace(RANPAC, rows=940, times=20.0),
    "flycl": replace(RANPAC, method="flycl", form=_flycl, selection=gcv_seconds, times=3.0),
    "acil": Case("acil-rhl", 5000, 8192, form=_recursive(0.1, 4096), times=5.0),
    "foal": Case(
        "foal",
        5000,
        1000,
        form=_recursive(1.0, 10, activation=official.sigmoid, invert=np.linalg.pinv),
        times=50.0,
    ),
    "gacl": Case("gacl", 640, 5000, old=1, form=_recursive(100.0, 64, passes=3)),
    "air": Case("air", 5000, 2048, uneven=True, form=_air),
    "srda": Case("srda", 940, hyper={"official": True}, flops=_srda_flops),
    "fenec": Case("fenec", 940, hyper={"alpha": 6.12}, flops=_fenec_flops, scored=True),
    "teen": Case("teen", 50, flops=_teen_flops, scored=True, ridge=FEW),
    "c-fecam": Case("c-fecam", 50, flops=_c_fecam_flops, scored=True, ridge=FEW),
    "c-ranpac": Case("c-ranpac", 50, 2000, hyper=FEW, flops=_c_ranpac_flops, ridge=FEW),
    "wann": Case(
        "compose", 940, hyper=ALIKE | {"row_weights": "wann"}, flops=_wann_flops, ridge=ALIKE
    ),
    "pseudo-labels": Case(
        "compose",
        940,
        hyper=ALIKE | {"row_weights": "pseudo-labels"},
        flops=_l3a_flops,
        ridge=ALIKE,
    ),
}


def stream(case: Case, sizes: Sizes) -> tuple[list[Session], np.ndarray]:
    """Return the earlier and the timed session of a case, and test rows of all classes."""
    rng = np.random.default_rng(0)
    d, K, first = sizes.d, sizes.classes, sizes.classes - sizes.new
    centres = rng.standard_normal((K, d))
    old = np.repeat(np.arange(first), case.old)
    weights = 1.0 + np.arange(sizes.new) % 5 if case.uneven else np.ones(sizes.new)
    n = min(case.rows, sizes.rows)
    new = first + rng.choice(sizes.new, n, p=weights / weights.sum())
    test = np.arange(sizes.test) % K
    rows = [harness.features(rng, centres, y, NORM).astype(case.dtype) for y in (old, new, test)]
    return [(rows[0], old), (rows[1], new)], rows[2]


def learned(
    learner: Learner,
    sessions: list[Session],
    test: np.ndarray,
    *,
    scored: bool = False,
    repeats: int = 1,
    clock: Clock = timed,
) -> tuple[Learner, float]:
    """Return a learner after both sessions, and the median seconds of the second, each time from the same state."""
    old, new = sessions
    learner.fit_session(*old)
    state, on, taken = learner.state(), learner.on, []
    for _ in range(repeats):
        learner = type(learner).from_state(state)
        learner.move(on)
        if hasattr(learner, "map"):
            learner.expand(test[:1])  # draws the map, which is kept from session to session
        call = lambda: (learner.fit_session(*new), scored and learner.logits(test))  # noqa: B023, E731
        taken.append(clock(call))
    return learner, float(np.median(taken))


def official_seconds(
    name: str,
    ours: Learner,
    form: Any,
    sessions: list[Session],
    test: np.ndarray,
    clock: Clock = timed,
) -> float:
    """Return the seconds of the official form's session; its outcome must be ours."""
    case, (old, new) = CASES[name], sessions
    form.accumulate(*old)
    seconds = clock(lambda: form.session(*new))
    if case.selection and (chosen := ours.report()["ridge"]) != form.ridge:
        raise SystemExit(f"{name}: ridge {chosen:g} here, {form.ridge:g} in the official form")
    harness.same_predictions(name, ours.logits(test), form.logits(test), case.tolerance)
    return seconds


def _ridge_seconds(
    case: Case, sizes: Sizes, sessions: list[Session], test: np.ndarray, repeats: int
) -> float:
    """Return the seconds of a ridge's session on as many rows."""
    if case.method == "compose":
        ridge = build("compose", **case.ridge)
    else:
        ridge = build("ranpac", width=min(2000, sizes.width), **case.ridge)
    if case.method == "c-ranpac":
        y = np.repeat(np.unique(sessions[1][1]), DRAWS)
        drawn = np.random.default_rng(1).standard_normal((len(y), sizes.d))
        sessions = [sessions[0], (drawn, y)]
    return learned(ridge, sessions, test, scored=case.scored, repeats=repeats)[1]


def compare(name: str, sizes: Sizes = FULL, repeats: int = REPEATS) -> dict[str, float]:
    """Print a row; return the seconds of ours, the official form, the floor and the ridge, as far as it has them."""
    case = CASES[name]
    sessions, test = stream(case, sizes)
    M, n, old = min(case.width, sizes.width), len(sessions[1][1]), len(sessions[0][1])
    told = {"width": M} if M else {}
    told |= {"dtype": case.dtype} if case.dtype != "float64" else {}  # the default
    ours = build(case.method, **told, **case.hyper)
    ours, taken = learned(ours, sessions, test, scored=case.scored, repeats=repeats)
    seconds = {"ours": taken}
    rate = product_rate(sizes.product, case.dtype)
    line = f"{name:<14}n {n:,}, M {M:,}, {case.dtype}, {rate / 1e9:.0f} GFLOP/s"
    line = f"{line:<48}{taken:>9.3f}"
    if case.form:
        form = case.form(ours, sizes.classes)
        seconds["official"] = official_seconds(name, ours, form, sessions, test)
        ratio = seconds["official"] / taken
        line += (
            f"{seconds['official']:>10.2f}{ratio:>8.1f} {verdict(ratio, case.times, larger=True)}"
        )
    seconds["floor"] = case.flops(n, old, M, sizes) / rate
    if case.selection:
        seconds["floor"] += case.selection(n, M, sizes.new, case.dtype, rate)
    over = taken / seconds["floor"]
    line = f"{line:<88}{over:>6.2f} {verdict(over, FLOOR):<14}"
    if case.ridge:
        seconds["ridge"] = _ridge_seconds(case, sizes, sessions, test, repeats)
        over = taken / seconds["ridge"]
        line += f"{over:>6.2f} {verdict(over, TWICE)}"
    print(line, flush=True)
    return seconds


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
        compare(name, sizes)


if __name__ == "__main__":
    main(sys.argv[1:])
