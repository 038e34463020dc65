"""Records in, the differences between all pairs of methods out."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparcl.base.errors import InputError
from sparcl.base.files import read_json
from sparcl.base.types import Ints
from study.report.differences import (
    ALL,
    OF_ANSWERS,
    Floats,
    Key,
    Parts,
    anytime,
    holm,
    interval,
    measures,
)
from study.report.stressed import named
from study.report.summary import answers, frame, opened

if TYPE_CHECKING:
    import pandas as pd

PLACE = ["suite", "dataset", "backbone", "method", "against", "measure"]
NUMBERS = ["orders", "difference", "low", "high", "class_low", "class_high", "dof", "p", "p_holm"]
FAMILY = ["suite", "backbone", "measure", "session", "stress", "rate"]
DIGITS = 3  # of degrees of freedom and p-values

SHARED = ("class orders", "test samples")

Pairs = tuple[tuple[str, str], ...]  # of methods
Pair = tuple[int, int]  # class order and seed
Rates = tuple[tuple[str, Any], ...]  # stress and rate of a stream that goes wrong


@dataclass(frozen=True)
class Run:
    """A run's measures, ``found[key] = value, influence (n,)``, of test samples sorted by class, ``sizes`` (c,)."""

    method: str
    pair: Pair
    hashes: tuple[str, str]  # of what is `SHARED`; the manifest of the test samples in its place
    sizes: Ints
    found: dict[Key, tuple[float, Floats]]


def compare(
    records: Iterable[str | Path], manifests: Iterable[str | Path] = (), steps: bool = False
) -> "pd.DataFrame":
    """Return the difference of each pair of methods on each stream, and its mean over the data sets.

    Parameters
    ----------
    records : iterable of path
        Run records of one suite.
    manifests : iterable of path
        Of its test features: all arrays of a file are of the same samples in the same order.
    steps : bool
        Also accuracy and forgetting after each session.

    Returns
    -------
    DataFrame
        ``difference`` is ``method`` less ``against``, the former first in the alphabet, with its 95% limits, degrees of
        freedom and p-value; ``class_low`` and ``class_high`` are the limits where classes are drawn with all their test
        samples.  ``p_holm`` is corrected over a method's differences from all others on all data sets, for each measure
        by itself, and is the larger of the two methods' values.  Means over several data sets have the data set
        ``all``, and are corrected among themselves.

    Raises
    ------
    InputError
        Two methods were not run on the same class orders and test samples, or a file is damaged.
    """
    samples = {
        array["sha256"]: str(path)
        for path in manifests
        for array in read_json(path)["arrays"].values()
    }
    places: dict[tuple[str, ...], list[str | Path]] = {}
    for path in records:  # .../<suite>/<dataset>/<backbone>/<method>/<order>-<seed>.json
        places.setdefault(Path(path).parts[-5:-2], []).append(path)
    rows: list[dict[str, Any]] = []
    pooled: dict[tuple[Any, ...], list[list[Parts]]] = {}
    for (suite, dataset, backbone), paths in sorted(places.items()):
        streams: dict[Rates, list[Run]] = {}
        for path in paths:
            with opened(path) as record:
                for rates, run in _runs(record, samples, steps):
                    streams.setdefault(rates, []).append(run)
        for rates, runs in streams.items():
            pairs, found = _parts(f"suite {suite}, {dataset}", runs)
            for key, parts in found.items():
                rows += _rows((suite, dataset, backbone), rates, key, pairs, parts)
                pooled.setdefault((suite, backbone, rates, key, pairs), []).append(parts)
    for (suite, backbone, rates, key, pairs), several in pooled.items():
        if len(several) > 1:
            parts = [Parts.mean(drawn) for drawn in zip(*several, strict=True)]
            rows += _rows((suite, ALL, backbone), rates, key, pairs, parts)
    more = ["stress", "rate"] if any("stress" in row for row in rows) else ["session"]
    table = frame(rows, [*PLACE, *more, *NUMBERS])
    table["p_holm"] = _corrected(table)
    for column in ("dof", "p", "p_holm"):
        table[column] = [float(f"{value:.{DIGITS}g}") for value in table[column]]
    return table


def _corrected(table: "pd.DataFrame") -> "pd.Series":
    """Return p-values corrected by Holm over all differences of a method, the larger of a pair's two."""
    import pandas as pd

    sides = pd.concat([table.assign(side=table[key]) for key in ("method", "against")])
    family = [sides["side"], sides["dataset"] == ALL, *(sides[k] for k in FAMILY if k in sides)]
    corrected = sides["p"].astype(float).groupby(family, dropna=False).transform(holm)
    return corrected.groupby(level=0).max()


def _runs(
    record: dict[str, Any], samples: Mapping[str, str], steps: bool
) -> Iterator[tuple[Rates, Run]]:
    """Yield the run of a record, or those of a record of streams that go wrong with their rates."""
    told = record["method"], (record["order"], record["seed"])
    test = record.get("test_ids_sha256", record["test_sha256"])
    hashes = record["order_sha256"], samples.get(test, test)
    for stream in record.get("runs", [record]):
        run = record | stream
        by_class = np.argsort(run["classes"])
        sizes = np.array(run["test_counts"])[by_class]
        session = np.repeat(np.array(run["session_of_class"])[by_class], sizes)
        if "points" in run:
            found = anytime(answers(run), session, run)
            kept = {key for key, _ in found}
        else:
            found = measures(answers(run), session, steps)
            kept = {"A_both"} if "rates" in run else {*OF_ANSWERS, "A_t"}
        rates = tuple(named(run["rates"]).items()) if "rates" in run else ()
        yield rates, Run(*told, hashes, sizes, {k: v for k, v in found.items() if k[0] in kept})


def _parts(where: str, runs: list[Run]) -> tuple[Pairs, dict[Key, list[Parts]]]:
    """Return the pairs of methods on one stream, and by measure the parts for samples drawn and for classes drawn."""
    shared = {run.pair: run for run in runs}
    by_method: dict[str, dict[Pair, Run]] = {}
    for run in runs:
        other = shared[run.pair]
        for what, mine, its in zip(SHARED, run.hashes, other.hashes, strict=True):
            if mine != its:
                raise InputError(
                    f"{where}, {run.pair[0]}-{run.pair[1]}: {run.method} and {other.method} were run on "
                    f"different {what} ({mine}, {its}), so that their answers make no pairs. "
                    "Usual cause: features or orders changed between the two. Delete both records and run again."
                )
        by_method.setdefault(run.method, {})[run.pair] = run
    for method, of in by_method.items():
        if lacking := sorted(shared.keys() - of.keys()):
            order, seed = lacking[0]
            raise InputError(
                f"{where}: {method} lacks order {order}, seed {seed}, which {shared[order, seed].method} has. Run the "
                "missing job, or take the method out of the suite."
            )
    methods, orders, sizes = sorted(by_method), sorted(shared), runs[0].sizes
    places = list(combinations(range(len(methods)), 2))
    found = {}
    for key in runs[0].found if places else ():
        cells = [[by_method[method][pair].found[key] for pair in orders] for method in methods]
        values = np.array([[value for value, _ in row] for row in cells])
        influence = np.array([[moved for _, moved in row] for row in cells])
        of_classes = np.add.reduceat(influence, np.cumsum(sizes) - sizes, axis=-1)
        drawn = ((influence, sizes), (of_classes, np.array([len(sizes)])))
        found[key] = [Parts.of(values, moved, groups, places) for moved, groups in drawn]
    return tuple(combinations(methods, 2)), found


def _rows(
    place: tuple[str, str, str], rates: Rates, key: Key, pairs: Pairs, parts: list[Parts]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each pair of methods."""
    names = dict(zip(PLACE, place, strict=False)) | dict(rates) | {"measure": key[0]}
    names |= {"session": key[1], "orders": parts[0].theta.shape[1]}
    numbers, of_classes = map(interval, parts)
    numbers |= {f"class_{limit}": of_classes[limit] for limit in ("low", "high")}
    for i, (method, against) in enumerate(pairs):
        of_pair = {name: float(values[i]) for name, values in numbers.items()}
        yield names | {"method": method, "against": against} | of_pair
