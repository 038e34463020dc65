"""Which composition should ``sparcl-plus`` have?  Compared on training samples alone.

    python benchmarks/composition.py            # a quarter of an hour on one core; writes docs/search/composition.csv

A quarter of each class's *training* samples plays the test set, the rest is the stream (10 sessions,
five class orders that no suite uses).  No test sample is read.  Each part is tried alone and together:
the root of features that are never negative, the discriminant beside the ridge, and random
ReLU features beside the features.  The ridge is a number, in mean squared norms of a row: what a rule
gains is another question.
"""

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from sparcl.base.files import replacing
from sparcl.base.randomness import generator
from sparcl.features import store
from sparcl.protocol import experiment, metrics, stream

ORDERS = (2001, 2002, 2003, 2004, 2005)
RIDGE = 0.2
SETS = (
    "cifar-100-150/efficientnet-lite0",
    "cub-50/efficientnet-lite0",
    "grocery-81/efficientnet-lite0",
    "sketchy-125/efficientnet-lite0",
    "cub-50/vit-s14-focus",
    "sketchy-125/vit-s14-focus",
)
RELU = {"random": {"width": 1000}}
# title -> settings of `compose`
TRIED = {
    "ridge": {"transform": "unit"},
    "ridge, rooted": {"transform": "rooted"},
    "discriminant": {"transform": "unit", "head": {"ridge-discriminant": {"weight": 0.999}}},
    "discriminant, rooted": {
        "transform": "rooted",
        "head": {"ridge-discriminant": {"weight": 0.999}},
    },
    "both": {"transform": "unit", "head": "ridge-discriminant"},
    "both, rooted": {"transform": "rooted", "head": "ridge-discriminant"},
    "ReLU, ridge": {"transform": "unit", "map": RELU},
    "ReLU, both, rooted": {"transform": "rooted", "map": RELU, "head": "ridge-discriminant"},
}


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


def measured(path: str) -> Iterator[dict[str, object]]:
    """Yield a row for each composition and class order of a set: A_bar, A_last and forgetting in percent."""
    data = store.read(f"data/features/{path}/train.h5")
    dataset, backbone = path.split("/")
    for title, hyper in TRIED.items():
        for order in ORDERS:
            splits = development(data.features, data.labels, order)
            classes = stream.class_order(order, len(data.class_names))
            sessions = stream.split_sessions(classes, 10)
            settings = {**hyper, "ridge": RIDGE, "relative": True}
            record = experiment.run(*splits, sessions, "compose", settings)
            counts = [
                np.array(record[key]) for key in ("correct", "test_counts", "session_of_class")
            ]
            A_t = metrics.session_accuracy(*counts)
            yield {
                "dataset": dataset,
                "backbone": backbone,
                "composition": title,
                "ridge": f"{RIDGE:g}",
                "order": order,
                "A_bar": f"{A_t.mean():.4f}",
                "A_last": f"{A_t[-1]:.4f}",
                "forgetting": f"{metrics.forgetting(*counts)[-1]:.4f}",
            }


def record(
    measured: Callable[[str], Iterable[dict[str, object]]], sets: Sequence[str], file: str
) -> None:
    """Write the rows of the sets that the command line names, or of all, to a CSV file."""
    rows: list[dict[str, object]] = []
    for name in sys.argv[1:] or sets:
        rows += measured(name)
        print(name, flush=True)
    write(rows, file)


def write(rows: Sequence[dict[str, object]], file: str) -> None:
    """Write rows of the same columns to a CSV file."""
    with replacing(Path(file)) as path, path.open("w") as stream:
        table = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    record(measured, SETS, "docs/search/composition.csv")
