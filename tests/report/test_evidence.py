"""What an entry of a basis computes, against the same by hand, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sparcl.base.errors import InputError
from study.report.evidence import CLAIMS, compute
from study.report.paired import interval

ORDERS = 6
RUNS = "paper/s/summary/runs.csv"


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    keys = [(d, m, o) for d in ("a", "b") for m in ("x", "y", "z") for o in range(ORDERS)]
    frame = pd.DataFrame(keys, columns=["dataset", "method", "order"])
    base = frame["method"].map({"x": 70.0, "y": 60.0, "z": 60.0})
    return frame.assign(A_last=(base + rng.normal(0, 1, len(frame))).round(4), seed=frame["order"])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, runs: pd.DataFrame) -> Path:
    folder = tmp_path_factory.mktemp("basis")
    (folder / RUNS).parent.mkdir(parents=True)
    runs.sample(frac=1, random_state=1).to_csv(folder / RUNS, index=False)
    runs[runs["order"] < 3].to_csv(folder / "few.csv", index=False)
    (folder / CLAIMS).parent.mkdir(parents=True)
    (folder / CLAIMS).write_text(
        "id,verdict\nc1,holds\nc1,holds\nc2,does not hold\n", encoding="utf-8"
    )
    (folder / "p.yaml").write_text("a: {b: 0.2, c: [1, 2, 4]}\n", encoding="utf-8")
    (folder / "p.json").write_text(json.dumps({"n": 7}), encoding="utf-8")
    return folder


def column(runs: pd.DataFrame, dataset: str, method: str) -> np.ndarray:
    rows = runs[(runs["dataset"] == dataset) & (runs["method"] == method)]
    return rows.sort_values("order")["A_last"].to_numpy()


def test_means_and_spreads_of_each_combination_in_the_order_written(
    root: Path, runs: pd.DataFrame
) -> None:
    values = compute(f"{RUNS} method=y|x dataset=b|a column=A_last mean std", root)
    expected = [
        number
        for method in ("y", "x")
        for dataset in ("b", "a")
        for number in (
            column(runs, dataset, method).mean(),
            column(runs, dataset, method).std(ddof=1),
        )
    ]
    assert values == pytest.approx(expected)


def test_differences_are_paired_whatever_the_order_of_rows(root: Path, runs: pd.DataFrame) -> None:
    difference = column(runs, "a", "x") - column(runs, "a", "y")
    mean, low, high = interval(difference)
    text = f"{RUNS} dataset=a method=x column=A_last minus method=y mean low high min"
    assert compute(text, root) == pytest.approx([mean, low, high, difference.min()])
    ratio = f"{RUNS} dataset=a method=x column=A_last over method=y mean times=100"
    assert compute(ratio, root) == pytest.approx(
        [100 * (column(runs, "a", "x") / column(runs, "a", "y")).mean()]
    )


def test_what_follows_minus_may_lie_in_another_file(root: Path) -> None:
    text = f"few.csv dataset=a method=x column=A_last minus {RUNS} order=0|1|2 mean"
    assert compute(text, root) == [0.0]


def test_signs_of_intervals_are_stated_and_counted(root: Path) -> None:
    both = f"{RUNS} dataset=a|b method=x column=A_last minus method=y"
    assert compute(f"{both} is above", root) == []
    assert compute(f"{both} wins ties losses", root) == [2, 0, 0]
    assert compute(f"{both.replace('a|b', '*')} wins", root) == [2]
    with pytest.raises(InputError, match="is above, not tie"):
        compute(f"{both} is tie", root)
    assert compute(f"{RUNS} dataset=a method=y column=A_last minus method=z is tie", root) == []
    assert (
        compute(f"{RUNS} dataset=a method=y column=A_last minus method=x is not above", root) == []
    )


def test_the_highest_mean_is_counted_among_all_or_some(root: Path) -> None:
    assert compute(f"{RUNS} dataset=a|b method=x column=A_last highest", root) == [2]
    assert compute(f"{RUNS} dataset=a|b method=x column=A_last among=y lowest", root) == [0]


def test_claims_counts_and_settings(root: Path) -> None:
    assert compute("claim c1 holds", root) == []
    assert compute(f"{CLAIMS} verdict=holds count=id", root) == [1]
    assert compute("p.yaml key=a.b", root) == [0.2]
    assert compute("p.yaml key=a.c rows", root) == [3]
    assert compute("p.json key=n times=2", root) == [14]
    assert compute("given 95 1,280", root) == [95, 1280]
    assert compute(f"measured by {RUNS}", root) is None


def test_each_gives_all_rows_of_the_file_in_its_order(root: Path) -> None:
    frame = pd.read_csv(root / "few.csv")
    rows = frame[(frame["method"] == "x") & frame["order"].isin([1, 2])]
    expected = rows[["order", "A_last"]].to_numpy().ravel().tolist()
    assert compute("few.csv method=x order=2|1 column=order|A_last each", root) == expected


REFUSED = [
    ("", "empty"),
    ("none.csv column=A_last", "no file none.csv"),
    (f"{RUNS} dataset=a method=x", "no column is named"),
    (f"{RUNS} dataset=a method=x column=B", "no column B"),
    (f"{RUNS} dataset=c column=A_last mean", "no row"),
    (f"{RUNS} dataset=a method=x column=A_last", "6 rows"),
    (f"{RUNS} dataset=a method=x column=A_last average", "`average` is no word"),
    ("few.csv dataset=a method=x column=A_last minus method=y is above", "3 pairs"),
    (f"few.csv dataset=a method=x column=A_last minus {RUNS} method=y mean", "not the same"),
    ("claim c2 holds", "says does not hold, not holds"),
    ("p.yaml key=a.d", "no key a.d"),
    ("measured by none.py", "no program"),
    ("given many", "many"),
]


def test_what_cannot_be_computed_is_refused_with_its_entry(root: Path) -> None:
    for text, says in REFUSED:
        with pytest.raises(InputError, match=says) as caught:
            compute(text, root)
        assert str(caught.value).startswith(f"`{text}`: ")
