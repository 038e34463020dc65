"""Methods compared over several data sets: corrected tests, wins and losses, and mean ranks."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr

from sparcl.base.errors import InputError
from study.report.differences import holm
from study.report.paired import FEWEST, LEVEL

PAIR = ["order", "seed"]


def paired_tests(
    runs: pd.DataFrame, of: str, measure: str, higher_is_better: bool = True
) -> pd.DataFrame:
    """Test one method against each other one on each data set.

    Parameters
    ----------
    runs : DataFrame
        One row per ``dataset``, ``method``, ``order`` and ``seed``, with the column ``measure``.
    of : str
        Id of the method.
    measure : str
        In any unit.
    higher_is_better : bool

    Returns
    -------
    DataFrame
        A row per ``against`` and ``dataset``: ``n`` pairs; ``gain``, by how much ``of`` is better
        in the mean; ``p`` of the two-sided paired t-test (1 if all differences are 0); ``p_holm``,
        adjusted over all rows; ``verdict``: win, loss, or tie if ``p_holm`` is at least 5%.

    Raises
    ------
    InputError
        A method lacks a pair of ``of`` or a value, or a data set has fewer than five pairs.
    """
    sign = 1.0 if higher_is_better else -1.0
    rows = []
    for dataset in runs["dataset"].unique():
        of_set = runs[runs["dataset"] == dataset]
        values = sign * of_set.pivot(index=PAIR, columns="method", values=measure)
        if of not in values or values.isna().any(axis=None):
            raise InputError(
                f"data set {dataset}: not every method has {measure} on the pairs of {of}; run the "
                "missing jobs, or compare methods of one suite"
            )
        if len(values) < FEWEST:
            raise InputError(
                f"data set {dataset} has {len(values)} pairs of order and seed: a test takes "
                f"{FEWEST} or more. Add pairs to the suite."
            )
        for against in values.columns.drop(of):
            differences = (values[of] - values[against]).to_numpy()
            rows.append({"against": against, "dataset": dataset} | _test(differences))
    tests = pd.DataFrame(rows).sort_values("against", kind="stable", ignore_index=True)
    tests["p_holm"] = holm(tests["p"])
    better = np.where(tests["gain"] > 0, "win", "loss")
    tests["verdict"] = np.where(tests["p_holm"] < 1 - LEVEL, better, "tie")
    return tests


def _test(differences: NDArray[np.float64]) -> dict[str, float]:
    """Return size, mean and p-value of one paired t-test."""
    n, mean, std = len(differences), differences.mean(), differences.std(ddof=1)
    if std == 0:
        p = 1.0 if mean == 0 else 0.0
    else:
        p = 2 * float(stdtr(n - 1, -abs(mean) * np.sqrt(n) / std))
    return {"n": n, "gain": float(mean), "p": p}


def wins(tests: pd.DataFrame) -> pd.DataFrame:
    """Return `paired_tests` counted per opponent: on how many data sets a win, a tie, a loss."""
    counts = pd.crosstab(tests["against"], tests["verdict"])
    return counts.reindex(columns=["win", "tie", "loss"], fill_value=0)


def mean_ranks(
    runs: pd.DataFrame, measure: str, higher_is_better: bool = True
) -> tuple[pd.Series, float]:
    r"""Return mean ranks over data sets and Nemenyi's critical difference (Demšar, 2006).

    On each data set methods are ranked by their mean over pairs, 1 the best, ties sharing the mean
    of their ranks. Two of k methods differ at the 5% level over N data sets if their mean ranks do
    by :math:`q_{0.05} \sqrt{k (k + 1) / (6 N)}`.

    Parameters
    ----------
    runs : DataFrame
        One row per ``dataset``, ``method``, ``order`` and ``seed``, with the column ``measure``.
    measure : str
    higher_is_better : bool

    Returns
    -------
    ranks : Series
        Method -> mean rank, the best first.
    difference : float
        The critical difference.

    Raises
    ------
    InputError
        A method lacks a data set or a value, or there are fewer than two methods.
    """
    from scipy.stats import studentized_range

    means = runs.pivot_table(index="dataset", columns="method", values=measure, dropna=False)
    if means.isna().any(axis=None) or runs[measure].isna().any() or means.shape[1] < 2:
        raise InputError(
            f"ranks take at least two methods, each with {measure} on every data set; compare "
            "methods of one suite"
        )
    sets, methods = means.shape
    ranks = means.rank(axis=1, ascending=not higher_is_better).mean().sort_values(kind="stable")
    q = studentized_range.ppf(LEVEL, methods, np.inf) / np.sqrt(2)
    return ranks, float(q * np.sqrt(methods * (methods + 1) / (6 * sets)))
