"""One method against others on the same orders and the same test samples."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.protocol import metrics
from sparcl.protocol.old_classes import unpacked

LEVEL = 0.95


def interval(differences: Sequence[float]) -> tuple[float, float, float]:
    """Return mean, low and high of a two-sided 95% t-interval; nan limits for one difference."""
    values = np.asarray(differences, dtype=float)
    mean, n = float(values.mean()), len(values)
    if n < 2:
        return mean, np.nan, np.nan
    half = float(values.std(ddof=1) * stdtrit(n - 1, 0.5 + LEVEL / 2) / np.sqrt(n))
    return mean, mean - half, mean + half


def bootstrap(
    of: NDArray[np.bool_], against: NDArray[np.bool_], draws: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the 95% percentile interval, in points, of the paired accuracy difference.

    Test samples are drawn with replacement, each with its answers of both methods in all orders.

    Parameters
    ----------
    of, against : (orders, n) whether a test sample is answered correctly
    """
    difference = of.mean(axis=0) - against.mean(axis=0)
    n = len(difference)
    means = [difference[rng.integers(0, n, n)].mean() for _ in range(draws)]
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(100 * low), float(100 * high)


def compare(
    records: Sequence[Mapping[str, Any]], of: str, against: Sequence[str], draws: int
) -> list[dict[str, Any]]:
    """Return a row a data set, opponent and measure: the mean difference ``of`` minus opponent.

    ``low`` and ``high`` are the t-interval over (order, seed) pairs; for A_last, ``sample_low`` and
    ``sample_high`` are those of the bootstrap over test samples.  Accuracies in percent.

    Raises
    ------
    InputError
        When a method lacks a pair that the other has.
    """
    table: dict[tuple, dict[tuple, Mapping[str, Any]]] = {}
    for record in records:
        place = record["suite"], record["dataset"], record["backbone"]
        pair = record["order"], record["seed"]
        table.setdefault((*place, record["method"]), {})[pair] = record
    rows = []
    for suite, dataset, backbone in sorted({key[:3] for key in table}):
        mine = table.get((suite, dataset, backbone, of), {})
        for other in against:
            theirs = table.get((suite, dataset, backbone, other), {})
            if not mine or set(mine) != set(theirs):
                raise InputError(
                    f"Suite {suite}, {dataset}: {of} and {other} were not run on the same orders "
                    f"({sorted(mine)} and {sorted(theirs)}); add both to the suite's methods."
                )
            both = [(mine[pair], theirs[pair]) for pair in sorted(mine)]
            keys = {"suite": suite, "dataset": dataset, "backbone": backbone}
            keys |= {"method": of, "against": other, "orders": len(both)}
            measured = [[_measures(record) for record in pair] for pair in both]
            for name in measured[0][0]:
                differences = [a[name] - b[name] for a, b in measured]
                row = dict(zip(("difference", "low", "high"), interval(differences), strict=True))
                if name == "A_last":
                    hits = [
                        np.stack([_hits(record) for record in side])
                        for side in zip(*both, strict=True)
                    ]
                    rng = generator("bootstrap", dataset, of, other)
                    row["sample_low"], row["sample_high"] = bootstrap(*hits, draws, rng)
                rows.append(keys | {"measure": name} | row)
    return rows


def _hits(record: Mapping[str, Any]) -> NDArray[np.bool_]:
    return unpacked(record["last_hits"], sum(record["test_counts"]))


def _measures(record: Mapping[str, Any]) -> dict[str, float]:
    counts = [np.array(record[key]) for key in ("correct", "test_counts", "session_of_class")]
    accuracy = metrics.session_accuracy(*counts)
    return {
        "A_bar": float(accuracy.mean()),
        "A_last": float(accuracy[-1]),
        "forgetting": float(metrics.forgetting(*counts)[-1]),
    }
