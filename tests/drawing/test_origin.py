"""Every cell of every committed table, derived again from the file, rows and column that it names."""

import csv
import itertools
import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from scipy.stats import rankdata, ttest_rel

ROOT = Path(__file__).resolve().parents[2]
TABLES = [
    p for p in sorted(ROOT.glob("paper/*/tables/*.csv")) if p.parts[-3] not in ("toy", "digits")
]
ABSENT = "no block features"
PERCENT_OF_A_SHARE = {"drift_scaled": 100.0}


@cache
def frame(path: str) -> list[dict[str, str]]:
    with (ROOT / path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def sources(cell: dict[str, str]) -> list[dict[str, str]]:
    """Return the rows that a cell names."""
    keys = dict(pair.split("=", 1) for pair in cell["row"].split("; "))
    rows = [r for r in frame(cell["file"]) if all(r[k] == v for k, v in keys.items())]
    assert rows, f"{cell['file']} has no row {cell['row']}"
    return rows


def over_orders(cell: dict[str, str], digits: int = 1) -> str:
    """Mean ± standard deviation (n - 1) of a column."""
    scale = PERCENT_OF_A_SHARE.get(cell["column"], 1.0)
    values = [scale * float(row[cell["column"]]) for row in sources(cell)]
    mean = f"{math.fsum(values) / len(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.{digits}f}"


def increments(cell: dict[str, str]) -> list[str]:
    """The interval of a difference, and of last accuracy that over classes; turned where the method is the second."""
    (row,) = sources(cell)
    names = [
        ("low", "high"),
        *([("class_low", "class_high")] if cell["measure"] == "A_last" else []),
    ]
    shown = []
    for low, high in names:
        middle, below, above = (float(row[name]) for name in (cell["column"], low, high))
        if row["method"] != cell["method"]:
            middle, below, above = -middle, -above, -below
        shown.append(f"{middle:+.2f} [{below:+.2f}, {above:+.2f}]")
    assert int(cell["tied"]) == (float(row["p_holm"]) >= 0.05)
    return shown


def quoted_or_measured(cell: dict[str, str]) -> list[str]:
    """A published number has the digits that it was published with."""
    if cell["quoted"] == "0":
        return [over_orders(cell)]
    (row,) = sources(cell)
    return [row[cell["column"]]]


def mean(cell: dict[str, str]) -> list[str]:
    return [over_orders(cell).partition(" ± ")[0]]


def condition(cell: dict[str, str]) -> list[str]:
    values = [float(row[cell["column"]]) for row in sources(cell)]
    middle = math.fsum(values) / len(values)
    return [f"{middle:.1f}" if middle < 100 else f"{middle:.0f}"]


def seconds(cell: dict[str, str]) -> list[str]:
    (row,) = sources(cell)
    return [f"{float(row[cell['column']]):.{3 if cell['column'] == 'tau_post' else 2}f}"]


def size(cell: dict[str, str]) -> list[str]:
    """Megabytes, or the share of 2,000 images of 224 by 224 pixels in three colours."""
    (row,) = sources(cell)
    value = float(row[cell["column"]])
    if cell["printed"].endswith("%"):
        return [f"{100 * value / 301_056_000:.1f}%"]
    return [f"{value / 1e6:.{0 if cell['column'] == 'peak_bytes' else 1}f}"]


def settings(cell: dict[str, str]) -> list[str]:
    runs: dict[str, list[float]] = {}
    for row in sources(cell):
        runs.setdefault(row["order"], []).append(float(row[cell["column"]]))
    every = {value for run in runs.values() for value in run}
    if len(every) == 1:
        return [f"{every.pop():g}"]
    if all(len({*run}) == 1 for run in runs.values()):
        return [", ".join(f"{run[0]:g}" for run in runs.values())]
    return [f"{min(every):g} to {max(every):g}"]


@cache
def verdicts(file: str, column: str, of: str) -> dict[str, Counter[str]]:
    """Count wins, ties and losses of a method against each other one: SciPy's paired t-test, Holm by hand."""
    values: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in frame(file):
        values[row["dataset"], row["method"]][row["order"]] = float(row[column])
    sign = -1 if column == "forgetting" else 1
    tests = []
    for (dataset, method), other in values.items():
        if method == of:
            continue
        own = values[dataset, of]
        gains = [sign * (own[order] - other[order]) for order in own]
        if max(gains) - min(gains) < 1e-12:
            p = 1.0 if abs(gains[0]) < 1e-12 else 0.0
        else:
            p = float(ttest_rel(list(own.values()), [other[order] for order in own]).pvalue)
        tests.append((p, method, math.fsum(gains) > 0))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    rejecting = True
    for place, (p, method, better) in enumerate(sorted(tests)):
        rejecting = rejecting and p * (len(tests) - place) < 0.05
        counts[method]["tie" if not rejecting else "win" if better else "loss"] += 1
    return counts


def ranks(cell: dict[str, str]) -> list[str]:
    """Mean rank over data sets; for all methods but that of the table, wins, ties and losses."""
    method, rows, column = sources(cell)[0]["method"], frame(cell["file"]), cell["column"]
    means: dict[str, dict[str, float]] = defaultdict(dict)
    for dataset, name in {(row["dataset"], row["method"]) for row in rows}:
        of = [float(r[column]) for r in rows if (r["dataset"], r["method"]) == (dataset, name)]
        means[dataset][name] = math.fsum(of) / len(of)
    sign = 1 if column == "forgetting" else -1
    places = [
        rankdata([sign * value for value in by.values()])[[*by].index(method)]
        for by in means.values()
    ]
    text = f"{math.fsum(places) / len(places):.2f}"
    if method == OF_RANKS:
        return [text]
    counts = verdicts(cell["file"], column, OF_RANKS)[method]
    return [f"{text} ({counts['win']}, {counts['tie']}, {counts['loss']})"]


def rates(cell: dict[str, str]) -> list[str]:
    """Mean accuracy on all classes / on old ones."""
    rows = sources(cell)
    means = [
        math.fsum(float(row[c]) for row in rows) / len(rows) for c in cell["column"].split(" / ")
    ]
    return [" / ".join(f"{value:.1f}" for value in means)]


def advice(cell: dict[str, str]) -> list[str]:
    """Share of strangers in percent: class orders with a core advised, and with right advice."""
    share, held, right = 0.0, 0, 0
    rows = sources(cell)
    for row in rows:
        keys = ("dataset", "backbone", "order", "stress", "rate")
        (other,) = (
            r
            for r in frame(cell["file"])
            if r["method"] == "stream-ridge" and all(r[k] == row[k] for k in keys)
        )
        gain = float(row["A_last"]) - float(other["A_last"])
        hold = float(row["strangers"]) >= 0.1
        share, held = share + float(row["strangers"]), held + hold
        right += gain >= -0.5 if hold else gain <= 0.5
    return [f"{100 * share / len(rows):.0f}: {held}, {right}/{len(rows)}"]


def training(cell: dict[str, str]) -> list[str]:
    """Over the sessions of a run: a mean, a sum, the last or the largest; then the mean over runs."""
    runs: dict[str, list[float]] = defaultdict(list)
    for row in sorted(sources(cell), key=lambda row: int(row["session"])):
        runs[row["order"]].append(float(row[cell["column"]]))
    gather, scale, digits = {
        "training_accuracy": (statistics.fmean, 1, 1),
        "underfitted": (sum, 1, 0),
        "exemplars": (lambda values: values[-1], 1, 0),
        "trainable_parameters": (lambda values: values[-1], 1e6, 2),
        "seconds": (math.fsum, 1, 0),
        "peak_bytes": (max, 1e9, 1),
    }[cell["column"]]
    return [f"{statistics.fmean(map(gather, runs.values())) / scale:.{digits}f}"]


OF_RANKS = "sparcl-plus"
# How the cells of a table that is not of means ± deviations are derived.
OTHERS: dict[str, Callable[[dict[str, str]], list[str]]] = {
    "increments": increments,
    "published": quoted_or_measured,
    "sessions": mean,
    "condition": condition,
    "tau-post": seconds,
    "memory": size,
    "ranks": ranks,
    "selected": settings,
    "rates": rates,
    "advice": advice,
    "training": training,
}


def body(markdown: str) -> Counter[str]:
    """Return the cells of a Markdown text's tables without their marks, the first column left out."""
    shown: Counter[str] = Counter()
    lines = markdown.splitlines()
    for above, line in itertools.pairwise(lines):
        if line.startswith("| ") and above.startswith("|"):
            cells = [
                re.sub(r"\*\*|</?ins>|</?sub>|†", "", c.strip()) for c in line.split("|")[2:-1]
            ]
            shown.update(c for c in cells if c)
    return shown


@pytest.mark.parametrize("path", TABLES, ids=lambda p: "/".join(p.parts[-3::2]))
def test_cells_are_what_their_origin_gives(path: Path) -> None:
    again: Counter[str] = Counter()
    for cell in frame(str(path.relative_to(ROOT))):
        if not cell["file"]:
            assert cell["printed"] in (ABSENT, "–"), cell
            again[cell["printed"]] += 1
            continue
        derived = OTHERS.get(path.stem, lambda cell: [over_orders(cell)])(cell)
        assert derived[0] == cell["printed"], cell
        again.update(derived)
    printed = body(path.with_suffix(".md").read_text(encoding="utf-8"))
    assert again.total() > 0 and not again - printed, "derived, but not in the Markdown"
    named = {*again, *labels(path)}
    assert not [c for c in printed if c not in named], "in the Markdown without an origin"
    assert all(printed[c] == again[c] for c in again if c not in labels(path))


def labels(path: Path) -> set[str]:
    """Return the texts of the second column, where a table has two of names."""
    return {cell.get("dataset_label", "") for cell in frame(str(path.relative_to(ROOT)))}


def test_there_are_tables() -> None:
    assert {"main", "increments"} <= {path.stem for path in TABLES}


def test_a_changed_summary_would_be_noticed() -> None:
    cell = frame("paper/bundled/tables/main.csv")[0]
    row = sources(cell)[0]
    before = row[cell["column"]]
    try:
        row[cell["column"]] = str(float(before) + 1)
        assert over_orders(cell) != cell["printed"]
    finally:
        row[cell["column"]] = before
