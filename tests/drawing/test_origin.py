"""Every cell of every committed table, derived again from the file, rows and column that it names."""

import csv
import itertools
import math
import os
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import yaml
from copies import loaded
from scipy.stats import rankdata

from figures import render
from figures.frames import read
from study.pipeline import displays

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


@cache
def by(path: str, keys: tuple[str, ...]) -> dict[tuple[str, ...], list[dict[str, str]]]:
    """Return the rows of a file by the values of some columns."""
    found = defaultdict(list)
    for row in frame(path):
        found[tuple(row[key] for key in keys)].append(row)
    return dict(found)


def sources(cell: dict[str, str]) -> list[dict[str, str]]:
    """Return the rows that a cell names."""
    keys = dict(pair.split("=", 1) for pair in cell["row"].split("; "))
    return by(cell["file"], tuple(keys))[tuple(keys.values())]


def values(cell: dict[str, str]) -> list[float]:
    return [float(row[cell["column"]]) for row in sources(cell)]


def over_orders(cell: dict[str, str]) -> str:
    """Mean ± standard deviation (n - 1) of a column."""
    found = [PERCENT_OF_A_SHARE.get(cell["column"], 1.0) * value for value in values(cell)]
    mean = f"{math.fsum(found) / len(found):.1f}"
    return mean if len(found) == 1 else f"{mean} ± {statistics.stdev(found):.1f}"


def interval(row: dict[str, str], method: str, low: str = "low", high: str = "high") -> list[float]:
    """A difference and its limits; turned where the method is the second of the row."""
    middle, below, above = (float(row[name]) for name in ("difference", low, high))
    return [middle, below, above] if row["method"] == method else [-middle, -above, -below]


def headline(cell: dict[str, str]) -> list[str]:
    (row,) = sources(cell)
    assert int(cell["tied"]) == (float(row["p_holm"]) >= 0.05)
    return ["{:+.1f} [{:.1f}, {:.1f}]".format(*interval(row, OF_RANKS)).replace("-", "−")]


def increments(cell: dict[str, str]) -> list[str]:
    """The interval of a difference, and of last accuracy that over classes."""
    (row,) = sources(cell)
    names = [("low", "high")]
    names += [("class_low", "class_high")] if cell["measure"] == "A_last" else []
    limits = [interval(row, cell["method"], *ends) for ends in names]
    shown = ["{:+.2f} [{:+.2f}, {:+.2f}]".format(*ends) for ends in limits]
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
    middle = statistics.fmean(values(cell))
    return [f"{middle:.1f}" if middle < 100 else f"{middle:.0f}"]


def costs(cell: dict[str, str]) -> list[str]:
    """Seconds and ratios, megabytes, or the share of 2,000 images of 224 by 224 pixels in three colours."""
    (value,) = values(cell)
    if cell["printed"].endswith("%"):
        return [f"{100 * value / 301_056_000:.1f}%"]
    digits = {"tau_post": 3, "relative_time": 2, "state_bytes": 1, "peak_bytes": 0}[cell["column"]]
    return [f"{value / (1e6 if 'bytes' in cell['column'] else 1):.{digits}f}"]


def settings(cell: dict[str, str]) -> list[str]:
    """The value of each class order in turn, or one that all share."""
    found = [f"{value:g}" for value in values(cell)]
    return [found[0] if len({*found}) == 1 else ", ".join(found)]


KEYS = ("measure", "session", "stress", "rate")


@cache
def told(file: str) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the rows of a ``differences.csv`` by both methods in either order, data set, and what else names one."""
    found = {}
    for row in frame(file):
        more = [row.get(key, "") for key in KEYS]
        for pair in itertools.permutations((row["method"], row["against"])):
            found[(*pair, row["dataset"], *more)] = row
    return found


def outcome(file: str, method: str, against: str, dataset: str, *more: str) -> str:
    """Whether a method is above another, below, or not told apart from it, in the numbers alone."""
    row = told(file)[(method, against, dataset, *more, *[""] * (len(KEYS) - len(more)))]
    if float(row["p_holm"]) >= 0.05:
        return "tie"
    positive = (float(row["difference"]) > 0) == (row["method"] == method)
    return "above" if positive else "below"


def ranks(cell: dict[str, str]) -> list[str]:
    """Mean rank over data sets; for all methods but that of the table, wins, ties and losses."""
    method, column = sources(cell)[0]["method"], cell["column"]
    means: dict[str, dict[str, float]] = defaultdict(dict)
    for (dataset, name), of in by(cell["file"], ("dataset", "method")).items():
        means[dataset][name] = statistics.fmean(float(row[column]) for row in of)
    sign = 1 if column == "forgetting" else -1
    places = [
        rankdata([sign * value for value in of.values()])[[*of].index(method)]
        for of in means.values()
    ]
    text = f"{math.fsum(places) / len(places):.2f}"
    if method == OF_RANKS:
        return [text]
    beside = cell["file"].replace("runs.csv", "differences.csv")
    found = [outcome(beside, OF_RANKS, method, dataset, column) for dataset in means]
    won, lost = ("below", "above") if column == "forgetting" else ("above", "below")
    return [f"{text} ({found.count(won)}, {found.count('tie')}, {found.count(lost)})"]


def rates(cell: dict[str, str]) -> list[str]:
    """Mean accuracies, between slashes."""
    means = [mean(cell | {"column": column}) for column in cell["column"].split(" / ")]
    return [" / ".join(itertools.chain(*means))]


def adjacent(cell: dict[str, str]) -> list[str]:
    """Mean similarity of class orders, or mean accuracies."""
    if not cell["column"].startswith("similarity"):
        return rates(cell)
    return [f"{statistics.fmean(values(cell)):.3f}"]


def base_new(cell: dict[str, str]) -> list[str]:
    """Mean over class orders; of base classes, new ones and both, from the accuracy by session of arrival."""
    if not cell["file"].endswith("arrivals.csv"):
        return mean(cell)
    orders = defaultdict(lambda: ([], []))
    for row in sources(cell):
        orders[row["order"]][row["arrival"] != "1"].append(float(row["A_last"]))
    pairs = [(statistics.fmean(base), statistics.fmean(new)) for base, new in orders.values()]
    found = {
        "base classes": [base for base, _ in pairs],
        "new classes": [new for _, new in pairs],
        "harmonic mean": [statistics.harmonic_mean(pair) for pair in pairs],
    }[cell["head"]]
    return [f"{statistics.fmean(found):.1f}"]


def advice(cell: dict[str, str]) -> list[str]:
    """Contaminated fraction in percent: class orders with a core advised, and with right advice."""
    share, held, right = 0.0, 0, 0
    rows = sources(cell)
    for row in rows:
        keys = ("dataset", "backbone", "order", "stress", "rate")
        place = ("stream-ridge", *(row[key] for key in keys))
        (other,) = by(cell["file"], ("method", *keys))[place]
        gain = float(row["A_last"]) - float(other["A_last"])
        hold = float(row["contamination_sums"]) >= 0.1
        share, held = share + float(row["contamination_sums"]), held + hold
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
        "exemplars": (lambda run: run[-1], 1, 0),
        "trainable_parameters": (lambda run: run[-1], 1e6, 2),
        "seconds": (math.fsum, 1, 0),
        "peak_bytes": (max, 1e9, 1),
    }[cell["column"]]
    found = statistics.fmean(map(gather, runs.values())) / scale
    return [f"{found:.3g}" if cell["column"] == "underfitted" else f"{found:.{digits}f}"]


OF_RANKS = "sparcl-plus"
# How the cells of a table that is not of means ± deviations are derived.
OTHERS: dict[str, Callable[[dict[str, str]], list[str]]] = {
    "headline": headline,
    "increments": increments,
    "published": quoted_or_measured,
    "sessions": mean,
    "condition": condition,
    "tau-post": costs,
    "memory": costs,
    "ranks": ranks,
    "selected": settings,
    "rates": rates,
    "anytime": rates,
    "adjacent": adjacent,
    "base-new": base_new,
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


def unfit(path: Path) -> set[str]:
    """Return the methods of a table of trained networks that are references, or have an underfitted session."""
    if path.stem != "trained":
        return set()
    told = frame(str((path.parents[1] / "summary/training.csv").relative_to(ROOT)))
    return {"linear-probe", "joint-finetune"} | {
        row["method"] for row in told if row["underfitted"] != "0"
    }


MARKED = {
    "sessions": "A_t",
    "rates": "A_both",
    "anytime": "A_auc",
}  # the measure by which such a table marks its cells


@pytest.mark.parametrize("path", TABLES, ids=lambda p: "/".join(p.parts[-3::2]))
def test_bold_is_the_best_mean_and_a_dagger_what_is_not_told_apart(path: Path) -> None:
    cells = [cell for cell in frame(str(path.relative_to(ROOT))) if cell["file"]]
    if path.stem in ("headline", "increments"):
        return  # their daggers stand beside the differences: see above
    if path.stem not in MARKED and "gap" not in cells[0]:
        assert all(cell.get("tied", "0") == "0" for cell in cells)
        return
    groups: dict[tuple[str, ...], list[tuple[float, str, dict[str, str]]]] = defaultdict(list)
    for cell in cells:
        rows = sources(cell)
        columns = cell["column"].split(" / ")[: 1 if path.stem == "anytime" else None]
        value = statistics.fmean(float(row[column]) for row in rows for column in columns)
        keys = [rows[0]["dataset"], MARKED.get(path.stem, cell["column"])]
        keys += [rows[0][key] for key in KEYS[1:] if f"{key}=" in cell["row"]]
        groups[cell["file"], *keys].append((value, rows[0]["method"], cell))
    for (file, dataset, *more), members in groups.items():
        sign = -1 if more[0] in ("forgetting", "drift_scaled") else 1
        fit = [member for member in members if member[1] not in unfit(path)]
        top, best, _ = max(fit, key=lambda member: sign * member[0])
        beside = str(Path(file).parent / "differences.csv")
        counted = more[0] != "drift_scaled" and (ROOT / beside).is_file()
        if path.stem in ("rates", "anytime"):
            more = [more[0], "", *more[1:]]
        for value, method, cell in members:
            if method in unfit(path):
                assert (cell["best"], cell["tied"]) == ("0", "0"), cell
                continue
            equal = abs(value - top) < 1e-6
            tied = counted and not equal and outcome(beside, best, method, dataset, *more) == "tie"
            assert (cell["best"], cell["tied"]) == (str(int(equal)), str(int(tied))), cell
        caption = path.with_suffix(".md").read_text(encoding="utf-8").partition("|")[0]
        assert (ROOT / beside).is_file() == ("corrected by Holm" in caption), "the rule is said"


def labels(path: Path) -> set[str]:
    """Return the texts of the second column, where a table has two of names."""
    return {cell.get("dataset_label", "") for cell in frame(str(path.relative_to(ROOT)))}


def test_committed_tables_are_what_is_written_from_the_summaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)  # a cell names its file from here
    config, other, lacking = loaded(), [], set()
    for path in TABLES:
        name, suite = path.stem, path.parts[-3]
        files = displays.frames(config, "tables", name, suite)
        if not all(map(os.path.exists, files)):
            lacking.add(suite)
            continue
        told = displays.display(config, "tables", name, suite)
        made = [tmp_path / suite / f"{name}{suffix}" for suffix in (".csv", ".md", ".tex")]
        made[0].parent.mkdir(exist_ok=True)
        render("table", name, files, told, made)
        other += [f for f in made if f.read_bytes() != path.with_suffix(f.suffix).read_bytes()]
    assert other == []
    assert lacking == {
        "official-width",
        "official-width-ranpac",
    }  # a class order has no differences
    assert {"main", *OTHERS} <= {path.stem for path in TABLES}


def test_a_changed_summary_would_be_noticed() -> None:
    cell = frame("paper/bundled/tables/main.csv")[0]
    row = sources(cell)[0]
    before = row[cell["column"]]
    try:
        row[cell["column"]] = str(float(before) + 1)
        assert over_orders(cell) != cell["printed"]
    finally:
        row[cell["column"]] = before


README_ROWS = {
    "joint ridge (ACIL)": ("matched", "sparcl-plus", "acil"),
    "streaming LDA": ("matched", "sparcl-plus", "slda"),
    "RanPAC": ("matched", "sparcl-plus", "ranpac"),
    "KLDA-E": ("matched", "sparcl-plus", "klda-e"),
    "AnaCP": ("matched", "sparcl-plus", "anacp"),
    "LR-RGDA": ("matched", "sparcl-plus", "lr-rgda"),
    "one covariance for all classes": ("increments", "sparcl-plus", "plus-shared"),
    "no ridge beside the discriminant": ("increments", "sparcl-plus", "plus-no-ridge"),
    "the core of the first session": ("increments", "sparcl-plus", "plus-first-core"),
    "a core of all directions": ("increments", "sparcl-plus", "core-1280"),
    "its predecessor": ("increments", "sparcl-plus", "sparcl-plus-2"),
    "forgetting": ("bundled", "sparcl", "acil"),
    "last accuracy": ("bundled", "sparcl", "acil"),
}


def test_the_readme_counts_what_the_differences_say() -> None:
    """And no difference stands in it that is not among these."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("−", "-")
    rows = re.findall(r"^\| ([^|]+) \| (\S+) \[(\S+), (\S+)\] \| ([^|]+) \|$", text, re.MULTILINE)
    assert [name for name, *_ in rows] == [*README_ROWS]
    words = {"above": "above", "tie": "not told apart", "below": "below"}
    for name, *printed, counts in rows:
        suite, method, against = README_ROWS[name]
        measure = "forgetting" if name == "forgetting" else "A_last"
        file = f"paper/{suite}/summary/differences.csv"
        row = told(file)[(method, against, "all", measure, "", "", "")]
        assert [float(value) for value in printed] == [
            round(value, 1) + 0.0 for value in interval(row, method)
        ], name
        sets = {row["dataset"] for row in frame(file)} - {"all"}
        found = Counter(outcome(file, method, against, dataset, measure) for dataset in sets)
        said = [f"{word} on {found[key]}" for key, word in words.items() if found[key]]
        assert counts == ", ".join(said), name


def test_figures_fill_what_the_differences_tell_apart() -> None:
    """The dots and lines of `headline` and `peers` of suite matched, and of `sessions` of suite bundled."""
    config, drawn = loaded(), {}
    for suite, name in (("matched", "headline"), ("matched", "peers"), ("bundled", "sessions")):
        told_of = displays.display(config, "figures", name, suite)
        files = [ROOT / file for file in displays.frames(config, "figures", name, suite)]
        figure = import_module(f"figures.{name}").draw(read(files), told_of)
        drawn[name] = figure, list(told_of["datasets"]), list(told_of["methods"])
    file = "paper/matched/summary/differences.csv"
    figure, datasets, _ = drawn["headline"]
    lines = [line for line in figure.axes[0].lines if line.get_marker() not in ("", "None")]
    dots = {line.get_label(): line for line in lines}
    of = OF_RANKS
    for label, dot in dots.items():
        peer, _, dataset = label.partition(" ")
        row = told(file)[(of, peer, dataset or "all", "A_last", "", "", "")]
        assert dot.get_xdata()[0] == pytest.approx(interval(row, of)[0])
        hollow = dot.get_markerfacecolor() == "white"
        assert hollow == (outcome(file, of, peer, dataset or "all", "A_last") == "tie"), label
    assert len(dots) > 5 * len(datasets)
    figure, datasets, methods = drawn["peers"]
    seen = 0
    for ax, dataset in zip(figure.axes, datasets, strict=True):
        (dotted,) = (line for line in ax.lines if line.get_label() == "reference")
        limits = [[*line.get_xdata()] for line in ax.lines if len(line.get_xdata()) == 2]
        for line in ax.lines:
            if (method := line.get_label()) not in methods or method == "acil":
                continue
            row = told(file)[(method, "acil", dataset, "A_last", "", "", "")]
            ends = [dotted.get_xdata()[0] + end for end in interval(row, method)[1:]]
            assert any(np.allclose(ends, found, atol=1e-3) for found in limits), (method, dataset)
            hollow = line.get_markerfacecolor() == "white"
            assert hollow == (outcome(file, method, "acil", dataset, "A_last") == "tie")
            seen += 1
    assert seen > 10 * len(datasets)
    file = "paper/bundled/summary/differences.csv"
    figure, datasets, _ = drawn["sessions"]
    for row, dataset in enumerate(datasets):
        band = figure.axes[3 * row + 1].collections[0].get_paths()[0].vertices[:, 1]
        first = told(file)[("ncm", "acil", dataset, "A_t", "10", "", "")]
        low, high = interval(first, "ncm")[1:]
        assert np.isclose(band, low).any() and np.isclose(band, high).any(), dataset


def test_claims_are_judged_by_the_differences() -> None:
    ledger = {one["id"]: one for one in yaml.safe_load((ROOT / "docs/claims.yaml").read_text())}
    sets = {block["label"]: name for name, block in loaded()["datasets"].items()}
    cells: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in frame("paper/claims/claims.csv"):
        if row["low"]:
            cells[row["id"]].append(row)
    assert len(cells) >= 20
    for name, rows in cells.items():
        claim = ledger[name]
        (first, second), than = claim["terms"], claim["judge"]["than"]
        file = f"paper/{first['suite']}/summary/differences.csv"
        pairs = itertools.product(*(t.get("methods", [t.get("method")]) for t in (first, second)))
        pairs = [pair for pair in pairs if len({*pair}) > 1]
        fails = []
        for cell in rows:
            places = [(*pair, sets[cell["dataset"]], first["column"]) for pair in pairs]
            found = [
                (interval(told(file)[(*at, "", "", "")], at[0]), outcome(file, *at))
                for at in places
            ]
            printed = [float(cell[key]) for key in ("mean", "low", "high")]
            (match,) = {said for limits, said in found if np.allclose(limits, printed, rtol=1e-5)}
            if than == 0:
                assert int(cell["told"]) == (match != "tie"), cell
            fails.append(cell["told"] == "1" and cell["satisfied"] == "0")
        undecided = any(cell["told"] == "0" for cell in rows)
        said = "does not hold" if any(fails) else "undecided" if undecided else "holds"
        assert {cell["verdict"] for cell in rows} == {said}, name
