r"""Paired differences between methods, with one interval over class orders and test samples together.

A measure of a run is a mean over test samples, or close to one: on class order o its value is :math:`\theta_o`, and
:math:`\psi_{oi}` is the influence of test sample i on it, which sums to zero.  For the difference of two methods that
answered the same samples in the same orders, three sums estimate variances of its mean over O orders:

.. math:: A = \frac{s^2(\theta_o)}{O}, \qquad
    B = \sum_c \frac{n_c}{n_c - 1} \sum_{i \in c} (\bar\psi_i - \bar\psi_c)^2, \qquad
    E = \frac{1}{O (O - 1)} \sum_o \sum_c \frac{n_c}{n_c - 1} \sum_{i \in c} (e_{oi} - \bar e_{oc})^2,

with :math:`e_{oi} = \psi_{oi} - \bar\psi_i` and classes c of :math:`n_c` test samples.  A has what orders add, B
what samples within classes add, and both have the interaction E of orders with samples.  The variance of the mean is
A + B - E where A > E, and else B: the crossed analysis of variance.  It is what the two-level bootstrap estimates that
draws orders, and test samples within classes, with replacement (Efron, 1979; Owen, 2007), without the bootstrap's two
faults: the factor (O - 1)/O of few orders, and an interaction that counts three times.  Degrees of freedom are
Satterthwaite's (1946), so that the limits are those of Student's t-test over orders where orders decide.  That test
alone says nothing of the test samples, which all orders share (Dietterich, 1998).  With one order the interval is over
test samples alone.
``tests/report/test_differences.py`` measures the coverage.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from sparcl.base.errors import InputError
from sparcl.base.types import Ints

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
LEVEL = 1 - ALPHA
OF_ANSWERS = ("A_bar", "A_last", "forgetting")  # measures of a whole run that its answers give
# measures of a run whose sessions are blocks, and what of the record says which blocks they are means over
BLOCKS = {"A_auc": "points", "A_bar": "ends"}
ROUNDED = 2e-4  # points: a summary has four decimals
ALL = "all"  # stands for the data set where a difference is the mean over several
Floats = NDArray[np.float64]
Key = tuple[str, int | None]  # a measure, and after which session, None: the last


def accuracies(hits: NDArray[np.bool_], session: Ints) -> tuple[Floats, Floats]:
    """Return the accuracy (T,) over the samples seen after each session, and their influence on it (T, n)."""
    seen = session <= np.arange(len(hits))[:, None]
    sizes = seen.sum(axis=1)
    accuracy = 100 * (hits & seen).sum(axis=1) / sizes
    return accuracy, (100.0 * hits - accuracy[:, None]) * (seen / sizes[:, None])


def anytime(
    hits: NDArray[np.bool_], session: Ints, blocks: Mapping[str, Sequence[int]]
) -> dict[Key, tuple[float, Floats]]:
    """Return, as :func:`measures`, the measures of a run whose sessions are blocks; of `BLOCKS`, and ``A_last``."""
    accuracy, influence = accuracies(hits, session)
    over = {key: list(blocks[name]) for key, name in BLOCKS.items()} | {"A_last": [-1]}
    return {
        (key, None): (float(accuracy[at].mean()), influence[at].mean(axis=0))
        for key, at in over.items()
    }


def measures(
    hits: NDArray[np.bool_], session: Ints, steps: bool = False
) -> dict[Key, tuple[float, Floats]]:
    """Return each measure of a run with the influence of each test sample on it, in percent and points.

    Parameters
    ----------
    hits : ndarray of bool, shape (T, n)
        Which samples are answered correctly after each session (`study.report.summary.answers`).
    session : ndarray of int, shape (n,)
        The session, from 0, in which a sample's class arrives.
    steps : bool
        Also ``(A_t, t)`` and ``(forgetting, t)`` after each session t, from 1.

    Returns
    -------
    dict
        ``A_bar``, ``A_last``, ``forgetting`` (of more than one session) and, on streams, their mean ``A_both`` with the
        last accuracy on the classes of the first half of the sessions -> value and influence (n,).  An accuracy is the
        mean over some samples, so that the influence of one is its distance from that mean over their number.
        Forgetting takes the best accuracy of each session so far; the influence is that on the accuracy which was best
        (the first of equal ones), less that on the present one.
    """
    T, n = hits.shape
    member = session == np.arange(T)[:, None]
    accuracy, influence = accuracies(hits, session)
    found: dict[Key, tuple[float, Floats]] = {
        ("A_bar", None): (float(accuracy.mean()), influence.mean(axis=0)),
        ("A_last", None): (float(accuracy[-1]), influence[-1]),
    }
    of_session = (
        100.0 * (hits @ member.T.astype(float)) / member.sum(axis=1)
    )  # (T, T), as `metrics.by_session`
    weight = 1 / member.sum(axis=1)[session]

    def lost(t: int) -> tuple[float, Floats]:
        old = np.flatnonzero(session < t)
        best = np.argmax(of_session[: t + 1, :t], axis=0)
        fallen = of_session[best, np.arange(t)] - of_session[t, :t]
        changed = 100.0 * hits[best[session[old]], old] - 100.0 * hits[t, old]
        moved = np.zeros(n)
        moved[old] = (changed - fallen[session[old]]) * weight[old] / t
        return float(fallen.mean()), moved

    if T > 1:
        found["forgetting", None] = lost(T - 1)
        first = session < T // 2
        left = 100 * hits[-1, first].mean()
        early = np.where(first, 100.0 * hits[-1] - left, 0.0) / first.sum()
        found["A_both", None] = (accuracy[-1] + left) / 2, (influence[-1] + early) / 2
    for t in range(T) if steps else ():
        found["A_t", t + 1] = float(accuracy[t]), influence[t]
        if t:
            found["forgetting", t + 1] = lost(t)
    return found


def covariances(influence: Floats, starts: Ints) -> tuple[Floats, Floats]:
    """Return B and E of the module's text as covariances between M methods, each (M, M).

    Parameters
    ----------
    influence : ndarray, shape (M, O, n)
        Of test samples sorted by class.
    starts : ndarray of int, shape (c,)
        Position of the first sample of each class; a class of one sample adds nothing.
    """
    orders, n = influence.shape[1:]
    sizes = np.diff([*starts, n])
    means = np.add.reduceat(influence, starts, axis=-1) / sizes
    scale = np.sqrt(sizes / np.maximum(sizes - 1, 1))
    centred = (influence - np.repeat(means, sizes, axis=-1)) * np.repeat(scale, sizes)
    middle = centred.mean(axis=1)
    alone = (centred - middle[:, None]).reshape(len(influence), -1)
    return middle @ middle.T, alone @ alone.T / max(orders * (orders - 1), 1)


@dataclass(frozen=True)
class Parts:
    """The parts of the intervals of P differences.

    Attributes
    ----------
    theta : ndarray, shape (P, O)
        Differences on each class order.
    samples, interaction : ndarray, shape (P,)
        B and E of the module's text.
    free : int
        Degrees of freedom of B: test samples less classes.
    """

    theta: Floats
    samples: Floats
    interaction: Floats
    free: int

    @classmethod
    def of(
        cls, values: Floats, influence: Floats, sizes: Ints, pairs: Sequence[tuple[int, int]]
    ) -> Self:
        """Return the parts of differences between pairs of M methods, of values (M, O) and influences (M, O, n)."""
        first, second = np.array(pairs, dtype=int).reshape(-1, 2).T
        shared = covariances(influence, np.cumsum(sizes) - sizes)
        B, E = (
            (c[first, first] + c[second, second] - 2 * c[first, second]).clip(min=0) for c in shared
        )
        return cls(values[first] - values[second], B, E, int(sizes.sum()) - len(sizes))

    @classmethod
    def mean(cls, several: Sequence[Self]) -> Self:
        """Return the parts of means over data sets, whose test samples are independent; orders are paired by number."""
        count = len(several)
        return cls(
            np.mean([part.theta for part in several], axis=0),
            np.sum([part.samples for part in several], axis=0) / count**2,
            np.sum([part.interaction for part in several], axis=0) / count**2,
            sum(part.free for part in several),
        )


def interval(parts: Parts) -> dict[str, Floats]:
    """Return mean differences (P,) with their 95% limits, degrees of freedom and two-sided p-values."""
    mean, orders = parts.theta.mean(axis=1), parts.theta.shape[1]
    A = parts.theta.var(axis=1, ddof=1) / orders if orders > 1 else np.zeros(len(mean))
    decide = parts.interaction < A
    variance = np.where(decide, A + parts.samples - parts.interaction, parts.samples)
    squares = A**2 / max(orders - 1, 1) + parts.samples**2 / parts.free
    dof = np.full(len(mean), float(parts.free))
    np.divide(variance**2, squares, out=dof, where=decide)
    error = np.sqrt(variance)
    half = stdtrit(dof, 0.5 + LEVEL / 2) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(mean == 0, 1.0, 2 * stdtr(dof, -np.abs(mean) / error))
    return {"difference": mean, "low": mean - half, "high": mean + half, "dof": dof, "p": p}


def holm(p: ArrayLike) -> Floats:
    r"""Return p-values adjusted for multiple tests by Holm's step-down procedure (1979).

    With :math:`p_{(1)} \le \dots \le p_{(m)}` the adjusted value of the j-th smallest is
    :math:`\min(1, \max_{i \le j} (m - i + 1) p_{(i)})`.

    Parameters
    ----------
    p : array_like, shape (m,)

    Returns
    -------
    ndarray, shape (m,)
        In the order of ``p``; reject where a value is below the level of the family.
    """
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    factors = np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return adjusted


@dataclass(frozen=True)
class Difference:
    """A mean difference with its 95% limits and its p-value, corrected by Holm."""

    difference: float
    low: float
    high: float
    class_low: float
    class_high: float
    dof: float
    p_holm: float

    @property
    def verdict(self) -> str:
        """Whether it is ``above`` or ``below`` zero, or a ``tie``: not told apart from it at the 5% level."""
        if self.p_holm >= ALPHA:
            return "tie"
        return "above" if self.difference > 0 else "below"

    def p(self, value: float) -> float:
        """Return the two-sided p-value, not corrected, of the difference being ``value``."""
        error = (self.high - self.low) / 2 / stdtrit(self.dof, 0.5 + LEVEL / 2)
        distance = abs(self.difference - value)
        return float(2 * stdtr(self.dof, -distance / error)) if error > 0 else float(distance == 0)


class Differences:
    """The differences between all pairs of methods of a suite, as `study.report.comparison.compare` writes them.

    Parameters
    ----------
    frame : DataFrame
        Read from a ``differences.csv``.
    backbone : str, optional
        Which of several.
    """

    def __init__(self, frame: "pd.DataFrame", backbone: str | None = None) -> None:
        if backbone is not None:
            frame = frame[frame["backbone"] == backbone]
        where = [key for key in ("session", "stress", "rate") if key in frame]
        numbers = list(Difference.__annotations__)
        keys = frame[["dataset", "measure", "method", "against", *where]].astype(object)
        rows = zip(*(keys[key].where(keys[key].notna(), None) for key in keys), strict=True)
        values = frame[numbers].to_numpy(dtype=float).tolist()
        self._found = dict(zip(rows, (Difference(*row) for row in values), strict=True))
        self._where = where

    def between(
        self, method: str, against: str, dataset: str, measure: str, **at: Any
    ) -> Difference:
        """Return ``method`` less ``against`` on a data set, or on ``all``, perhaps ``at`` a session, stress or rate.

        Raises
        ------
        InputError
            The suite did not run both, or a measure has no answers to count.
        """
        first, second = sorted((method, against))
        key = (dataset, measure, first, second, *(at.get(name) for name in self._where))
        if (found := self._found.get(key)) is None:
            raise InputError(
                f"no difference in {measure} between {first} and {second} on {dataset}"
                f"{''.join(f', {name} {value}' for name, value in at.items())}: differences.csv has pairs of methods "
                "of one suite. Run both in it, or make the summary again"
            )
        if method == first:
            return found
        return replace(
            found,
            difference=-found.difference,
            low=-found.high,
            high=-found.low,
            class_low=-found.class_high,
            class_high=-found.class_low,
        )


def _number(cell: object) -> float:
    """Return a cell as a number, nan where it is none; pandas.to_numeric fails on hundreds of digits."""
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return np.nan


def against_best(
    values: "pd.DataFrame", higher_is_better: bool, between: Callable[[str, str], Difference] | None
) -> "pd.DataFrame":
    """Compare every method with the one that has the best mean.

    Parameters
    ----------
    values : DataFrame, shape (n repetitions, m methods)
        The same repetitions for every method.
    higher_is_better : bool
    between : callable, optional
        The `Difference` of two methods in these values; without it none is told apart.

    Returns
    -------
    DataFrame
        A row per method: ``n``; ``mean`` and ``std`` (n - 1 in the denominator, nan for n = 1);
        ``gap``, ``gap_low`` and ``gap_high``, by how much the method is worse than the best one
        with the limits of this difference; ``best``, whether its mean is the best one; and
        ``tied``, whether another method is not told apart from it.

    Raises
    ------
    InputError
        A value is missing, infinite or not a number, or a difference is not that of these values.
    """
    import pandas as pd

    values = values.map(_number)
    finite = np.isfinite(values.to_numpy(dtype=float)).all(axis=0)
    if not finite.all():
        raise InputError(
            f"no finite value in some repetition of {', '.join(map(str, values.columns[~finite]))}; "
            "a table has no empty cells. Run these methods again, or take them out of the suite."
        )
    sign = 1.0 if higher_is_better else -1.0
    means = values.mean()
    best = str((sign * means).idxmax())
    gaps = sign * (means[best] - means)
    table = pd.DataFrame({"n": len(values), "mean": means, "std": values.agg(pd.Series.std)})
    table = table.assign(gap=gaps, gap_low=np.nan, gap_high=np.nan, best=gaps == 0, tied=False)
    if between is None:
        return table
    for method, gap in gaps.drop(best).items():
        found = between(best, str(method))
        if abs(sign * found.difference - gap) > ROUNDED:
            raise InputError(
                f"{method} is {gap:.4f} behind {best}, and differences.csv says {sign * found.difference:.4f}: "
                "it is of other runs. Make the summary again (snakemake summary)."
            )
        limits = sorted((sign * found.low, sign * found.high))
        table.loc[method, ["gap_low", "gap_high"]] = limits
        table.loc[method, "tied"] = gap != 0 and found.verdict == "tie"
    return table
