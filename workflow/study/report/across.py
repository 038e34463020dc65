"""Methods compared over several data sets: mean ranks."""

import numpy as np
import pandas as pd

from sparcl.base.errors import InputError
from study.report.differences import LEVEL


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
