"""Which learner should face a stream that may go wrong?  Compared on training samples alone.

    python benchmarks/streams.py            # ten minutes on one core; writes docs/search/streams.csv

As benchmarks/composition.py, on streams in which unannotated images of old classes arrive under new labels, at rates
that no learner knows.  No test sample is read.
"""

from collections.abc import Iterator

import numpy as np
from composition import SETS, development, record

from sparcl.base.rows import prepared
from sparcl.features import store
from sparcl.protocol import stream
from study.loop.experiment import Split
from study.streams import run as stressed

ORDERS = (2001, 2002)
STREAMS = [{"unannotated": [0, 0.5, 1]}]
SETTINGS = {"unannotated": {"reserve": 0.4}}
LDA = {"head": "ridged-scatter", "ridge": 1.0}
PLUS = {"transform": "rooted", "head": "ridge-discriminant", "ridge": 0.1, "relative": True}
BESIDE = {"transform": "rooted", "core": {"beside-scatter": {"tau": 0.5}}, "ridge": 0.1}
# title -> settings of `compose`
TRIED = {
    "ridge": {"ridge": 0.1},
    "ridge on a core, tau 0.5": {"core": {"spectral": {"tau": 0.5}}, "ridge": 0.1},
    "ridge on a core, tau 0.85": {"core": {"spectral": {"tau": 0.85}}, "ridge": 0.1},
    "ridge, old columns frozen": {"core": "frozen", "ridge": 0.1},
    "LDA": LDA,
    "LDA, old model": LDA | {"row_weights": "old-model"},
    "LDA, filter": LDA | {"row_weights": "filter"},
    "SPARCL+": PLUS,
    "SPARCL+, filter": PLUS | {"row_weights": "filter"},
    "SPARCL beside LDA": BESIDE,
    "SPARCL beside LDA, filter": BESIDE | {"row_weights": "filter"},
}


def measured(path: str) -> Iterator[dict[str, object]]:
    """Yield a row for each learner, class order and rate of a set: accuracies in percent, contaminated fractions."""
    data = store.read(f"data/features/{path}/train.h5")
    dataset, backbone = path.split("/")
    for order in ORDERS:
        parts = development(data.features, data.labels, order)
        train, validation = (Split(prepared(s.features, True), s.labels) for s in parts)
        classes = stream.class_order(order, len(data.class_names))
        sessions = stream.split_sessions(classes, 10)
        for title, hyper in TRIED.items():
            made = stressed.run(
                train, validation, sessions, STREAMS, SETTINGS, order, "compose", dict(hyper)
            )
            counts = np.array(made["test_counts"])
            half = np.array(made["session_of_class"]) < 5
            for run in made["runs"]:
                correct = np.array(run["correct"])[-1]
                yield {
                    "dataset": dataset,
                    "backbone": backbone,
                    "learner": title,
                    "order": order,
                    "rate": f"{run['rates']['unannotated']:g}",
                    "A_last": f"{100 * correct.sum() / counts.sum():.4f}",
                    "A_old": f"{100 * correct[half].sum() / counts[half].sum():.4f}",
                    "noticed": _mean(run["noticed"]),
                    "strangers": _mean(run["strangers"]),
                }


def _mean(values: list[float | None]) -> str:
    found = [value for value in values[1:] if value is not None]
    return f"{np.mean(found):.4f}" if found else ""


if __name__ == "__main__":
    record(measured, SETS, "docs/search/streams.csv")
