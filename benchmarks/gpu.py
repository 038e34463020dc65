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
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import methods as cpu
import numpy as np
import torch

from sparcl.algebra import backend, tensors, tiles
from sparcl.algebra.class_sums import ClassSums
from sparcl.algebra.spectra import leading_eigh
from sparcl.algebra.sums import Gram
from sparcl.learners.composed import Composed
from sparcl.learners.learner import Learner
from sparcl.methods import build
from sparcl.protocol import stream, sweep

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


# --- the public forms, in torch -----------------------------------------------------------------


def ranpac_form(H: Any, Y: Any, G: Any, C: Any, ours: Composed) -> tuple[Any, float]:
    """Return W and the ridge of RanPAC's public form: 17 LU solves on the rows that fit, one on the sums."""
    G, C = G + H.T @ H, C + H.T @ Y
    fit, val = ours.rule.holdout.split(np.zeros(len(H), dtype=np.int64), ours.session - 1)
    fit, val = torch.as_tensor(fit, device=H.device), torch.as_tensor(val, device=H.device)
    A, B = H[fit].T @ H[fit], H[fit].T @ Y[fit]
    eye = torch.eye(len(G), dtype=G.dtype, device=G.device)
    losses = []
    for ridge in ours.rule.ridges:
        W, info = torch.linalg.solve_ex(A + ridge * eye, B)
        loss = float(((H[val] @ W - Y[val]) ** 2).mean()) if not int(info) else np.inf
        losses.append(loss if np.isfinite(loss) else np.inf)
    ridge = ours.rule.ridges[int(np.argmin(losses))]
    return torch.linalg.solve(G + ridge * eye, C), ridge


def flycl_form(H: Any, Y: Any, G: Any, C: Any, ours: Composed) -> tuple[Any, float]:
    """Return W and the ridge of Fly-CL's public form: a thin SVD of the session's rows, one Cholesky."""
    G, C, n = G + H.T @ H, C + H.T @ Y, len(H)
    U, s, _ = torch.linalg.svd(H, full_matrices=False)
    turned, scores = U.T @ Y, []
    for ridge in ours.rule.ridges:
        h = s**2 / (s**2 + ridge)
        left = Y - U @ (h[:, None] * turned)
        scores.append(float((left**2).sum()) / n / (1 - float(h.sum()) / n) ** 2)
    ridge = ours.rule.ridges[int(np.argmin(scores))]
    G.diagonal().add_(ridge)
    return torch.cholesky_solve(C, torch.linalg.cholesky(G)), ridge


FORMS = {"ranpac-cifar": ranpac_form, "ranpac-cub": ranpac_form, "flycl": flycl_form}


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
    on_cpu = cpu.seconds(lambda: there.fit_session(*new))
    if there.report()["ridge"] != chosen:
        raise SystemExit(f"{name}: ridge {chosen:g} here, {there.report()['ridge']:g} on the CPU")
    cpu.same(f"{name}, CPU", scores, there.logits(test), case.tolerance)
    public = public_seconds(card, name, first, new, test, K, scores, chosen, case.tolerance)
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


def public_seconds(
    card: Card,
    name: str,
    first: Learner,
    new: tuple[np.ndarray, np.ndarray],
    test: np.ndarray,
    K: int,
    scores: np.ndarray,
    chosen: float,
    tolerance: float,
) -> float:
    """Return the seconds of the public form of the same session, after a look at its outcome."""
    ours = moved(first, first.state(), card.on)
    ours.session += 1  # the split of the session that is compared
    Phi, y = new
    G = card.on.array(np.asarray(first.state()["sums/R"]))
    C = card.on.zeros((len(G), K), np.float32 if G.dtype == torch.float32 else np.float64)
    before = card.on.array(first.state()["sums/C"])
    C[:, : before.shape[1]] = before

    def session() -> tuple[Any, float]:
        rows = card.on.array(Phi.astype(first.dtype))
        H = ours.map(rows)
        Y = card.on.array((y[:, None] == np.arange(K)).astype(first.dtype))
        return FORMS[name](H, Y, G, C, ours)

    session()
    found: list[tuple[Any, float]] = []
    taken = card.seconds(lambda: found.append(session()))
    W, ridge = found[0]
    if ridge != chosen:
        raise SystemExit(f"{name}: ridge {chosen:g} here, {ridge:g} in the public form")
    H = ours.map(card.on.array(test.astype(first.dtype)))
    cpu.same(f"{name}, public form", scores, backend.host(H @ W), tolerance)
    return taken


# --- SPARCL, width, spectra, tiles, streams -----------------------------------------------------


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
        on_cpu = cpu.seconds(lambda: backend.named("cpu").descending_eigh(host))  # noqa: B023
        lead = card.best(lambda: leading_eigh(R, rank=5), 1)  # noqa: B023
        lead_cpu = cpu.seconds(lambda: leading_eigh(host, rank=5))  # noqa: B023
        yield f"| {d:,} | {full:.4f} | {on_cpu:.4f} | {lead:.4f} | {lead_cpu:.4f} |"


def tile_rows(card: Card, dtype: str) -> Iterator[str]:
    """Yield the seconds of an update and a factor by the side of a tile, and what torch takes by itself."""
    M = 300 if card.small else 10_000
    rate, kept = card.rate(dtype), tiles.Tiles.tile
    X = card.random(M // 2, M, dtype=dtype)
    try:
        for side in (64, 128) if card.small else TILES:
            tiles.Tiles.tile = side
            R = Gram(M, dtype, card.on)
            update = card.best(lambda: R.add(X))  # noqa: B023
            factor = card.best(lambda: factored(R, float(M)))  # noqa: B023
            share = (M**3 / 3 / rate / factor, (M // 2) * M**2 / rate / update)
            yield f"| {dtype} | {side:,} | {update:.4f} | {share[1]:.0%} | {factor:.4f} | {share[0]:.0%} |"
    finally:
        tiles.Tiles.tile = kept
    A = X.T @ X
    A.diagonal().add_(float(M))
    gram, own = card.best(lambda: X.T @ X), card.best(lambda: torch.linalg.cholesky(A))
    yield f"| {dtype} | torch itself | {gram:.4f} | - | {own:.4f} | - |"


def factored(R: Gram, shift: float) -> None:
    """Factor R + shift I and let go."""
    with R.factored(shift):
        pass


def stream_row(card: Card) -> str:
    """Return the rows a second of a fit from a feature file, beside those of reading and summing alone."""
    from sparcl.base.rows import prepared
    from sparcl.features import store

    n, d, M = (2_000, 48, 300) if card.small else (200_000, 768, 10_000)
    rng = np.random.default_rng(0)
    labels = np.arange(n, dtype=np.int32) % 100
    meta = {"dataset": "made", "split": "train", "backbone": "none", "timm_id": "none"}
    meta |= {"weights_sha256": "0" * 64, "preprocessing": {"size": 1}}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "made" / "train.h5"
        store.write(
            path,
            features=rng.standard_normal((n, d)).astype(np.float16),
            labels=labels,
            ids=[str(i) for i in range(n)],
            class_names=[str(i) for i in range(100)],
            meta=meta,
        )
        start = time.perf_counter()
        blocks = [(prepared(Phi, True), y) for Phi, y in store.blocks(path)]
        reading = time.perf_counter() - start
        learner = build("ranpac", device=card.device, width=M, ridge=1.0, dtype="float32")
        learner.accumulate(*blocks[0])
        summing = card.seconds(lambda: [learner.accumulate(*block) for block in blocks])

        def both() -> None:
            for Phi, y in store.blocks(path):
                learner.accumulate(prepared(Phi, True), y)

        whole = card.seconds(both)
    overlap = (reading + summing - whole) / min(reading, summing)
    rates = " | ".join(f"{n / seconds:,.0f}" for seconds in (reading, summing, whole))
    return f"| {n:,} | {M:,} | {rates} | {overlap:.0%} |"


def sweep_row(card: Card) -> str:
    """Return the seconds of a sweep of class orders, ridges and taus from sums, on the card and on the CPUs."""
    n, d, K = (1_000, 24, 10) if card.small else (50_000, 768, 100)
    rng = np.random.default_rng(0)
    centres, y = rng.standard_normal((K, d)), np.arange(n) % K
    Phi = centres[y] + 4 * rng.standard_normal((n, d))
    Phi /= np.linalg.norm(Phi, axis=1, keepdims=True)
    sums, test = ClassSums(d, K), slice(0, n // 5)
    sums.accumulate(Phi[n // 5 :], y[n // 5 :])
    grid: dict[str, Any] = {"ridge": [0.1, 1.0, 10.0], "tau": [0.5, 0.95]}
    orders = [stream.split_sessions(stream.class_order(1993 + i, K), 5) for i in range(3)]
    taken, counts, sending = [], [], 0.0
    for device in (card.device, "cpu"):

        def swept(device: str = device) -> list[Any]:
            nonlocal sending
            start = time.perf_counter()
            placed = sweep.placed(sums, Phi[test], device)
            card.wait()
            sending = time.perf_counter() - start if device == card.device else sending
            learners = [sweep.learner("sparcl", grid, device) for _ in orders]
            both = zip(orders, learners, strict=True)
            return [sweep.correct(*placed, y[test], order, one) for order, one in both]

        if device == card.device:
            swept()  # of a card the first call is not timed
        taken.append(card.seconds(lambda: counts.append(swept())))
    for found, expected in zip(*counts, strict=True):
        if any(not np.array_equal(found[point], expected[point]) for point in expected):
            raise SystemExit("sweep: counts differ, no time is worth comparing")
    settings = len(orders) * len(counts[0][0])
    return f"| {n:,} | {d} | {settings} | {sending:.4f} | {taken[0]:.3f} | {taken[1]:.3f} |"


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
    yield (
        "| rows | M | reading, rows/s | summing, rows/s | both, rows/s | overlap |",
        [lambda: iter([stream_row(card)])],
    )
    yield (
        "| rows | d | settings | sending, s | sweep, s | CPU, s |",
        [lambda: iter([sweep_row(card)])],
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
