"""Which settings should ``sparcl-plus`` have?  Compared on training samples alone.

    python benchmarks/composition.py            # a quarter of an hour on one core; writes docs/search/composition.csv

A quarter of each class's *training* samples plays the test set, the rest is the stream (10 sessions,
two class orders that no suite uses).  No test sample is read.  Sketches of one photo stay on one side.  Each
setting is changed alone; the part of a class's own covariance is a curve over the size of the core.
With 5, 10 and 20 samples a class the default is compared with linear discriminant analysis and class means.
"""

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.files import replacing
from sparcl.base.randomness import generator
from sparcl.features import store
from sparcl.protocol import stream
from study.loop import experiment, metrics

ORDERS = (2001, 2002)
SETS = (
    "cifar-100-150/efficientnet-lite0",
    "cub-50/efficientnet-lite0",
    "grocery-81/efficientnet-lite0",
    "sketchy-125/efficientnet-lite0",
    "cub-50/vit-s14-focus",
    "sketchy-125/vit-s14-focus",
)
PLUS = "sparcl-plus"
# title -> (method, settings)
FEW: dict[str, tuple[str, dict[str, Any]]] = {
    "class means": ("ncm", {}),
    "LDA": ("slda", {"ridge_relative": 1.0}),
    "SPARCL+ 2": ("sparcl-plus-2", {}),
    "SPARCL+": (PLUS, {}),
}
TRIED = FEW | {
    "joint ridge": ("compose", {"transform": "unit", "ridge": 0.1, "relative": True}),
    "LR-RGDA": ("lr-rgda", {}),
    **{f"k = {k}": (PLUS, {"k": k}) for k in (0, 32, 64, 256, 4096)},
    "rank 4": (PLUS, {"rank": 4}),
    "rank 64": (PLUS, {"rank": 64}),
    "own 0.2": (PLUS, {"own": 0.2}),
    "own 0.8": (PLUS, {"own": 0.8}),
    "alpha 0.3": (PLUS, {"alpha": 0.3}),
    "no ridge": (PLUS, {"weight": 0}),
    "ridge 1": (PLUS, {"weight": 1.0}),
    "first core": (PLUS, {"refresh": 0}),
    "every second core": (PLUS, {"refresh": 2}),
}
SAMPLES = (5, 10, 20)  # of a class, in streams of few


def development(
    features: np.ndarray,
    labels: np.ndarray,
    order: int,
    groups: np.ndarray | None = None,
    samples: int = 0,
) -> tuple[experiment.Split, experiment.Split]:
    """Return (stream, validation): about a quarter of each class's samples validates, one at least.

    Parameters
    ----------
    groups : (n,) samples of one group stay on one side, as long as a class has two groups
    samples : of each class that are left in the stream; 0: all
    """
    held, kept = np.zeros(len(labels), dtype=bool), np.ones(len(labels), dtype=bool)
    for label in np.unique(labels):
        rows = generator("development", order, int(label)).permutation(
            np.flatnonzero(labels == label)
        )
        wanted = max(len(rows) // 4, 1)
        if groups is None:
            held[rows[:wanted]] = True
        else:
            names = list(dict.fromkeys(groups[rows]))
            for name in names[:-1]:
                if held[rows].sum() < wanted:
                    held[rows[groups[rows] == name]] = True
        if samples:
            kept[rows[~held[rows]][samples:]] = False
    return (
        experiment.Split(features[~held & kept], labels[~held & kept]),
        experiment.Split(features[held], labels[held]),
    )


def photos(dataset: str, ids: np.ndarray) -> np.ndarray | None:
    """Return the photo (n,) that each sketch was drawn from; None where no samples belong together."""
    if dataset != "sketchy-125":
        return None
    return np.array([name.rsplit(b"-", 1)[0] for name in ids])  # n02691156_10151-1.png


def measured(path: str) -> Iterator[dict[str, object]]:
    """Yield a row for each setting and class order of a set: A_bar, A_last and forgetting in percent."""
    data = store.read(f"data/features/{path}/train.h5")
    dataset, backbone = path.split("/")
    groups = photos(dataset, data.ids)
    classes = len(data.class_names)
    for samples in (0, *SAMPLES):
        for title, (method, settings) in (FEW if samples else TRIED).items():
            for order in ORDERS:
                splits = development(data.features, data.labels, order, groups, samples)
                sessions = stream.split_sessions(stream.class_order(order, classes), 10)
                record = experiment.run(*splits, sessions, method, settings)
                counts = [
                    np.array(record[key]) for key in ("correct", "test_counts", "session_of_class")
                ]
                A_t = metrics.session_accuracy(*counts)
                yield {
                    "dataset": dataset,
                    "backbone": backbone,
                    "samples": samples or "all",
                    "composition": title,
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
