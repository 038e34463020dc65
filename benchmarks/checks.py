"""What do the checks of numbers and seals cost?  A run with them and one without, by turns, in one process.

    python benchmarks/checks.py                      # CUB-50 and CIFAR-100, about two minutes
    python benchmarks/checks.py --repeats 3 cub-50

Processor time of what a job of the default suite does between its features and its record: the sessions, the scores,
and the order and the record with their seals.  Reading the features and their hashes is not among it.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from sparcl.base import sealed
from sparcl.base.rows import unit
from sparcl.features import store
from sparcl.protocol import experiment, stream

# Each check, where it is called from, and what stands for it.
NOTHING: Callable[..., None] = lambda *_: None  # noqa: E731
SCORES: Callable[[Any], Any] = lambda scores: scores  # noqa: E731
CHECKS = {
    "sparcl.learners.checks._check_range": NOTHING,
    "sparcl.learners.learner.check_learned": NOTHING,
    "sparcl.learners.learner.check_scores": SCORES,
    "sparcl.learners.composed.check_lengths": NOTHING,
    "sparcl.algebra.sums.check_lengths": NOTHING,
    "sparcl.base.sealed.seal": lambda _: "",
}
METHODS = {"ncm": {}, "acil": {"ridge": 0.1}, "sparcl": {"ridge": 0.1, "tau": 0.95}}


@contextmanager
def without() -> Iterator[None]:
    """Replace every check by nothing."""
    patches = []
    for name, stand_in in CHECKS.items():
        module, _, function = name.rpartition(".")
        patches.append(mock.patch.object(import_module(module), function, stand_in))
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()


def job(
    train: experiment.Split, test: experiment.Split, classes: int, method: str, folder: Path
) -> float:
    """Return the seconds of processor that a run takes, from its order to its record."""
    order = {"suite": "s", "dataset": "d", "order": 1993, "backbone": "b", "seed": 0}
    cut = stream.split_sessions(stream.class_order(1993, classes), 10)
    order |= {"sessions": [[int(label) for label in part] for part in cut]}
    path = folder / "s/d/1993.json"
    run = folder / f"s/d/b/{method}/1993-0.json"
    start = time.process_time()
    sealed.write_sealed(path, order)
    sessions = sealed.read_sealed(path, sealed.ORDER)["sessions"]
    record = experiment.run(train, test, sessions, method, METHODS[method])
    sealed.write_sealed(run, order | record | {"method": method})
    sealed.read_sealed(run, sealed.RUN)
    return time.process_time() - start


def compare(dataset: str, method: str, repeats: int) -> tuple[float, float]:
    """Return the medians (s) of runs with the checks and without, by turns."""
    splits = [
        store.read(f"data/features/{dataset}/efficientnet-lite0/{split}.h5")
        for split in ("train", "test")
    ]
    train, test = (experiment.Split(unit(data.features), data.labels) for data in splits)
    classes = len(splits[0].class_names)
    times: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as folder:
        job(train, test, classes, method, Path(folder))  # warm
        for turn in range(2 * repeats):
            checked = (turn + turn // 2) % 2 == 0  # with, without, without, with, ...
            if checked:
                times[checked].append(job(train, test, classes, method, Path(folder)))
            else:
                with without():
                    times[checked].append(job(train, test, classes, method, Path(folder)))
    return float(np.median(times[True])), float(np.median(times[False]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=["cub-50", "cifar-100-150"])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--repeats", type=int, default=7)
    chosen = parser.parse_args()
    print("| set | method | with, s | without, s | checks, % |\n|---|---|--:|--:|--:|")
    for dataset in chosen.datasets:
        for method in chosen.methods:
            on, off = compare(dataset, method, chosen.repeats)
            cells = f"{on:.3f} | {off:.3f} | {100 * (on / off - 1):.1f}"
            print(f"| {dataset} | {method} | {cells} |", flush=True)
