"""The best heads found that keep all samples: what the closed forms could reach on the same features, no upper bound.

    python benchmarks/references.py        # ten minutes on one core; writes docs/search/references.csv

Logistic regression and kernel ridge (scikit-learn) on all training samples of all classes at once, so neither
sessions nor class orders play a part.  Their strength is chosen on a quarter of each class's training samples,
as in ``composition.py``; then each is fitted on all of them and scored once on the test set.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from composition import development, record
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression

from sparcl.base.rows import unit
from sparcl.features import store
from study.loop.experiment import Split

SETS = ("cifar-100-150", "cub-50", "grocery-81", "sketchy-125")
ORDER = 2001  # of the split into fitted and scored samples
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


def accuracy(score: Scorer, test: Split) -> float:
    """Return the share of test samples that are right, in percent."""
    return 100 * float(np.mean(score(test.features) == test.labels))


def measured(name: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each reference on a bundled set: the strength chosen and the accuracy on its test set."""
    folder = f"data/features/{name}/efficientnet-lite0"
    train, test = (
        Split(unit(data.features.astype(np.float64)), data.labels)
        for data in (store.read(f"{folder}/{split}.h5") for split in ("train", "test"))
    )
    stream, held = development(train.features, train.labels, ORDER)
    for title, (fit, strengths) in REFERENCES.items():
        found = {strength: accuracy(fit(stream, strength), held) for strength in strengths}
        chosen = max(found, key=found.__getitem__)
        edge = chosen in (strengths[0], strengths[-1])
        yield {
            "dataset": name,
            "backbone": "efficientnet-lite0",
            "reference": title,
            "strength": f"{chosen:g}",
            "on_an_edge": edge,
            "A_last": f"{accuracy(fit(train, chosen), test):.4f}",
        }


if __name__ == "__main__":
    record(measured, SETS, "docs/search/references.csv")
