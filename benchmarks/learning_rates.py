"""Which learning rate should a trained method have in a suite?  Chosen on training images alone.

    python benchmarks/learning_rates.py trained trained-cnn   # 90 minutes on two cores

Writes docs/search/learning-rates.csv.  A fifth of the first session's training images validates, the rest trains, for
the epochs and batches of the suite.  A method that trains the whole network at one rate is tried from its own rate down
to a hundredth.  From the best of these, for the others from their own rate, the search walks by factors of about 3 for
as long as validation accuracy rises.  Among equals the rate nearest to the start is chosen.  No test image is read.
What the file holds already, of the same suite, epochs and batches, is not tried again.
"""

import csv
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from composition import write

from sparcl.base.errors import NumericalError
from sparcl.base.randomness import generator
from sparcl.extraction import backbones
from sparcl.extraction.preprocessing import preprocessing_of
from sparcl.protocol import stream
from study.images import datasets
from study.pipeline.configuration import load
from study.trained import methods
from study.trained.images import View, decode
from study.trained.setup import Setup

FACTORS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
START = FACTORS.index(1)
AT_ONE_RATE = ("finetune", "icarl", "derpp", "foster")
# In the first session it is fine-tuning, whose rate it takes.
SAME = "joint-finetune"

Row = dict[str, object]
Rows = dict[float, Row]
FILE = Path("docs/search/learning-rates.csv")


@cache
def prepared(name: str) -> tuple[dict, Setup, np.ndarray, np.ndarray]:
    """Return the configuration, the setup, and the rows of the first session that train and that validate."""
    torch.set_num_threads(1)
    configuration = load(Path.cwd())
    suite = configuration["suites"][name]
    (dataset,), (backbone,) = suite["datasets"], suite["backbones"]
    block, network = configuration["datasets"][dataset], configuration["backbones"][backbone]
    places = configuration["extraction"]
    preprocessing = preprocessing_of(network, block)
    side = int(preprocessing["size"] / preprocessing["crop"])
    images = decode(
        datasets.open_split(dataset, block, "train", places["image_root"], places["cache"], ""),
        side,
        preprocessing["interpolation"],
    )
    training = suite["training"]
    view = View(preprocessing, training["augmentation"], side=side)
    model = backbones.build(network, preprocessing, cache=places["cache"]).model
    setup = Setup(model, images, view, training["device"], training["precision"])
    order = suite["pairs"][0][0]
    classes = stream.split_sessions(stream.class_order(order, images.classes), suite["sessions"])[0]
    held = np.zeros(len(images), dtype=bool)
    for label in classes:
        rows = np.flatnonzero(images.labels == label)
        held[generator("rates", order, int(label)).permutation(rows)[: max(len(rows) // 5, 1)]] = (
            True
        )
    rows = np.flatnonzero(np.isin(images.labels, classes))
    return configuration, setup, rows[~held[rows]], rows[held[rows]]


def tried(suite: str, method: str, factor: float) -> dict[str, object]:
    """Train the first session at ``factor`` times the method's own rate; return accuracies in percent."""
    configuration, setup, rows, held = prepared(suite)
    budget = configuration["suites"][suite]["training"]["methods"].get(method, {})
    block = configuration["methods"][method]
    own = (methods.hyperparameters(block["learner"]) | block["hyper"])["rate"]
    hyper = block["hyper"] | budget | {"rate": float(f"{factor * own:.4g}")}
    learner = methods.build(block["learner"], setup, **hyper)
    row = {key: hyper[key] for key in ("epochs", "batch", "rate")}
    row = {"suite": suite, "method": method, "factor": factor} | row
    try:
        learner.fit_session(rows)
    except NumericalError:
        return row | {"training": 0.0, "validation": 0.0}
    images = setup.train
    found = learner.classes[np.argmax(learner.scores(images.subset(held)), axis=1)]
    return row | {
        "training": round(learner.report()["training_accuracy"], 4),
        "validation": round(100 * float(np.mean(found == images.labels[held])), 4),
    }


def walked(suite: str, method: str, known: Rows) -> list[Row]:
    """Return a row for each rate tried, by rate; ``known`` are rows of the same budget by factor."""
    rows: dict[int, Row] = {}

    def accuracy(index: int) -> float:
        if index not in rows:
            factor = FACTORS[index]
            rows[index] = known.get(factor) or tried(suite, method, factor)
            print(*rows[index].values(), file=sys.stderr, flush=True)
        return float(str(rows[index]["validation"]))

    best = max(range(START, -1, -1), key=accuracy) if method in AT_ONE_RATE else START
    for step in (-1, 1):
        while 0 <= best + step < len(FACTORS) and accuracy(best + step) > accuracy(best):
            best += step
    return [rows[i] | {"chosen": int(i == best)} for i in sorted(rows)]


def searches(suites: list[str]) -> Iterator[tuple[str, str, Rows]]:
    """Yield suite, method and the rows of its budget that the file holds."""
    configuration = load(Path.cwd())
    for suite in suites:
        block = configuration["suites"][suite]
        for method in block["methods"]:
            if configuration["methods"][method].get("trained") and method != SAME:
                budget = block["training"]["methods"].get(method, {})
                of_budget = {"suite": suite, "method": method}
                of_budget |= {key: str(budget.get(key)) for key in ("epochs", "batch")}
                known = [dict(row) for row in recorded() if of_budget.items() <= row.items()]
                yield suite, method, {float(str(row["factor"])): row for row in known}


@cache
def recorded() -> list[dict[str, str]]:
    """Return the rows of the file."""
    if not FILE.is_file():
        return []
    with FILE.open(newline="") as file:
        return list(csv.DictReader(file))


def main(suites: list[str]) -> None:
    """Search for each trained method of ``suites``, one on each core; other suites' rows stay."""
    rows: list[Row] = [dict(row) for row in recorded() if row["suite"] not in suites]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for found in pool.map(walked, *zip(*searches(suites), strict=True)):
            rows += found
    write(rows, str(FILE))


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("Which suites?  As: python benchmarks/learning_rates.py trained trained-cnn")
    main(sys.argv[1:])
