"""Should the ridge's columns have unit norm where classes are unequal?  Compared on training samples.

    python benchmarks/unequal.py            # some minutes on one core; writes docs/search/unequal.csv

Validation samples are those of ``composition.py``.  The others are made unequal and learned in one session: neither
ridge nor discriminant depend on sessions.  Classes keep numbers of samples that fall from all to a share 1 / r in
equal ratios, in a random order of the classes, or half of the classes keep five.  ``spread`` is what the counts say:
their deviation over their mean.
"""

from collections.abc import Iterator
from typing import Any

import composition
import numpy as np
from composition import ORDERS, PLUS

from sparcl.base.randomness import generator
from sparcl.features import store
from sparcl.methods import build
from study.loop.experiment import Split

SETS = ("cub-50/efficientnet-lite0", "sketchy-125/efficientnet-lite0", "cub-50/vit-s14-focus")
RIDGE = {"transform": "unit", "ridge": 0.1, "relative": True}
LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "joint ridge": ("compose", RIDGE),
    "joint ridge, unit": ("compose", RIDGE | {"columns": "unit"}),
    "AIR's weights": ("compose", RIDGE | {"head": "balanced-ridge"}),
    "SPARCL+": (PLUS, {}),
    "SPARCL+, unit": (PLUS, {"columns": "unit"}),
    "no ridge": (PLUS, {"weight": 0}),
}
TAILS = {"equal": 1.0, "2 : 1": 2.0, "5 : 1": 5.0, "10 : 1": 10.0, "50 : 1": 50.0}
HALF = "half with 5"


def unequal(full: Split, kind: str, order: int) -> Split:
    """Return fewer samples of most classes, two of each at least."""
    labels = np.unique(full.labels)
    ranks = generator("unequal", order).permutation(len(labels)) / (len(labels) - 1)
    kept = np.zeros(len(full.labels), dtype=bool)
    for label, rank in zip(labels, ranks, strict=True):
        rows = np.flatnonzero(full.labels == label)
        few = 5 if rank < 0.5 else len(rows)
        wanted = few if kind == HALF else round(len(rows) * TAILS[kind] ** -rank)
        kept[generator("unequal", order, int(label)).permutation(rows)[: max(wanted, 2)]] = True
    return Split(full.features[kept], full.labels[kept])


def measured(path: str) -> Iterator[dict[str, object]]:
    """Yield a row for each kind of counts, learner and class order of a set."""
    data = store.read(f"data/features/{path}/train.h5")
    dataset, backbone = path.split("/")
    groups = composition.photos(dataset, data.ids)
    for kind in (*TAILS, HALF):
        for order in ORDERS:
            full, validation = composition.development(data.features, data.labels, order, groups)
            train = unequal(full, kind, order)
            counts = np.unique(train.labels, return_counts=True)[1]
            for title, (method, settings) in LEARNERS.items():
                learner = build(method, **settings)
                learner.fit_session(train.features, train.labels)
                right = learner.predict(validation.features) == validation.labels
                yield {
                    "dataset": dataset,
                    "backbone": backbone,
                    "counts": kind,
                    "learner": title,
                    "order": order,
                    "spread": f"{counts.std() / counts.mean():.4f}",
                    "accuracy": f"{100 * right.mean():.4f}",
                }


if __name__ == "__main__":
    composition.record(measured, SETS, "docs/search/unequal.csv")
