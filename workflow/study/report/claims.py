"""The claims ledger: statements of the paper, measured on the summaries, judged by a predicate.

The value of a claim is one number per data set and class order: the weighted sum of its ``terms``,
or the ratio of two. A term reads a column of one summary for one method (or the best of several)
and reduces the rows of a run (sessions, arrivals, modes) to one number. A claim holds if its
predicate is true of the mean over orders on every data set. A difference between methods of one
suite in a measure of answers must be told apart from its threshold too. A claim about a method or
data set that this repository does not have is not measurable here. docs/claims.md explains the file.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, product, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from sparcl.base.errors import ConfigError, InputError
from study.report.differences import ALPHA, OF_ANSWERS, Differences, holm

if TYPE_CHECKING:
    import pandas as pd

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
WORST_FIRST = (FAILS, UNDECIDED, HOLDS)
UNMEASURABLE = "not measurable here"
ALL = "all"  # stands for the data set where a value joins several

TERM = {"suite", "frame", "method", "methods", "across", "column", "times", "minus", "with"}
TERM |= {"where", "reduce", "weight", "dataset"}
BY_METHOD = {"method", "methods", "across", "weight"}  # the other keys of a difference of methods
CLAIM = {"id", "topic", "place", "says", "measured", "terms", "judge", "ratio"}


def _rise(values: np.ndarray, other: np.ndarray) -> float:
    return values[-1] - values[0]


def _correlation(values: np.ndarray, other: np.ndarray) -> float:
    if len(values) < 3 or np.ptp(values) == 0 or np.ptp(other) == 0:
        return np.nan
    return np.corrcoef(values, other)[0, 1]


def _rank_correlation(values: np.ndarray, other: np.ndarray) -> float:
    from scipy.stats import rankdata

    return _correlation(rankdata(values), rankdata(other))


REDUCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "mean": lambda values, other: values.mean(),
    "sum": lambda values, other: values.sum(),
    "max": lambda values, other: values.max(),
    "min": lambda values, other: values.min(),
    "first": lambda values, other: values[0],
    "last": lambda values, other: values[-1],
    "rise": _rise,
    "correlation": _correlation,
    "rank_correlation": _rank_correlation,
}
PREDICATES: dict[str, Callable[[float, Any], bool]] = {
    "above": operator.gt,
    "below": operator.lt,
    "between": lambda value, limits: limits[0] <= value <= limits[1],
}


@dataclass(frozen=True)
class Measured:
    """A claim's value on one data set: mean and standard deviation over n class orders.

    ``satisfied``: whether the mean is allowed; ``told``: whether it is told apart from the threshold, which only a
    difference with the limits ``low`` and ``high`` may not be.
    """

    dataset: str
    mean: float
    std: float
    n: int
    satisfied: bool
    told: bool = True
    low: float = np.nan
    high: float = np.nan

    @property
    def verdict(self) -> str:
        """The verdict of a claim about this value alone."""
        return UNDECIDED if not self.told else HOLDS if self.satisfied else FAILS


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict, the values behind it, or the reason why there are none."""

    claim: Mapping[str, Any]
    verdict: str
    values: list[Measured] = field(default_factory=list)
    reason: str = ""


def sources(ledger: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the (suite, frame) pairs that a ledger reads, sorted."""
    pairs = {(term["suite"], term["frame"]) for claim in ledger for term in claim["terms"]}
    compared = {(claim["terms"][0]["suite"], "differences") for claim in ledger if opponents(claim)}
    return sorted(pairs | compared)


def opponents(claim: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs of methods whose differences a claim is about, each of which its predicate must allow.

    None where it is no difference of two methods of one suite in a measure of answers, or of several methods not the
    least favourable one.
    """
    if len(claim["terms"]) != 2 or claim.get("ratio"):
        return []
    first, second = claim["terms"]
    shared = {key for key in ("suite", "frame", "column") if first[key] == second[key]}
    if len(shared) < 3 or (first.keys() | second.keys()) - shared - BY_METHOD:
        return []
    if first["frame"] != "runs" or first["column"] not in OF_ANSWERS or "weight" in first:
        return []
    worst = {"above": ("min", "max"), "below": ("max", "min")}.get(claim["judge"]["is"], ())
    across = [term.get("across") for term in (first, second)]
    if second.get("weight") != -1 or any(a and a != w for a, w in zip_longest(across, worst)):
        return []
    return [pair for pair in product(methods_of(first), methods_of(second)) if pair[0] != pair[1]]


def judge(
    ledger: Sequence[Mapping[str, Any]],
    frames: Mapping[tuple[str, str], "pd.DataFrame"],
    known: Mapping[str, Sequence[str]],
) -> list[Judged]:
    """Return a verdict for each claim of the ledger.

    Parameters
    ----------
    ledger : sequence of mapping
        Claims as docs/claims.md describes them.
    frames : mapping
        (suite, frame) -> summary.
    known : mapping
        The ids under ``methods`` and ``datasets`` that can be measured here.

    Raises
    ------
    ConfigError
        The ledger is malformed: an unknown key, reduction or predicate, or an id used twice.
    InputError
        A summary lacks a column or row that a claim reads.
    """
    check(ledger)
    return [_judged(claim, frames, known) for claim in ledger]


def check(ledger: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a malformed ledger.

    Raises
    ------
    ConfigError
        The message names the claim and the key.
    """
    for name, fault in _faults(ledger):
        raise ConfigError(f"docs/claims.yaml, claim {name}: {fault}.")


def _faults(ledger: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the id of a claim and what is wrong with it."""
    ids = [claim.get("id") for claim in ledger]
    topics = [topic for topic, _ in groupby(claim.get("topic") for claim in ledger)]
    for claim in ledger:
        name, terms = str(claim.get("id")), claim.get("terms", [])
        needed = [(claim, CLAIM, CLAIM - {"ratio"})]
        needed += [(term, TERM, {"suite", "frame", "column"}) for term in terms]
        for block, allowed, required in needed:
            if unknown := sorted(set(block) - allowed):
                known = ", ".join(sorted(allowed))
                yield name, f"no key {', '.join(unknown)} is known; there are {known}"
            if missing := sorted(required - set(block)):
                yield name, f"{', '.join(missing)} is missing"
        if ids.count(name) > 1:
            yield name, "two claims have this id"
        if topics.count(claim["topic"]) > 1:
            yield name, f"claims of the topic '{claim['topic']}' do not stand together; move them"
        judge = claim["judge"]
        if judge.get("is") not in PREDICATES or "than" not in judge:
            known = ", ".join(PREDICATES)
            yield name, f"judge is {{is: one of {known}, than: threshold}}, got {judge}"
        if claim.get("ratio") and len(terms) != 2:
            yield name, "a ratio has two terms"
        for term in terms:
            if term.get("reduce", "mean") not in REDUCTIONS:
                yield name, f"reduce = {term['reduce']}; there are {', '.join(REDUCTIONS)}"
            if ("methods" in term) != (term.get("across") in ("max", "min")):
                yield name, "`methods` goes with `across: max` or `min`"


def _judged(
    claim: Mapping[str, Any],
    frames: Mapping[tuple[str, str], "pd.DataFrame"],
    known: Mapping[str, Sequence[str]],
) -> Judged:
    if absent := _absent(claim, known):
        return Judged(claim, UNMEASURABLE, reason=f"{absent} is not in this repository")
    parts = _joined([_values(claim["id"], term, frames) for term in claim["terms"]])
    if parts.empty:
        raise InputError(
            f"claim {claim['id']}: its terms have no data set and class order in common; give the "
            "suites it names the same pairs, or drop the claim."
        )
    if claim.get("ratio"):
        values = parts[0] / parts[1].replace(0, np.nan)
    else:
        values = sum(term.get("weight", 1) * parts[i] for i, term in enumerate(claim["terms"]))
    measured = []
    for dataset, rows in values.groupby(level=0):
        of_set = rows.to_numpy()
        mean = float(of_set.mean())
        std = float(of_set.std(ddof=1)) if len(of_set) > 1 else np.nan
        measured.append(Measured(str(dataset), mean, std, len(of_set), _allowed(claim, mean)))
    if pairs := opponents(claim):
        measured = _told(claim, pairs, frames, measured)
    return Judged(claim, min((m.verdict for m in measured), key=WORST_FIRST.index), measured)


def _allowed(claim: Mapping[str, Any], value: float) -> bool:
    """Return whether a predicate is true of a value; of nan none is: an undefined value supports nothing."""
    return bool(PREDICATES[claim["judge"]["is"]](value, claim["judge"]["than"]))


def _told(
    claim: Mapping[str, Any],
    pairs: Sequence[tuple[str, str]],
    frames: Mapping[tuple[str, str], "pd.DataFrame"],
    measured: Sequence[Measured],
) -> list[Measured]:
    """Return values with their intervals, of several pairs of methods those of the least favourable one.

    P-values are corrected by Holm over the data sets and pairs; of a threshold of 0, as in every table of the suite.
    """
    term, rule = claim["terms"][0], claim["judge"]
    if (source := (term["suite"], "differences")) not in frames:
        raise InputError(
            f"claim {claim['id']} reads differences of suite {source[0]}, which was not given: run that suite."
        )
    differences = Differences(frames[source])
    thresholds = rule["than"] if isinstance(rule["than"], list) else [rule["than"]]
    cells = [
        (value, differences.between(*pair, value.dataset, term["column"]))
        for value in measured
        for pair in pairs
    ]
    corrected = holm([max(it.p(limit) for limit in thresholds) for _, it in cells])
    if thresholds == [0]:
        corrected = np.array([it.p_holm for _, it in cells])
    sign = -1 if rule["is"] == "below" else 1
    found: dict[str, Measured] = {}
    for (value, it), p in zip(cells, corrected, strict=True):
        one = replace(value, mean=it.difference, low=it.low, high=it.high)
        one = replace(one, satisfied=_allowed(claim, one.mean), told=bool(p < ALPHA))
        found[one.dataset] = min(
            (one, found.get(one.dataset, one)),
            key=lambda it: (WORST_FIRST.index(it.verdict), sign * it.mean),
        )
    return list(found.values())


def _absent(claim: Mapping[str, Any], known: Mapping[str, Sequence[str]]) -> str:
    """Return the first method or data set that a claim needs and the settings do not have."""
    for term in claim["terms"]:
        if term["suite"] == "timings":  # has variants of its own
            continue
        for name in methods_of(term):
            if name not in known["methods"]:
                return f"method {name}"
        if "dataset" in term and term["dataset"] not in known["datasets"]:
            return f"data set {term['dataset']}"
    return ""


def methods_of(term: Mapping[str, Any]) -> list[str]:
    """Return the methods that a term names: several, one or none."""
    return list(term.get("methods", [term["method"]] if "method" in term else []))


def _values(
    name: str, term: Mapping[str, Any], frames: Mapping[tuple[str, str], "pd.DataFrame"]
) -> "pd.Series":
    """Return a term's number for each data set and class order; none where nothing is measured."""
    source = term["suite"], term["frame"]
    if source not in frames:
        raise InputError(
            f"claim {name} reads {source[1]} of suite {source[0]}, which was not given: run that "
            "suite, or correct the claim."
        )
    frame = frames[source]
    columns = [term["column"], *(term[key] for key in ("times", "minus", "with") if key in term)]
    if unknown := [c for c in [*columns, *term.get("where", {})] if c not in frame.columns]:
        raise InputError(
            f"claim {name}: {source[1]}.csv of suite {source[0]} has no column {', '.join(unknown)}"
            f"; it has {', '.join(frame.columns)}."
        )
    if "dataset" in term:
        frame = frame[frame["dataset"] == term["dataset"]].assign(dataset=ALL)
    for column, (low, high) in term.get("where", {}).items():
        frame = frame[frame[column].between(low, high)]
    values = frame[term["column"]].astype(float)
    values = values * frame[term["times"]] if "times" in term else values
    values = values - frame[term["minus"]] if "minus" in term else values
    other = frame[term.get("with", term["column"])].astype(float)
    frame = frame.assign(value=values, other=other)
    reduce = REDUCTIONS[term.get("reduce", "mean")]
    found = []
    for method in methods_of(term) or [""]:
        rows = frame[frame["method"] == method] if method else frame
        if rows.empty:
            raise InputError(
                f"claim {name}: {source[1]}.csv of suite {source[0]} has no row of {method}"
                + (f" on {term['dataset']}" if "dataset" in term else "")
                + "; run it in that suite, or correct the claim."
            )
        rows = rows[np.isfinite(rows["value"]) & np.isfinite(rows["other"])]
        runs = rows.groupby(["dataset", "order"])[["value", "other"]]
        found.append(runs.apply(lambda run: reduce(*run.to_numpy().T)))
    across = "max" if term.get("across") == "max" else "min"
    return _joined(found).agg(across, axis=1, skipna=False)


def _joined(parts: Sequence["pd.Series"]) -> "pd.DataFrame":
    """Return numbers side by side, of the data sets and class orders that all have."""
    import pandas as pd

    return pd.concat(parts, axis=1, join="inner", keys=range(len(parts))).sort_index()
