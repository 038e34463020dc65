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
from dataclasses import replace
from functools import partial

import methods as cpu
import numpy as np
import official_forms as official
import torch
from harness import same_predictions, timed

from sparcl.algebra import backend, tensors
from sparcl.algebra.spectra import leading_eigh
from sparcl.algebra.sums import Gram
from sparcl.learners.composed import Composed
from sparcl.methods import build

REPEATS = 3
WIDE, WIDE_SMALL = 50_000, 600
TILES = (256, 512, 1024, 2048, 4096)
EIGH = (768, 1024, 2048, 4096)
AIMS = {"ranpac-cifar": (12.0, 2.0), "ranpac-cub": (12.0, 2.0), "flycl": (3.0, None)}


class Card:
    """One device of torch: its clock waits for what was asked of it, and tells what memory that took."""

    def __init__(self, device: str, small: bool) -> None:
        self.device, self.small = device, small
        self.on: tensors.Tensors = backend.named(device)  # type: ignore[assignment]
        self.cuda = self.on.device.type == "cuda"
        self.sizes = cpu.SMALL if small else cpu.FULL
        self.spare: list[int] = []  # bytes of each timed call beyond those taken before it

    def seconds(self, call: Callable[[], object]) -> float:
        """Return the seconds of a call, all its work on the card included."""
        if not self.cuda:
            return timed(call)
        torch.cuda.reset_peak_memory_stats(self.on.device)
        before = torch.cuda.memory_allocated(self.on.device)
        torch.cuda.synchronize(self.on.device)
        seconds = timed(lambda: (call(), torch.cuda.synchronize(self.on.device)))
        self.spare.append(torch.cuda.max_memory_allocated(self.on.device) - before)
        return seconds

    def best(self, call: Callable[[], object], repeats: int = REPEATS) -> float:
        """Return the least seconds of some calls, after one that is not timed."""
        call()
        return min(self.seconds(call) for _ in range(repeats))

    def matrices(self, M: int, dtype: str) -> str:
        """Return the spare memory of the calls timed last, at most, in matrices M x M; and forget it."""
        spare, self.spare = max(self.spare, default=None), []
        return "-" if spare is None else f"{spare / (M**2 * np.dtype(dtype).itemsize):.2f}"

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


# --- peers ----------------------------------------------------------------------------------------


class OnCard(official.Summed):
    """The public form with its sums on the card, where our learner's map is."""

    xp = torch

    def __init__(self, ours: Composed, classes: int) -> None:
        self.ours, self.classes, M = ours, classes, len(ours.weights)
        shapes = ((M, classes), (M, classes), (M, M))
        self.W, self.C, self.G = (ours.on.zeros(shape, ours.dtype) for shape in shapes)

    def mapped(self, Phi: np.ndarray) -> torch.Tensor:
        """Return h (n, M) of features (n, d)."""
        return self.ours.map(self.ours.on.array(Phi.astype(self.ours.dtype)))

    def targets(self, y: np.ndarray) -> torch.Tensor:
        """Return one-hot rows (n, K)."""
        return self.ours.on.array((y[:, None] == np.arange(self.classes)).astype(self.ours.dtype))

    def logits(self, Phi: np.ndarray) -> np.ndarray:
        """Return scores (n, K)."""
        return backend.host(super().logits(Phi))


def selection_flops(name: str, n: int, M: int) -> float:
    """Return the flops of what chooses the ridge: products of the dual, and factors of its size.

    Fly-CL's four candidates take a factor and an inverse of a triangle each.
    """
    if name == "flycl":
        return n**2 * M + 4 * 2 * n**3 / 3
    fit = int(0.8 * n)
    return fit**2 * M + 2 * (n - fit) * fit * M + 17 * fit**3 / 3


def peer(card: Card, name: str, dtype: str) -> Iterator[str]:
    """Yield the row of a peer: its session here, on the CPUs, in its public form, and the floor."""
    case, sizes = cpu.CASES[name], card.sizes
    M, K = min(case.width, sizes.width), sizes.classes
    sessions, test = cpu.stream(case, sizes)
    hyper = {"width": M, "dtype": dtype} | case.hyper
    ours = build(case.method, device=card.device, **hyper)
    ours, taken = cpu.learned(ours, sessions, test, repeats=REPEATS, clock=card.seconds)
    spare = card.matrices(M, dtype)
    there, on_cpu = cpu.learned(build(case.method, **hyper), sessions, test)
    if (chosen := ours.report()["ridge"]) != (ridge := there.report()["ridge"]):
        raise SystemExit(f"{name}: ridge {chosen:g} here, {ridge:g} on the CPU")
    same_predictions(f"{name}, CPU", ours.logits(test), there.logits(test), case.tolerance)
    for _ in range(2):  # the second counts
        form = OnCard(ours, K)
        public = cpu.official_seconds(name, ours, form, sessions, test, card.seconds)
    n = len(sessions[1][1])
    flops = case.flops(n, 0, M, sizes) + selection_flops(name, n, M)
    times, floor = AIMS[name]
    yield (
        f"| {case.method} | {n:,} | {M:,} | {dtype} | {taken:.4f} | {on_cpu:.3f} | {public:.4f} | {public / taken:.1f} "
        f"| {times:g} | {taken * card.rate(dtype) / flops:.2f} | {'-' if floor is None else f'{floor:g}'} | {spare} |"
    )


# --- SPARCL, width, spectra, tiles --------------------------------------------------------------


def sparcl_row(card: Card, tau: float) -> Iterator[str]:
    """Yield a session of SPARCL without a refresh over one of the joint ridge, d = 768."""
    (old, new), test = cpu.stream(cpu.CASES["acil"], card.sizes)
    half, taken = len(old[1]) // 2, []
    for hyper in ({"k": 0, "tau": None}, {"tau": tau, "refresh": 0}):
        learner = build("sparcl", device=card.device, ridge=1.0, **hyper)
        learner.fit_session(old[0][:half], old[1][:half])
        last = [(old[0][half:], old[1][half:]), new]
        taken.append(cpu.learned(learner, last, test, repeats=5, clock=card.seconds)[1])
    joint, held = taken
    yield f"| {tau:g} | {joint:.4f} | {held:.4f} | {held / joint:.2f} | 1.5 |"


def wide_row(card: Card) -> Iterator[str]:
    """Yield a session at M = 50,000 in float32: its time and the memory beyond one M x M."""
    M = WIDE_SMALL if card.small else WIDE
    (old, _), test = cpu.stream(cpu.CASES["ranpac-cub"], card.sizes)
    learner = build("ranpac", device=card.device, width=M, dtype="float32", ridge=1e4)
    card.spare = []
    taken = card.seconds(lambda: learner.fit_session(*old))
    learner.logits(test)
    held, residual = card.matrices(M, "float32"), learner.report()["residual"]
    yield f"| {M:,} | {len(old[1]):,} | {taken:.2f} | {held} | below 2 | {residual:.1e} |"


def refined_row(card: Card) -> Iterator[str]:
    """Yield how many of 10,000 predictions of RanPAC change from float64 to float32 with refinement."""
    case, sizes = cpu.CASES["ranpac-cifar"], replace(card.sizes, test=500 if card.small else 10_000)
    sessions, test = cpu.stream(case, sizes)
    M, found = min(case.width, sizes.width), []
    for dtype in ("float64", "float32"):
        learner = build("ranpac", device=card.device, width=M, dtype=dtype)
        for Phi, y in sessions:
            learner.fit_session(Phi, y)
        found.append(learner.predict(test))
    changed = int(np.count_nonzero(found[0] != found[1]))
    yield f"| {M:,} | {len(test):,} | {changed} | 2 | {learner.report()['residual']:.1e} |"


def spectrum_rows(card: Card) -> Iterator[str]:
    """Yield the seconds of all eigenpairs on the card and on the CPU, and of the leading ones."""
    for d in (60, 120) if card.small else EIGH:
        rows = card.random(2 * d, d, dtype="float64")
        rows *= torch.arange(1, d + 1, device=card.on.device).to(torch.float64).pow(-0.5)
        R = rows.T @ rows
        host = backend.host(R)
        taken = (
            card.best(lambda: card.on.descending_eigh(R), 1),  # noqa: B023
            timed(lambda: backend.named("cpu").descending_eigh(host)),  # noqa: B023
            card.best(lambda: leading_eigh(card.on, R, rank=5), 1),  # noqa: B023
            timed(lambda: leading_eigh(backend.HOST, host, rank=5)),  # noqa: B023
        )
        yield f"| {d:,} | {' | '.join(f'{seconds:.4f}' for seconds in taken)} |"


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


# The head of each table, and what yields its rows, most wanted first.
TABLES: dict[str, list[Callable[[Card], Iterator[str]]]] = {
    "| method | rows | M | dtype | seconds | CPU | public form | times | aim | of the floor | aim | spare |": [
        *(partial(peer, name=name, dtype="float32") for name in AIMS),
        partial(peer, name="ranpac-cifar", dtype="float64"),
    ],
    "| tau | joint ridge, s | SPARCL, s | ratio | aim |": [
        partial(sparcl_row, tau=tau) for tau in (0.5, 0.95)
    ],
    "| M | rows | seconds | peak / M^2 | aim | residual |": [wide_row],
    "| M | test rows | predictions that change in float32 | aim | residual |": [refined_row],
    "| dtype | tile | update, s | of the rate | factor, s | of the rate |": [
        partial(tile_rows, dtype=dtype) for dtype in ("float32", "float64")
    ],
    "| d | all pairs, s | CPU | leading 5, s | CPU |": [spectrum_rows],
}


def main(arguments: list[str] | None = None) -> None:
    """Print every table that the time allows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", choices=["cuda", "torch-cpu"], default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--minutes", type=float, default=8.0, help="no row begins after these")
    chosen = parser.parse_args(arguments)
    card, began = Card(chosen.device, chosen.small), time.perf_counter()
    named = torch.cuda.get_device_name(card.on.device) if card.cuda else "no card: the CPU"
    cores = len(os.sched_getaffinity(0))
    print(f"{named}; {cores} cores; torch {torch.__version__}, {card.sizes}\n")
    for head, rows in TABLES.items():
        print(head)
        print("|" + "---|" * (head.count("|") - 1))
        for row in rows:
            if time.perf_counter() - began > 60 * chosen.minutes:
                print("| left out: no time | " + "| " * (head.count("|") - 2))
                continue
            for line in row(card):
                print(line, flush=True)
        print(flush=True)
    print(f"{time.perf_counter() - began:.0f} s in all.")


if __name__ == "__main__":
    main()
