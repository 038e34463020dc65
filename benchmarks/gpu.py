"""Sessions on a GPU against this machine's CPUs, the public form on the card, and the card's own rate.

    python benchmarks/gpu.py                            all rows, at most ten minutes, one card
    python benchmarks/gpu.py --small --device torch-cpu   the same code at small sizes, without a card

Prints tables in Markdown for docs/performance.md.  Streams, sizes and outcomes are those of
``methods.py``: K = 100 classes, d = 768, one session of ten new classes after ninety.  Before a time
counts, the chosen ridge and every prediction must be those of the other side.

    CPU       the same learner with device="cpu", once
    public    the form in which the method's public code computes, in torch on the card and in its
              dtype: dense Grams, a candidate after the other, LU solves or a thin SVD
    floor     what cannot be left out, at rates measured in this process: the map, the symmetric Gram
              and the Cholesky factor at the rate of a product, and what chooses the ridge likewise
    spare     peak of the card's memory during the session, less that before it, in matrices M x M

A row that would begin after ``--minutes`` is left out and said to be.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import methods as cpu
import numpy as np
import official_forms as official
import torch
from harness import same_predictions, timed

from sparcl.algebra import backend, tensors
from sparcl.algebra.spectra import leading_eigh
from sparcl.algebra.sums import Gram
from sparcl.learners.composed import Composed
from sparcl.learners.learner import Learner
from sparcl.methods import build
from sparcl.parts.rules import Newest

REPEATS = 3
WIDE, WIDE_SMALL = 50_000, 600
TILES = (256, 512, 1024, 2048, 4096)
EIGH = (768, 1024, 2048, 4096)
AIMS = {"ranpac-cifar": (12.0, 2.0), "ranpac-cub": (12.0, 2.0), "flycl": (3.0, None)}


class Card:
    """One device of torch: its clock waits for what was asked of it."""

    def __init__(self, device: str, small: bool) -> None:
        self.device, self.small = device, small
        self.on: tensors.Tensors = backend.named(device)  # type: ignore[assignment]
        self.cuda = self.on.device.type == "cuda"
        self.sizes = cpu.SMALL if small else cpu.FULL

    def seconds(self, call: Callable[[], object]) -> float:
        """Return the seconds of a call, all its work on the card included."""
        self.wait()
        start = time.perf_counter()
        call()
        self.wait()
        return time.perf_counter() - start

    def wait(self) -> None:
        """Wait until the card has done its work."""
        if self.cuda:
            torch.cuda.synchronize(self.on.device)

    def best(self, call: Callable[[], object], repeats: int = REPEATS) -> float:
        """Return the least seconds of some calls, after one that is not timed."""
        call()
        return min(self.seconds(call) for _ in range(repeats))

    def peak(self, call: Callable[[], object]) -> int | None:
        """Return the bytes that a call takes beyond those taken before it; None without a card."""
        if not self.cuda:
            call()
            return None
        self.wait()
        torch.cuda.reset_peak_memory_stats(self.on.device)
        before = torch.cuda.memory_allocated(self.on.device)
        call()
        self.wait()
        return torch.cuda.max_memory_allocated(self.on.device) - before

    def random(self, *shape: int, dtype: str) -> torch.Tensor:
        """Return normal numbers on the card, the same each time."""
        made = torch.Generator(self.on.device).manual_seed(0)
        return torch.randn(
            *shape, generator=made, device=self.on.device, dtype=getattr(torch, dtype)
        )

    def rate(self, dtype: str) -> float:
        """Return flops a second of a product."""
        n = 256 if self.small else 8192
        A = self.random(n, n, dtype=dtype)
        return 2 * n**3 / self.best(lambda: A @ A)

    def named(self) -> str:
        """Return what is measured, for a table's head."""
        card = torch.cuda.get_device_name(self.on.device) if self.cuda else "no card: the CPU"
        return f"{card}; {len(os.sched_getaffinity(0))} cores; torch {torch.__version__}"


# --- peers ----------------------------------------------------------------------------------------


def public_form(ours: Composed, H: Any, Y: Any, G: Any, C: Any) -> official.Solution:
    """Return W and the ridge of the public form of RanPAC or Fly-CL, given the sums before the session."""
    G, C = G + H.T @ H, C + H.T @ Y
    if not isinstance(ours.rule, Newest):
        solve = lambda A, B: torch.cholesky_solve(B, torch.linalg.cholesky(A))  # noqa: E731
        return official.flycl(torch, H, Y, G, C, ours.rule.ridges, solve)
    parts = ours.rule.holdout.split(np.zeros(len(H), dtype=np.int64), ours.session - 1)
    fit, val = (torch.as_tensor(part, device=H.device) for part in parts)
    return official.ranpac(torch, H, Y, G, C, ours.rule.ridges, fit, val)


def selection_flops(name: str, n: int, M: int) -> float:
    """Return the flops of what chooses the ridge: products of the dual, and factors of its size.

    Fly-CL's four candidates take a factor and an inverse of a triangle each.
    """
    if name == "flycl":
        return n**2 * M + 4 * 2 * n**3 / 3
    fit = int(0.8 * n)
    return fit**2 * M + 2 * (n - fit) * fit * M + 17 * fit**3 / 3


def peer(card: Card, name: str, dtype: str) -> str:
    """Return the row of a peer: its session here, on the CPUs, in its public form, and the floor."""
    case, sizes = cpu.CASES[name], card.sizes
    M, K = sizes.width_of(case), sizes.classes
    (old, new), test = cpu.stream(case, sizes)
    hyper = {"width": M, "dtype": dtype} | case.hyper
    first = build(case.method, device=card.device, **hyper)
    first.fit_session(*old)
    state, taken, extra = first.state(), [], None
    for repeat in range(REPEATS):
        ours = moved(first, state, card.on)
        ours.expand(test[:1])  # draws the map and takes it to the card, once for all sessions
        if repeat:
            taken.append(card.seconds(lambda: ours.fit_session(*new)))  # noqa: B023
        else:
            extra = card.peak(lambda: ours.fit_session(*new))  # noqa: B023
    scores, chosen = ours.logits(test), ours.report()["ridge"]
    there = type(first).from_state(state)
    there.expand(test[:1])
    on_cpu = timed(lambda: there.fit_session(*new))
    if there.report()["ridge"] != chosen:
        raise SystemExit(f"{name}: ridge {chosen:g} here, {there.report()['ridge']:g} on the CPU")
    same_predictions(f"{name}, CPU", scores, there.logits(test), case.tolerance)
    public, of_map, (W, ridge) = public_solution(card, first, new, K)
    if ridge != chosen:
        raise SystemExit(f"{name}: ridge {chosen:g} here, {ridge:g} in the public form")
    H = of_map.map(card.on.array(test.astype(dtype)))
    same_predictions(f"{name}, public form", scores, backend.host(H @ W), case.tolerance)
    n, rate, ours_s = len(new[1]), card.rate(dtype), float(np.median(taken))
    flops = 2 * n * sizes.d * M + n * M**2 + M**3 / 3 + selection_flops(name, n, M)
    spare = "-" if extra is None else f"{extra / (M**2 * np.dtype(dtype).itemsize):.2f}"
    times, floor = AIMS[name]
    reached = (public / ours_s, ours_s * rate / flops)
    return (
        f"| {case.method} | {n:,} | {M:,} | {dtype} | {ours_s:.4f} | {on_cpu:.3f} | {public:.4f} | {reached[0]:.1f} "
        f"| {times:g} | {reached[1]:.2f} | {'-' if floor is None else f'{floor:g}'} | {spare} |"
    )


def moved(first: Learner, state: dict[str, Any], on: backend.Backend) -> Composed:
    """Return a learner of a state, on a device."""
    learner = Composed.from_state(state)
    learner.move(on)
    return learner


def public_solution(
    card: Card, first: Learner, session: tuple[np.ndarray, np.ndarray], K: int
) -> tuple[float, Composed, official.Solution]:
    """Return the seconds of the public form of a session after the first, our learner's map and rule, the outcome."""
    ours, (Phi, y) = moved(first, first.state(), card.on), session
    ours.session += 1  # the split of the session that is compared
    G, C = ours.sums.R, card.on.zeros((len(ours.sums.R), K), first.dtype)
    C[:, : ours.sums.C.shape[1]] = ours.sums.C
    found: list[official.Solution] = []

    def call() -> None:
        H = ours.map(card.on.array(Phi.astype(first.dtype)))
        Y = card.on.array((y[:, None] == np.arange(K)).astype(first.dtype))
        found.append(public_form(ours, H, Y, G, C))

    call()
    return card.seconds(call), ours, found[-1]


# --- SPARCL, width, spectra, tiles --------------------------------------------------------------


def sparcl_row(card: Card, tau: float) -> str:
    """Return a session of SPARCL without a refresh over one of the joint ridge, d = 768."""
    case = cpu.CASES["ranpac-cifar"]
    (old, new), _ = cpu.stream(case, card.sizes)
    taken = {}
    for name, hyper in (
        ("joint", {"k": 0, "tau": None, "ridge": 1.0}),
        ("held", {"tau": tau, "ridge": 1.0, "refresh": 0}),
    ):
        first = build("sparcl", device=card.device, **hyper)
        half = len(old[1]) // 2
        first.fit_session(old[0][:half].astype(np.float64), old[1][:half])
        first.fit_session(old[0][half:].astype(np.float64), old[1][half:])
        state, Phi = first.state(), new[0].astype(np.float64)

        def session(state: Any = state, first: Any = first, Phi: Any = Phi) -> float:
            ours = moved(first, state, card.on)
            return card.seconds(lambda: ours.fit_session(Phi, new[1]))

        session()
        taken[name] = float(np.median([session() for _ in range(5)]))
    ratio = taken["held"] / taken["joint"]
    return f"| {tau:g} | {taken['joint']:.4f} | {taken['held']:.4f} | {ratio:.2f} | 1.5 |"


def wide_row(card: Card) -> str:
    """Return a session at M = 50,000 in float32: its time and the memory beyond one M x M."""
    case, M = cpu.CASES["ranpac-cub"], WIDE_SMALL if card.small else WIDE
    (old, _), test = cpu.stream(case, card.sizes)
    learner = build("ranpac", device=card.device, width=M, dtype="float32", ridge=1e4)
    taken: list[float] = []
    extra = card.peak(lambda: taken.append(card.seconds(lambda: learner.fit_session(*old))))
    learner.logits(test)
    held = "-" if extra is None else f"{extra / (4 * M**2):.2f}"
    residual = learner.report()["residual"]
    return f"| {M:,} | {len(old[1]):,} | {taken[0]:.2f} | {held} | below 2 | {residual:.1e} |"


def refined_row(card: Card) -> str:
    """Return how many of 10,000 predictions of RanPAC change from float64 to float32 with refinement."""
    case = cpu.CASES["ranpac-cifar"]
    sizes = cpu.Sizes(**(vars(card.sizes) | {"test": 500 if card.small else 10_000}))
    sessions, test = cpu.stream(case, sizes)
    M, found = sizes.width_of(case), []
    for dtype in ("float64", "float32"):
        learner = build("ranpac", device=card.device, width=M, dtype=dtype)
        for Phi, y in sessions:
            learner.fit_session(Phi, y)
        found.append(learner.predict(test))
    changed = int(np.count_nonzero(found[0] != found[1]))
    return f"| {M:,} | {len(test):,} | {changed} | 2 | {learner.report()['residual']:.1e} |"


def spectrum_rows(card: Card) -> Iterator[str]:
    """Yield the seconds of all eigenpairs on the card and on the CPU, and of the leading ones."""
    for d in (60, 120) if card.small else EIGH:
        rows = card.random(2 * d, d, dtype="float64") * torch.arange(
            1, d + 1, device=card.on.device
        ).to(torch.float64).pow(-0.5)
        R = rows.T @ rows
        host = backend.host(R)
        full = card.best(lambda: card.on.descending_eigh(R), 1)  # noqa: B023
        on_cpu = timed(lambda: backend.named("cpu").descending_eigh(host))  # noqa: B023
        lead = card.best(lambda: leading_eigh(card.on, R, rank=5), 1)  # noqa: B023
        lead_cpu = timed(lambda: leading_eigh(backend.HOST, host, rank=5))  # noqa: B023
        yield f"| {d:,} | {full:.4f} | {on_cpu:.4f} | {lead:.4f} | {lead_cpu:.4f} |"


def tile_rows(card: Card, dtype: str) -> Iterator[str]:
    """Yield the seconds of an update and a factor by the side of a tile, and what torch takes by itself."""
    M = 300 if card.small else 10_000
    rate, kept = card.rate(dtype), tensors.Tensors.tile
    X = card.random(M // 2, M, dtype=dtype)
    try:
        for side in (64, 128) if card.small else TILES:
            tensors.Tensors.tile = side
            R = Gram(M, dtype, card.on)
            update = card.best(lambda: R.add(X))  # noqa: B023
            factor = card.best(lambda: factored(R, float(M)))  # noqa: B023
            share = (M**3 / 3 / rate / factor, (M // 2) * M**2 / rate / update)
            yield f"| {dtype} | {side:,} | {update:.4f} | {share[1]:.0%} | {factor:.4f} | {share[0]:.0%} |"
    finally:
        tensors.Tensors.tile = kept
    A = X.T @ X
    A.diagonal().add_(float(M))
    gram, own = card.best(lambda: X.T @ X), card.best(lambda: torch.linalg.cholesky(A))
    yield f"| {dtype} | torch itself | {gram:.4f} | - | {own:.4f} | - |"


def factored(R: Gram, shift: float) -> None:
    """Factor R + shift I and let go."""
    with R.factored(shift):
        pass


def tables(card: Card) -> Iterator[tuple[str, list[Callable[[], Iterator[str]]]]]:
    """Yield the head of each table and what makes its rows, most wanted first."""
    head = "| method | rows | M | dtype | seconds | CPU | public form | times | aim | of the floor | aim | spare |"
    yield (
        head,
        [
            lambda n=name, t=dtype: iter([peer(card, n, t)])
            for name, dtype in (
                ("ranpac-cifar", "float32"),
                ("ranpac-cub", "float32"),
                ("flycl", "float32"),
                ("ranpac-cifar", "float64"),
            )
        ],
    )
    yield (
        "| tau | joint ridge, s | SPARCL, s | ratio | aim |",
        [lambda t=tau: iter([sparcl_row(card, t)]) for tau in (0.5, 0.95)],
    )
    yield "| M | rows | seconds | peak / M^2 | aim | residual |", [lambda: iter([wide_row(card)])]
    yield (
        "| M | test rows | predictions that change in float32 | aim | residual |",
        [lambda: iter([refined_row(card)])],
    )
    yield (
        "| dtype | tile | update, s | of the rate | factor, s | of the rate |",
        [lambda t=dtype: tile_rows(card, t) for dtype in ("float32", "float64")],
    )
    yield (
        "| d | all pairs, s | CPU | leading 5, s | CPU |",
        [lambda: spectrum_rows(card)],
    )


def main(arguments: list[str] | None = None) -> None:
    """Print every table that the time allows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "torch-cpu"], default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--minutes", type=float, default=8.0, help="no row begins after these")
    chosen = parser.parse_args(arguments)
    card, began = Card(chosen.device, chosen.small), time.perf_counter()
    print(f"{card.named()}, {card.sizes}\n")
    for head, rows in tables(card):
        print(head)
        print("|" + "---|" * (head.count("|") - 1))
        for row in rows:
            if time.perf_counter() - began > 60 * chosen.minutes:
                print("| left out: no time | " + "| " * (head.count("|") - 2))
                continue
            for line in row():
                print(line, flush=True)
        print(flush=True)
    print(f"{time.perf_counter() - began:.0f} s in all.")


if __name__ == "__main__":
    main()
