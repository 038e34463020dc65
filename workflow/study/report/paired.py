"""Paired differences between methods that were run on the same class orders and seeds."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from sparcl.base.errors import InputError

LEVEL = 0.95
FEWEST = 5  # repetitions below which no test is made: with fewer, a t-test has hardly any power


def interval(differences: ArrayLike) -> tuple[NDArray, NDArray, NDArray]:
    r"""Return the mean of paired differences and the limits of its two-sided 95% t-interval.

    The limits are :math:`\bar d \pm t_{n-1} s_d / \sqrt n` (Student, 1908) with n - 1 in the
    denominator of :math:`s_d^2`; they are nan for a single difference.

    Parameters
    ----------
    differences : array_like, shape (n,) or (n, m)
        One row per repetition; columns are treated separately.

    Returns
    -------
    mean, low, high : ndarray, shape () or (m,)
    """
    values = np.asarray(differences, dtype=float)
    mean, n = values.mean(axis=0), len(values)
    if n < 2:
        return mean, mean * np.nan, mean * np.nan
    half = values.std(axis=0, ddof=1) * stdtrit(n - 1, 0.5 + LEVEL / 2) / np.sqrt(n)
    return mean, mean - half, mean + half


def against_best(values: pd.DataFrame, higher_is_better: bool) -> pd.DataFrame:
    """Compare every method with the one that has the best mean.

    Parameters
    ----------
    values : DataFrame, shape (n repetitions, m methods)
        The same repetitions for every method.
    higher_is_better : bool

    Returns
    -------
    DataFrame
        A row per method: ``n``; ``mean`` and ``std`` (n - 1 in the denominator, nan for n = 1);
        ``gap``, ``gap_low`` and ``gap_high``, by how much the method is worse than the best one
        with the `interval` of this difference; ``best``, whether its mean is the best one; and
        ``tied``, whether the paired t-test at the 5% level does not tell another method from the
        best one, which with fewer than five repetitions is never said.

    Raises
    ------
    InputError
        A value is missing, infinite or not a number.
    """
    values = values.apply(pd.to_numeric, errors="coerce")
    finite = np.isfinite(values.to_numpy(dtype=float)).all(axis=0)
    if not finite.all():
        raise InputError(
            f"no finite value in some repetition of {', '.join(map(str, values.columns[~finite]))}; "
            "a table has no empty cells. Run these methods again, or take them out of the suite."
        )
    losses = -values if higher_is_better else values
    worse = losses.sub(losses[losses.mean().idxmin()], axis=0)
    gap, low, high = interval(worse)
    return pd.DataFrame(
        {
            "n": len(values),
            "mean": values.mean(),
            "std": values.std(),
            "gap": gap,
            "gap_low": low,
            "gap_high": high,
            "best": gap == 0,
            "tied": (gap != 0) & (low <= 0) & (len(values) >= FEWEST),
        },
        index=values.columns,
    )
