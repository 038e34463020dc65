"""What docs/search.md compares: settings of SPARCL+, unequal classes, streams that go wrong, the best heads found.

    python benchmarks/search.py composition|unequal|streams|references [set ...]

Each takes up to a quarter of an hour on one core and writes docs/search/<name>.csv.  A quarter of each class's
*training* samples plays the test set, the rest is learned; sketches of one photo stay on one side.  No test sample is
read but by the references, which are scored once on them.

    composition   10 sessions, two class orders that no suite uses.  Each setting is changed alone; the part of a
                  class's own covariance is a curve over the size of the core.  With 5, 10 and 20 samples a class the
                  default is compared with linear discriminant analysis and class means
    unequal       should the ridge's columns have unit norm where classes are unequal?  Learned in one session: neither
                  ridge nor discriminant depend on sessions.  Classes keep numbers of samples that fall from all to a
                  share 1 / r in equal ratios, in a random order of the classes, or half of the classes keep five.
                  ``spread`` is what the counts say: their deviation over their mean
    streams       as composition, on streams in which unannotated images of old classes arrive under new labels, at
                  rates that no learner knows
    references    logistic regression and kernel ridge (scikit-learn) on all classes at once, which keep all samples:
                  what the closed forms could reach on the same features, no upper bound.  Their strength is chosen on
                  the held-out quarter; then each is fitted on all training samples
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression

from sparcl.base.randomness import generator
from sparcl.base.rows import prepared, unit
from sparcl.features import store
from sparcl.protocol import stream
from study.loop import experiment, metrics
from study.loop.experiment import Split
from study.methods import build
from study.streams import run as stressed

Row = dict[str, object]
ORDERS = (2001, 2002)  # of classes, and of the split into what is learned and what validates
CNN, VIT = "efficientnet-lite0", "vit-s14-focus"
FOUR = [f"{name}/{CNN}" for name in ("cifar-100-150", "cub-50", "grocery-81", "sketchy-125")]
SIX = [*FOUR, f"cub-50/{VIT}", f"sketchy-125/{VIT}"]


def development(
    features: np.ndarray,
    labels: np.ndarray,
    order: int,
    groups: np.ndarray | None = None,
    samples: int = 0,
) -> tuple[Split, Split]:
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
    return Split(features[~held & kept], labels[~held & kept]), Split(features[held], labels[held])


def photos(path: str, ids: np.ndarray) -> np.ndarray | None:
    """Return the photo (n,) that each sketch was drawn from; None where no samples belong together."""
    if not path.startswith("sketchy-125"):
        return None
    return np.array([name.rsplit(b"-", 1)[0] for name in ids])  # n02691156_10151-1.png


# --- composition ------------------------------------------------------------------------------

PLUS = "sparcl-plus"
RIDGE = {"transform": "unit", "ridge": 0.1, "relative": True}
SAMPLES = (5, 10, 20)  # of a class, in streams of few
# title -> (method, settings)
FEW: dict[str, tuple[str, dict[str, Any]]] = {
    "class means": ("ncm", {}),
    "LDA": ("slda", {"ridge_relative": 1.0}),
    "SPARCL+ 2": ("sparcl-plus-2", {}),
    "SPARCL+": (PLUS, {}),
}
COMPOSITIONS = FEW | {
    "joint ridge": ("compose", RIDGE),
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


def composition(path: str) -> Iterator[Row]:
    """Yield a row for each setting and class order of a set: A_bar, A_last and forgetting in percent."""
    data = store.read(f"data/features/{path}/train.h5")
    groups, classes = photos(path, data.ids), len(data.class_names)
    for samples in (0, *SAMPLES):
        for title, (method, settings) in (FEW if samples else COMPOSITIONS).items():
            for order in ORDERS:
                splits = development(data.features, data.labels, order, groups, samples)
                sessions = stream.split_sessions(stream.class_order(order, classes), 10)
                record = experiment.run(*splits, sessions, method, settings)
                names = ("correct", "test_counts", "session_of_class")
                counts = [np.array(record[name]) for name in names]
                A_t = metrics.session_accuracy(*counts)
                yield {
                    "samples": samples or "all",
                    "composition": title,
                    "order": order,
                    "A_bar": f"{A_t.mean():.4f}",
                    "A_last": f"{A_t[-1]:.4f}",
                    "forgetting": f"{metrics.forgetting(*counts)[-1]:.4f}",
                }


# --- unequal ----------------------------------------------------------------------------------

HEADS: dict[str, tuple[str, dict[str, Any]]] = {
    "joint ridge": ("compose", RIDGE),
    "joint ridge, unit": ("compose", RIDGE | {"columns": "unit"}),
    "AIR's weights": ("compose", RIDGE | {"head": "balanced-ridge"}),
    "SPARCL+": (PLUS, {}),
    "SPARCL+, unit": (PLUS, {"columns": "unit"}),
    "no ridge": (PLUS, {"weight": 0}),
}
TAILS = {"equal": 1.0, "2 : 1": 2.0, "5 : 1": 5.0, "10 : 1": 10.0, "50 : 1": 50.0}
HALF = "half with 5"


def fewer(full: Split, kind: str, order: int) -> Split:
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


def unequal(path: str) -> Iterator[Row]:
    """Yield a row for each kind of counts, learner and draw of a set."""
    data = store.read(f"data/features/{path}/train.h5")
    groups = photos(path, data.ids)
    for kind in (*TAILS, HALF):
        for order in ORDERS:
            full, validation = development(data.features, data.labels, order, groups)
            train = fewer(full, kind, order)
            counts = np.unique(train.labels, return_counts=True)[1]
            for title, (method, settings) in HEADS.items():
                learner = build(method, **settings)
                learner.fit_session(train.features, train.labels)
                yield {
                    "counts": kind,
                    "learner": title,
                    "order": order,
                    "spread": f"{counts.std() / counts.mean():.4f}",
                    "accuracy": f"{accuracy(learner.predict, validation):.4f}",
                }


def accuracy(predict: Callable[[np.ndarray], np.ndarray], test: Split) -> float:
    """Return the share of test samples that are right, in percent."""
    return 100 * float(np.mean(predict(test.features) == test.labels))


# --- streams ----------------------------------------------------------------------------------

STREAMS = [{"unannotated": [0, 0.5, 1]}]
SETTINGS = {"unannotated": {"reserve": 0.4}}
LDA = {"head": "ridged-scatter", "ridge": 1.0}
PLUS_2 = {"transform": "rooted", "head": "ridge-discriminant", "ridge": 0.1, "relative": True}
BESIDE = {"transform": "rooted", "core": {"beside-scatter": {"tau": 0.5}}, "ridge": 0.1}
# title -> settings of `compose`
STRESSED: dict[str, dict[str, Any]] = {
    "ridge": {"ridge": 0.1},
    "ridge on a core, tau 0.5": {"core": {"spectral": {"tau": 0.5}}, "ridge": 0.1},
    "ridge on a core, tau 0.85": {"core": {"spectral": {"tau": 0.85}}, "ridge": 0.1},
    "ridge, old columns frozen": {"core": "frozen", "ridge": 0.1},
    "LDA": LDA,
    "LDA, old model": LDA | {"row_weights": "old-model"},
    "LDA, filter": LDA | {"row_weights": "filter"},
    "SPARCL+": PLUS_2,
    "SPARCL+, filter": PLUS_2 | {"row_weights": "filter"},
    "SPARCL beside LDA": BESIDE,
    "SPARCL beside LDA, filter": BESIDE | {"row_weights": "filter"},
}


def streams(path: str) -> Iterator[Row]:
    """Yield a row for each learner, class order and rate of a set: accuracies in percent, contaminated fractions."""
    data = store.read(f"data/features/{path}/train.h5")
    for order in ORDERS:
        parts = development(data.features, data.labels, order)
        train, validation = (Split(prepared(s.features, True), s.labels) for s in parts)
        classes = stream.class_order(order, len(data.class_names))
        sessions = stream.split_sessions(classes, 10)
        for title, hyper in STRESSED.items():
            made = stressed.run(
                train, validation, sessions, STREAMS, SETTINGS, order, "compose", dict(hyper)
            )
            counts = np.array(made["test_counts"])
            half = np.array(made["session_of_class"]) < 5
            for run in made["runs"]:
                correct = np.array(run["correct"])[-1]
                yield {
                    "learner": title,
                    "order": order,
                    "rate": f"{run['rates']['unannotated']:g}",
                    "A_last": f"{100 * correct.sum() / counts.sum():.4f}",
                    "A_old": f"{100 * correct[half].sum() / counts[half].sum():.4f}",
                    "contamination_filter": _mean(run["contamination_filter"]),
                    "contamination_sums": _mean(run["contamination_sums"]),
                }


def _mean(values: list[float | None]) -> str:
    found = [value for value in values[1:] if value is not None]
    return f"{np.mean(found):.4f}" if found else ""


# --- references -------------------------------------------------------------------------------

Scorer = Callable[[np.ndarray], np.ndarray]


def logistic(train: Split, strength: float) -> Scorer:
    """Fit multinomial logistic regression with inverse penalty ``strength`` on unit-norm rows (n, d)."""
    model = LogisticRegression(C=strength, max_iter=300, tol=1e-3)
    return model.fit(train.features, train.labels).predict


def kernel(train: Split, strength: float) -> Scorer:
    """Fit ridge on a Gaussian kernel; its width is the median distance of rows, ``strength`` the ridge."""
    rows = train.features[np.random.default_rng(0).permutation(len(train.labels))[:1000]]
    squared = 2 - 2 * rows @ rows.T
    gamma = 1 / (2 * np.median(squared[np.triu_indices(len(rows), 1)]))
    model = KernelRidge(alpha=strength, kernel="rbf", gamma=gamma)
    model.fit(train.features, np.eye(train.labels.max() + 1)[train.labels])
    return lambda X: model.predict(X).argmax(axis=1)


REFERENCES: dict[str, tuple[Callable[[Split, float], Scorer], tuple[float, ...]]] = {
    "logistic regression": (logistic, (3.0, 10.0, 30.0, 100.0, 300.0)),
    "kernel ridge": (kernel, (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)),
}


def references(path: str) -> Iterator[Row]:
    """Yield a row for each reference on a set: the strength chosen and the accuracy on its test set."""
    files = (store.read(f"data/features/{path}/{split}.h5") for split in ("train", "test"))
    train, test = (Split(unit(file.features), file.labels) for file in files)
    learned, held = development(train.features, train.labels, ORDERS[0])
    for title, (fit, strengths) in REFERENCES.items():
        found = {strength: accuracy(fit(learned, strength), held) for strength in strengths}
        chosen = max(found, key=found.__getitem__)
        yield {
            "reference": title,
            "strength": f"{chosen:g}",
            "on_an_edge": chosen in (strengths[0], strengths[-1]),
            "A_last": f"{accuracy(fit(train, chosen), test):.4f}",
        }


# --- command line -----------------------------------------------------------------------------

STUDIES: dict[str, tuple[Callable[[str], Iterator[Row]], Sequence[str]]] = {
    "composition": (composition, SIX),
    "unequal": (unequal, (f"cub-50/{CNN}", f"sketchy-125/{CNN}", f"cub-50/{VIT}")),
    "streams": (streams, SIX),
    "references": (references, FOUR),
}


def main(name: str, *paths: str) -> None:
    """Write the rows of a study on some sets, or on all of its own."""
    measured, sets = STUDIES[name]
    rows: list[Row] = []
    for path in paths or sets:
        named = dict(zip(("dataset", "backbone"), path.split("/"), strict=True))
        rows += [named | row for row in measured(path)]
        print(path, flush=True)
    pd.DataFrame(rows).to_csv(f"docs/search/{name}.csv", index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
