"""Which rates should the trained methods have in a suite?  Chosen on training images of its first session alone.

    python benchmarks/learning_rates.py trained-cnn   # 35 minutes on one core; it uses two

Writes docs/search/learning-rates.csv.  The classes of the first session of the suite's first class order make two
sub-sessions, so that a trial sees forgetting, distillation, alignment and the choice of a slot.  A fifth of each
class's training images validates, the rest trains, for the epochs and batches of the suite.  Two splits differ in
images and sub-sessions.  Every value of a grid is tried.  The highest mean accuracy after the second sub-session is
chosen, the smallest value among equals.  A linear probe chooses the rate of the heads, and each method that trains
the network at a rate of its own then chooses that rate in units of the head's.  No test image is read.  What the
file holds already, of the same suite and settings, is not tried again.
"""

import csv
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from composition import write

from sparcl.base.errors import NumericalError
from sparcl.base.randomness import generator
from sparcl.extraction import backbones
from sparcl.protocol import stream
from study.images import datasets
from study.images.preprocessing import preprocessing_of
from study.pipeline.configuration import load
from study.trained import methods
from study.trained.images import View, decode
from study.trained.setup import Setup

FILE = Path("docs/search/learning-rates.csv")
SPLITS = (0, 1)
PROBE = "linear-probe"  # comes first: its rate is that of the heads of those at two rates
TWO_RATES = ("slow", (0.001, 0.003, 0.01, 0.03, 0.1, 0.3))
# method -> the setting that is searched, and its values
GRIDS: dict[str, tuple[str, tuple[float, ...]]] = {
    PROBE: ("rate", (0.001, 0.003, 0.01, 0.03, 0.1)),
    **dict.fromkeys(("finetune", "icarl", "derpp", "joint-finetune"), TWO_RATES),
    "foster": ("rate", (3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01)),
    "slca": ("slow", (0.001, 0.003, 0.01)),
    "l2p": ("rate", (0.001875, 0.005625, 0.01875, 0.05625)),
    "dualprompt": ("rate", (3e-4, 1e-3, 3e-3, 0.01)),
    "coda-prompt": ("rate", (1e-3, 3e-3, 0.01, 0.03)),
    "ease": ("rate", (0.025, 0.075, 0.25, 0.75)),
}
TRIAL = ["suite", "method", "setting", "value", "split", "epochs", "batch", "rate"]

Row = dict[str, Any]


@cache
def prepared(name: str) -> tuple[dict[str, Any], Setup, int, np.ndarray]:
    """Return the configuration, the setup, the class order and the classes of its first session."""
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
    sessions = stream.split_sessions(stream.class_order(order, images.classes), suite["sessions"])
    return configuration, setup, order, sessions[0]


def tried(suite: str, method: str, hyper: Row, split: int) -> Row:
    """Return seconds, and accuracies in percent of the sub-sessions' own images and of those held out, all classes."""
    configuration, setup, order, classes = prepared(suite)
    images, held = setup.train, np.zeros(len(setup.train), dtype=bool)
    for label in classes:
        rows = np.flatnonzero(images.labels == label)
        rows = generator("rates", order, split, int(label)).permutation(rows)
        held[rows[: max(len(rows) // 5, 1)]] = True
    learner = methods.build(configuration["methods"][method]["learner"], setup, **hyper)
    began, fitted = time.monotonic(), []
    try:
        for part in np.array_split(generator("rates", order, split).permutation(classes), 2):
            learner.fit_session(np.flatnonzero(np.isin(images.labels, part) & ~held))
            fitted.append(learner.report()["training_accuracy"])
    except NumericalError:
        return {"training": 0.0, "validation": 0.0, "seconds": round(time.monotonic() - began, 1)}
    seconds = round(time.monotonic() - began, 1)
    validating = images.subset(np.flatnonzero(held))
    found = learner.classes[np.argmax(learner.scores(validating), axis=1)]
    accuracy = 100 * float(np.mean(found == validating.labels))
    training = round(float(np.mean(fitted)), 4)
    return {"training": training, "validation": round(accuracy, 4), "seconds": seconds}


def chosen(rows: list[Row], suite: str, method: str) -> float:
    """Return the value with the highest mean accuracy on held-out images."""
    mine = [row for row in rows if (row["suite"], row["method"]) == (suite, method)]
    means = pd.DataFrame(mine).astype({"validation": float, "value": float})
    return float(str(means.groupby("value")["validation"].mean().idxmax()))  # the first of equals


def recorded() -> list[Row]:
    """Return the rows of the file."""
    if not FILE.is_file():
        return []
    with FILE.open(newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def search(suite: str, pool: ProcessPoolExecutor) -> None:
    """Try the grids of a suite's methods, the probe's first; the file has every trial as soon as it ended."""
    configuration = load(Path.cwd())
    block = configuration["suites"][suite]
    known = {tuple(str(row[key]) for key in TRIAL): row for row in recorded()}
    rows: list[Row] = []
    others = [row for row in known.values() if row["suite"] != suite]
    for names in ([PROBE], [m for m in block["methods"] if m in GRIDS and m != PROBE]):
        trials: list[Row] = []
        waiting: list[Any] = []
        for method, split in product(names, SPLITS):
            setting, values = GRIDS[method]
            learner = configuration["methods"][method]["learner"]
            own = methods.hyperparameters(learner) | configuration["methods"][method]["hyper"]
            hyper = own | block["training"]["methods"].get(method, {})
            if GRIDS[method] == TWO_RATES:
                hyper["rate"] = chosen(rows, suite, PROBE)
            for value in values:
                given = hyper | {setting: value}
                trial = {"suite": suite, "method": method, "setting": setting, "value": value}
                trial |= {"split": split} | {key: given[key] for key in TRIAL[5:]}
                found = known.get(tuple(str(trial[key]) for key in TRIAL))
                trials.append(trial)
                waiting.append(found or pool.submit(tried, suite, method, given, split))
        for trial, result in zip(trials, waiting, strict=True):
            outcome = result if isinstance(result, dict) else result.result()
            rows.append(
                trial | {key: outcome[key] for key in ("training", "validation", "seconds")}
            )
            print(*rows[-1].values(), file=sys.stderr, flush=True)
            write(others + [row | {"chosen": 0} for row in rows], str(FILE))
    best = {name: chosen(rows, suite, name) for name in {str(row["method"]) for row in rows}}
    marked = [row | {"chosen": int(row["value"] == best[row["method"]])} for row in rows]
    for name, value in sorted(best.items()):
        print(f"{suite}: {name}: {GRIDS[name][0]}: {value:g}", file=sys.stderr)
    write(others + marked, str(FILE))


def main(suites: list[str]) -> None:
    """Search for each trained method of ``suites``, two trials at a time; other suites' rows stay."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for suite in suites:
            search(suite, pool)


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("Which suites?  As: python benchmarks/learning_rates.py trained-cnn")
    main(sys.argv[1:])
