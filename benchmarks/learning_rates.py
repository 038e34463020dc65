"""Which rates should the trained methods have in a suite?  Chosen on training images of its first session alone.

    python benchmarks/learning_rates.py trained-cnn   # 35 minutes on one core; it uses two

Writes docs/search/learning-rates.csv.  The classes of the first session of the suite's first class order make two
sub-sessions, so that a trial sees forgetting, distillation, alignment and the choice of a slot.  A fifth of each
class's training images validates, the rest trains, for the epochs and batches of the suite.  Two splits differ in
images and sub-sessions.  Every value of a grid is tried.  The highest mean accuracy after the second sub-session is
chosen, the smallest value among equals.  A linear probe chooses the rate of the heads, and each method that trains
the network at a rate of its own then chooses that rate in units of the head's.  No test image is read.
"""

import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

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


def search(suite: str, pool: ProcessPoolExecutor) -> pd.DataFrame:
    """Try the grids of a suite's methods, the probe's first; return a row for each trial."""
    configuration = load(Path.cwd())
    block = configuration["suites"][suite]
    rows: list[Row] = []
    best: dict[str, float] = {}
    for names in ([PROBE], [m for m in block["methods"] if m in GRIDS and m != PROBE]):
        waiting: list[tuple[Row, Future[Row]]] = []
        for method, split in product(names, SPLITS):
            setting, values = GRIDS[method]
            learner = configuration["methods"][method]["learner"]
            own = methods.hyperparameters(learner) | configuration["methods"][method]["hyper"]
            hyper = own | block["training"]["methods"].get(method, {})
            if GRIDS[method] == TWO_RATES:
                hyper["rate"] = best[PROBE]
            for value in values:
                given = hyper | {setting: value}
                trial = {"suite": suite, "method": method, "setting": setting, "value": value}
                trial |= {"split": split} | {key: given[key] for key in ("epochs", "batch", "rate")}
                waiting.append((trial, pool.submit(tried, suite, method, given, split)))
        for trial, outcome in waiting:
            rows.append(trial | outcome.result())
            print(*rows[-1].values(), file=sys.stderr, flush=True)
        found = pd.DataFrame(rows)
        means = found.groupby(["method", "value"])["validation"].mean()
        best = {name: means[name].idxmax() for name in found["method"].unique()}  # first of equals
    print(best, file=sys.stderr)
    return found.assign(chosen=(found["value"] == found["method"].map(best)).astype(int))


def main(suites: list[str]) -> None:
    """Search for each trained method of ``suites``, two trials at a time; other suites' rows stay."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for suite in suites:
            known, found = pd.read_csv(FILE, dtype=str), search(suite, pool)
            pd.concat([known[known["suite"] != suite], found]).to_csv(FILE, index=False)


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("Which suites?  As: python benchmarks/learning_rates.py trained-cnn")
    main(sys.argv[1:])
