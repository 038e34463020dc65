"""Which composition should ``sparcl-plus`` have?  Compared on training samples alone.

    python benchmarks/composition.py            # all bundled sets, half an hour on one core

A quarter of each class's *training* samples plays the test set, the rest is the stream (10 sessions,
five class orders that no suite uses).  No test sample is read.  Each part is tried alone and together:
the root of features that are never negative, the discriminant beside the ridge, and random
ReLU features beside the features.  The ridge is a number, in mean squared norms of a row: what a rule
gains is another question.
"""

import sys
from collections.abc import Iterator

import numpy as np

from sparcl.base.randomness import generator
from sparcl.features import store
from sparcl.protocol import experiment, metrics, stream

ORDERS = (2001, 2002, 2003, 2004, 2005)
RIDGES = (0.1, 0.2, 0.3)
SETS = (
    "cifar-100-150/efficientnet-lite0",
    "cub-50/efficientnet-lite0",
    "grocery-81/efficientnet-lite0",
    "sketchy-125/efficientnet-lite0",
    "cub-50/vit-s14-focus",
    "sketchy-125/vit-s14-focus",
)
RELU = {"random": {"width": 1000}}
# title -> settings of `compose`; what has a map is tried at one ridge
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


def measured(path: str) -> Iterator[tuple[str, float, np.ndarray]]:
    """Yield title, ridge and (A_bar, A_last, forgetting) by order (5, 3), in percent."""
    data = store.read(f"data/features/{path}/train.h5")
    for title, hyper in TRIED.items():
        for ridge in RIDGES if "ReLU" not in title else (0.2,):
            rows = []
            for order in ORDERS:
                splits = development(data.features, data.labels, order)
                sessions = stream.split_sessions(
                    stream.class_order(order, len(data.class_names)), 10
                )
                settings = {**hyper, "ridge": ridge, "relative": True}
                record = experiment.run(*splits, sessions, "compose", settings)
                counts = [
                    np.array(record[key]) for key in ("correct", "test_counts", "session_of_class")
                ]
                A_t = metrics.session_accuracy(*counts)
                rows.append((A_t.mean(), A_t[-1], metrics.forgetting(*counts)[-1]))
            yield title, ridge, np.array(rows)


if __name__ == "__main__":
    print("| set | composition | ridge | average | last | forgetting |\n|---|---|--:|--:|--:|--:|")
    for name in sys.argv[1:] or SETS:
        for title, ridge, rows in measured(name):
            cells = " | ".join(
                f"{mean:.1f} ± {std:.1f}"
                for mean, std in zip(rows.mean(axis=0), rows.std(axis=0, ddof=1), strict=True)
            )
            print(f"| {name} | {title} | {ridge:g} | {cells} |", flush=True)
