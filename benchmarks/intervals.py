"""How often the 95% interval of a paired difference holds the true one, and intervals that know one source alone.

    python benchmarks/intervals.py            # seconds; draws docs/intervals.png

Two methods answer the same test samples in five class orders.  A sample is answered where its score exceeds a threshold
of the method.  The score is the sum of normal effects of the sample, the sample for one method, the order, and of the
order with classes and with samples, so that the true difference is one of two normal probabilities.
"""

from pathlib import Path

import numpy as np
from scipy.special import ndtr, stdtrit

from sparcl.base.randomness import generator
from study.report.differences import LEVEL, Parts, interval

ORDERS, CLASSES, SAMPLES = 5, 25, 24
THRESHOLDS = (-0.8, -0.74)
# Standard deviations beside that of a sample, which is 1: of samples for one method, and of orders alone, with classes,
# and with samples.
CASES = {
    "orders add nothing": (0.5, 0.0, 0.0, 0.0),
    "answers change by order": (0.3, 0.0, 0.0, 0.5),
    "orders add a little": (0.3, 0.03, 0.1, 0.3),
    "orders add as much": (0.3, 0.08, 0.2, 0.3),
    "orders decide": (0.3, 0.3, 0.3, 0.3),
}


def drawn(case: str, repetitions: int) -> tuple[np.ndarray, float]:
    """Return answers (repetitions, 2, orders, classes, samples) of two methods, and the true difference in percent."""
    rng = generator("coverage", case)
    own, order, class_order, answer = CASES[case]
    shared = rng.standard_normal((repetitions, 1, 1, CLASSES, SAMPLES), dtype=np.float32)
    score = shared + 0.5 * (level := generator("classes").standard_normal((CLASSES, 1), np.float32))
    for scale, shape in (
        (own, (1, CLASSES, SAMPLES)),
        (order, (ORDERS, 1, 1)),
        (class_order, (ORDERS, CLASSES, 1)),
        (answer, (ORDERS, CLASSES, SAMPLES)),
    ):
        score = score + scale * rng.standard_normal((repetitions, 2, *shape), dtype=np.float32)
    thresholds = np.array(THRESHOLDS)
    spread = np.sqrt(1 + own**2 + order**2 + class_order**2 + answer**2)
    right = ndtr((0.5 * level - thresholds) / spread).mean(axis=0)
    hits = np.broadcast_to(
        score > thresholds.reshape(2, 1, 1, 1), (repetitions, 2, ORDERS, CLASSES, SAMPLES)
    )
    return hits, float(100 * (right[0] - right[1]))


def coverage(case: str, repetitions: int) -> dict[str, float]:
    """Return in percent how often each interval holds the true difference."""
    hits, true = drawn(case, repetitions)
    n = CLASSES * SAMPLES
    influence = 100 * hits.reshape(repetitions, 2, ORDERS, n) / n
    values = influence.sum(axis=-1)
    sizes = np.full(CLASSES, SAMPLES)
    found = [Parts.of(v, i, sizes, [(0, 1)]) for v, i in zip(values, influence, strict=True)]
    both = Parts(
        np.concatenate([part.theta for part in found]),
        np.concatenate([part.samples for part in found]),
        np.concatenate([part.interaction for part in found]),
        n - CLASSES,
    )
    theta, error = both.theta, np.abs(both.theta.mean(axis=1) - true)
    limits = interval(both)
    half = {
        "class orders and test samples": (limits["high"] - limits["low"]) / 2,
        "test samples alone": stdtrit(n - CLASSES, 0.5 + LEVEL / 2) * np.sqrt(both.samples),
        "class orders alone": stdtrit(ORDERS - 1, 0.5 + LEVEL / 2)
        * theta.std(axis=1, ddof=1)
        / np.sqrt(ORDERS),
    }
    return {name: float(100 * np.mean(error <= width)) for name, width in half.items()}


def main() -> None:
    """Draw the coverage of each interval, a group of three bars a case."""
    from matplotlib.figure import Figure

    found = {case: coverage(case, 4000) for case in CASES}
    colors = dict(zip(next(iter(found.values())), ("#0072B2", "#999999", "#D55E00"), strict=True))
    figure = Figure(figsize=(6.75, 2.4), layout="constrained")
    ax = figure.add_subplot()
    for i, of_case in enumerate(found.values()):
        for j, (name, percent) in enumerate(of_case.items()):
            ax.bar(
                i + 0.27 * (j - 1), percent, 0.25, color=colors[name], label=name if not i else None
            )
            ax.text(i + 0.27 * (j - 1), percent + 1, f"{percent:.0f}", ha="center", fontsize=7)
    ax.axhline(100 * LEVEL, color="black", lw=0.7, ls=":")
    ax.set(xticks=range(len(found)), xticklabels=[case.replace(" ", "\n", 2) for case in found])
    ax.set(ylim=(0, 112), yticks=[0, 50, 95], ylabel="holds the true\ndifference (%)")
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, fontsize=8, frameon=False)
    figure.savefig(
        Path(__file__).parents[1] / "docs" / "intervals.png", dpi=150, metadata={"Software": None}
    )


if __name__ == "__main__":
    main()
