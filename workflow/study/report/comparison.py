"""One method against others on the same orders and the same test samples."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from sparcl.protocol import metrics
from study.report.paired import LEVEL, interval
from study.report.summary import answers, counts


def bootstrap(
    of: NDArray[np.bool_], against: NDArray[np.bool_], draws: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the 95% percentile interval of the paired accuracy difference (Efron, 1979).

    Test samples are drawn with replacement, each with the answers of both methods in all orders.

    Parameters
    ----------
    of, against : ndarray of bool, shape (orders, n)
        Whether each test sample is answered correctly.
    draws : int
        Number of resamples.
    rng : numpy.random.Generator

    Returns
    -------
    low, high : float
        In points.
    """
    difference = of.mean(axis=0) - against.mean(axis=0)
    n = len(difference)
    means = [difference[rng.integers(0, n, n)].mean() for _ in range(draws)]
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(100 * low), float(100 * high)


def compare(
    records: Sequence[Mapping[str, Any]], of: str, against: Sequence[str], draws: int
) -> list[dict[str, Any]]:
    """Return the mean paired differences of one method to others, with their intervals.

    Parameters
    ----------
    records : sequence of mapping
        Run records of both sides, on the same pairs of class order and seed.
    of, against : str, sequence of str
        The method, and its opponents.
    draws : int
        Number of bootstrap resamples.

    Returns
    -------
    list of dict
        A row per data set, opponent and measure. ``difference`` is ``of`` minus the opponent, in
        points; ``low`` and ``high`` are its t-interval over pairs; for A_last, ``sample_low`` and
        ``sample_high`` are the bootstrap interval over test samples.

    Raises
    ------
    InputError
        A method lacks a pair that the other has.
    """
    runs: dict[tuple[str, ...], dict[tuple[int, int], Mapping[str, Any]]] = {}
    for record in records:
        key = tuple(record[name] for name in ("suite", "dataset", "backbone", "method"))
        runs.setdefault(key, {})[record["order"], record["seed"]] = record
    rows = []
    for suite, dataset, backbone in sorted({key[:3] for key in runs}):
        mine = runs.get((suite, dataset, backbone, of), {})
        for other in against:
            theirs = runs.get((suite, dataset, backbone, other), {})
            if not mine or set(mine) != set(theirs):
                raise InputError(
                    f"Suite {suite}, {dataset}: {of} and {other} were not run on the same orders "
                    f"({sorted(mine)} and {sorted(theirs)}); add both to the suite's methods."
                )
            keys = {"suite": suite, "dataset": dataset, "backbone": backbone}
            keys |= {"method": of, "against": other}
            ours = [mine[pair] for pair in sorted(mine)]
            others = [theirs[pair] for pair in sorted(mine)]
            before, after = ([_measures(record) for record in side] for side in (others, ours))
            for name in after[0]:
                mean, low, high = interval(
                    [a[name] - b[name] for a, b in zip(after, before, strict=True)]
                )
                row: dict[str, Any] = {"difference": float(mean)}
                row |= {"low": float(low), "high": float(high)}
                if name == "A_last":
                    rng = generator("bootstrap", dataset, of, other)
                    limits = bootstrap(_hits(ours), _hits(others), draws, rng)
                    row |= dict(zip(("sample_low", "sample_high"), limits, strict=True))
                rows.append(keys | {"orders": len(ours), "measure": name} | row)
    return rows


def _hits(records: Sequence[Mapping[str, Any]]) -> NDArray[np.bool_]:
    """Return which test samples each run answers correctly after its last session."""
    return np.stack([answers(record)[-1] for record in records])


def _measures(record: Mapping[str, Any]) -> dict[str, float]:
    """Return a run's measures, in percent."""
    counted = counts(record)
    accuracy = metrics.session_accuracy(*counted)
    return {
        "A_bar": float(accuracy.mean()),
        "A_last": float(accuracy[-1]),
        "forgetting": float(metrics.forgetting(*counted)[-1]),
    }
