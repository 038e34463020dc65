"""Which rule chooses the ridge of SPARCL+ best?  Compared on training samples alone.

    python benchmarks/ridge_rules.py            # all four bundled sets, about ten minutes

A quarter of each class's *training* samples plays the test set, the rest is the stream (10
sessions, three class orders that no suite uses).  No test sample is read: this is how the default
of ``sparcl-plus`` was decided.
"""

import sys

import numpy as np

from sparcl.base.randomness import generator
from sparcl.base.rows import unit
from sparcl.features import store
from sparcl.protocol import experiment, metrics, selection, stream

ORDERS = (2001, 2002, 2003)
RULES = ("base", "newest", "all", "gaussian")
GRID = {"ridge": [0.03, 0.1, 0.3, 1.0, 3.0], "tau": [0.5]}
HYPER = {"width": 1000}


def development(
    features: np.ndarray, labels: np.ndarray, order: int
) -> tuple[experiment.Split, experiment.Split]:
    """Return (stream, validation): a quarter of each class's samples validates, one at least."""
    held = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        rows = generator("development", order, int(label)).permutation(
            np.flatnonzero(labels == label)
        )
        held[rows[: max(len(rows) // 4, 1)]] = True
    return (
        experiment.Split(features[~held], labels[~held]),
        experiment.Split(features[held], labels[held]),
    )


def accuracies(dataset: str, order: int) -> dict[str, tuple[float, float]]:
    """Return (A_bar, A_last) in percent of every rule on one class order."""
    data = store.read(f"data/features/{dataset}/efficientnet-lite0/train.h5")
    fitted, validation = development(unit(data.features), data.labels, order)
    sessions = stream.split_sessions(stream.class_order(order, len(data.class_names)), 10)
    options = {"sub_sessions": 5, "fit_share": 0.8, "prefer_ridge": 1.0, "seed": 0}
    base = selection.select(fitted, sessions[0], "sparcl-plus", HYPER, GRID, **options)
    result = {}
    for rule in RULES:
        ridge = base["chosen"]["ridge"] if rule == "base" else rule
        hyper = HYPER | {"ridge": ridge, "tau": 0.5}
        record = experiment.run(fitted, validation, sessions, "sparcl-plus", hyper)
        keys = ("correct", "test_counts", "session_of_class")
        A_t = metrics.session_accuracy(*(np.array(record[key]) for key in keys))
        result[rule] = (float(A_t.mean()), float(A_t[-1]))
    return result


if __name__ == "__main__":
    names = sys.argv[1:] or ["cifar-100-150", "cub-50", "grocery-81", "sketchy-125"]
    print("| set | " + " | ".join(RULES) + " |\n|---|" + "--:|" * len(RULES))
    for dataset in names:
        runs = [accuracies(dataset, order) for order in ORDERS]
        cells = [np.mean([run[rule] for run in runs], axis=0) for rule in RULES]
        print(f"| {dataset} | " + " | ".join(f"{a:.2f} ({b:.2f})" for a, b in cells) + " |")
