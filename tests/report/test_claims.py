"""Verdicts of the ledger: each predicate is fed data that holds and data that does not."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from copies import ROOT, loaded

from figures import claims_table
from sparcl.base.errors import ConfigError, InputError
from study.pipeline.configuration import read_yaml
from study.pipeline.displays import frame_file
from study.report import claims
from study.report.reading import read_csv

ORDERS = (1, 2, 3)


def term(column: str = "A_bar", **keys: object) -> dict:
    return {"suite": "s", "frame": "runs", "column": column} | keys


def claim(*terms: dict, **keys: object) -> dict:
    text = {
        "id": "c",
        "topic": "Accuracy",
        "place": "Table 1",
        "says": "A beats B.",
        "measured": "A - B",
    }
    return text | {"terms": list(terms), "judge": {"is": "above", "than": 0.0}} | keys


def runs(**values: float | list[float]) -> pd.DataFrame:
    """One data set; a value an order for each method."""
    return pd.DataFrame(
        [
            {"dataset": "one", "method": m, "order": o, "A_bar": v}
            for m, column in values.items()
            for o, v in zip(ORDERS, np.broadcast_to(column, 3), strict=True)
        ]
    )


def compared(frame: pd.DataFrame, half: float, p_holm: float) -> pd.DataFrame:
    """Differences of all pairs with limits half a width away, of 50 degrees of freedom."""
    rows = []
    for dataset, of in frame.groupby("dataset"):
        means = of.groupby("method")["A_bar"].mean()
        for method, against in combinations(sorted(means.index), 2):
            gap = means[method] - means[against]
            row = {"dataset": dataset, "measure": "A_bar", "method": method, "against": against}
            row |= {"difference": gap, "low": gap - half, "high": gap + half, "dof": 50}
            rows.append(row | {"class_low": gap - half, "class_high": gap + half, "p_holm": p_holm})
    return pd.DataFrame(rows)


def verdict(
    one: dict, frame: pd.DataFrame, half: float = 0.1, p_holm: float = 0.01, **known: list[str]
) -> claims.Judged:
    known = {"methods": ["a", "b", "c"], "datasets": ["one"]} | known
    frames = {("s", "runs"): frame}
    if claims.opponents(one) and frame["method"].nunique() > 1:
        frames["s", "differences"] = compared(frame, half, p_holm)
    return claims.judge([one], frames, known)[0]


DIFFERENCE = (term(method="a"), term(method="b", weight=-1))


def test_paired_difference_with_spread() -> None:
    got = verdict(claim(*DIFFERENCE), runs(a=[3.0, 5.0, 7.0], b=[2.0, 2.0, 2.0]))
    assert got.verdict == "holds"
    (value,) = got.values
    assert (value.mean, value.std, value.n) == pytest.approx((3.0, 2.0, 3))
    assert (value.low, value.high) == pytest.approx((2.9, 3.1))
    assert verdict(claim(*DIFFERENCE), runs(a=1.0, b=2.0)).verdict == "does not hold"
    for a in (1.0, 3.0):
        assert verdict(claim(*DIFFERENCE), runs(a=a, b=2.0), p_holm=0.05).verdict == "undecided"


def test_a_difference_is_told_apart_from_the_threshold_of_its_claim() -> None:
    """Half a width of 0.4 is two standard errors: 1.2 is not told apart from 1, 1.6 is, whatever it is against 0."""
    frame = {b: runs(a=2.0, b=b) for b in (0.8, 0.4, 2.4)}
    for than, b, said in (
        (1.0, 0.8, "undecided"),
        (1.0, 0.4, "holds"),
        (1.0, 2.4, "does not hold"),
        ([-0.5, 2.5], 0.4, "holds"),
        ([-0.5, 1.5], 0.4, "undecided"),
        ([-0.5, 0.5], 0.8, "does not hold"),
    ):
        name = "between" if isinstance(than, list) else "above"
        one = claim(*DIFFERENCE, judge={"is": name, "than": than})
        assert verdict(one, frame[b], half=0.4, p_holm=0.9).verdict == said, (than, b)


def test_of_several_methods_the_least_favourable_counts() -> None:
    best = claim(term(method="a"), term(methods=["b", "c"], across="max", weight=-1))
    assert claims.opponents(best) == [("a", "b"), ("a", "c")]
    for c, said in ((1.0, "holds"), (4.0, "does not hold")):
        got = verdict(best, runs(a=3.0, b=2.0, c=c))
        assert (got.verdict, got.values[0].mean) == (said, 3.0 - max(2.0, c))
    # the greatest less the least, of two that are both in both lists; and what is no difference of two methods
    wide = [
        term(methods=["b", "c"], across=a, **w) for a, w in (("max", {}), ("min", {"weight": -1}))
    ]
    assert claims.opponents(claim(*wide, judge={"is": "below", "than": 5})) == [
        ("b", "c"),
        ("c", "b"),
    ]
    for other in (
        claim(*wide),
        claim(*DIFFERENCE, ratio=True),
        claim(*DIFFERENCE[::-1]),
        claim(DIFFERENCE[0], term(method="b", weight=-1, suite="other")),
        claim(*(t | {"column": "drift"} for t in DIFFERENCE)),
        claim(*(t | {"dataset": "one"} for t in DIFFERENCE)),
    ):
        assert claims.opponents(other) == []


def test_every_data_set_counts() -> None:
    both = pd.concat([runs(a=3.0, b=2.0), runs(a=1.0, b=2.0).assign(dataset="two")])
    assert [v.satisfied for v in verdict(claim(*DIFFERENCE), both).values] == [True, False]
    assert verdict(claim(*DIFFERENCE), both).verdict == "does not hold"


def test_predicates_flip() -> None:
    for judge, than, yes, no in (
        ("above", 1.0, 1.1, 1.0),
        ("below", 1.0, 0.9, 1.0),
        ("between", [-0.5, 0.5], 0.5, 0.6),
        ("between", [-0.5, 0.5], -0.5, -0.6),
    ):
        one = claim(term(method="a"), judge={"is": judge, "than": than})
        assert verdict(one, runs(a=yes)).verdict == "holds"
        assert verdict(one, runs(a=no)).verdict == "does not hold"


def test_reductions() -> None:
    rows = pd.DataFrame({"A_bar": [1.5, 4.0, 0.5], "x": [1.0, 2.0, 3.0]})
    rows = rows.assign(dataset="one", method="a", order=1)
    expected = {"mean": 2.0, "sum": 6.0, "max": 4.0, "min": 0.5, "first": 1.5, "last": 0.5}
    expected |= {"rise": -1.0, "correlation": -0.2773501, "rank_correlation": -0.5}
    assert set(expected) == set(claims.REDUCTIONS)
    for reduce, value in expected.items():
        got = verdict(claim(term(method="a", reduce=reduce, **{"with": "x"})), rows)
        assert got.values[0].mean == pytest.approx(value, abs=1e-6), reduce
        assert math.isnan(got.values[0].std)


def test_ratio_across_where_times_minus() -> None:
    frame = runs(a=6.0, b=[1.0, 2.0, 3.0], c=2.0)
    ratio = claim(term(method="a"), term(method="c"), ratio=True)
    assert verdict(ratio, frame).values[0].mean == pytest.approx(3.0)
    best = claim(term(methods=["b", "c"], across="max"))
    assert verdict(best, frame).values[0].mean == pytest.approx((2 + 2 + 3) / 3)
    least = claim(term(methods=["b", "c"], across="min"))
    assert verdict(least, frame).values[0].mean == pytest.approx((1 + 2 + 2) / 3)
    wide = frame.assign(session=frame["order"], other=10.0)
    some = claim(term(method="b", where={"session": [2, 3]}))
    assert (verdict(some, wide).values[0].n, verdict(some, wide).values[0].mean) == (2, 2.5)
    assert verdict(claim(term(method="b", times="other")), wide).values[0].mean == 20.0
    assert verdict(claim(term(method="b", minus="other")), wide).values[0].mean == -8.0


def test_nothing_measured_supports_nothing() -> None:
    constant = runs(a=1.0).assign(x=[1.0, 2.0, 3.0], order=1)
    one = claim(term(method="a", reduce="correlation", **{"with": "x"}))
    assert verdict(one, constant).verdict == "does not hold"
    zero = claim(term(method="a"), term(method="b"), ratio=True)
    assert verdict(zero, runs(a=1.0, b=0.0)).verdict == "does not hold"


def test_absent_methods_and_data_sets_are_not_measurable_and_say_why() -> None:
    got = verdict(claim(term(method="fly-cl")), runs(a=1.0))
    assert (got.verdict, got.values) == ("not measurable here", [])
    assert "method fly-cl" in got.reason
    got = verdict(claim(term(method="a", dataset="imagenet-a")), runs(a=1.0))
    assert "data set imagenet-a" in got.reason
    # and it is measured as soon as there is one
    got = verdict(claim(term(method="fly-cl")), runs(**{"fly-cl": 1.0}), methods=["fly-cl"])
    assert got.verdict == "holds"


def test_missing_rows_columns_and_summaries_are_errors() -> None:
    with pytest.raises(InputError, match="no row of b"):
        verdict(claim(*DIFFERENCE), runs(a=1.0))
    with pytest.raises(InputError, match="no column A_las"):
        verdict(claim(term("A_las", method="a")), runs(a=1.0))
    with pytest.raises(InputError, match="sessions of suite s"):
        verdict(claim(term(method="a", frame="sessions")), runs(a=1.0))
    with pytest.raises(InputError, match="differences of suite s, which was not given: run"):
        claims.judge(
            [claim(*DIFFERENCE)],
            {("s", "runs"): runs(a=1.0, b=2.0)},
            {"methods": ["a", "b"], "datasets": ["one"]},
        )
    with pytest.raises(InputError, match="in common"):
        verdict(claim(*DIFFERENCE), pd.concat([runs(a=1.0), runs(b=1.0).assign(order=9)]))


def test_malformed_ledgers_are_refused() -> None:
    for broken, message in (
        (claim(term(method="a"), judge={"is": "about", "than": 1}), "above, below, between"),
        (claim(term(method="a"), verdict="holds"), "no key verdict"),
        (claim(term(method="a", reduce="median")), "rank_correlation"),
        (claim(term(method="a"), ratio=True), "two terms"),
        (claim(term(methods=["a"])), "across"),
        (claim(term(method="a", colour="red")), "colour"),
        ({"id": "c", "terms": []}, "place"),
    ):
        with pytest.raises(ConfigError, match=message):
            claims.check([broken])
    parted = [claim(term(method="a"), id=name, topic=topic) for name, topic in ("ax", "by", "cx")]
    with pytest.raises(ConfigError, match="topic 'x' do not stand together"):
        claims.check(parted)
    with pytest.raises(ConfigError, match="two claims"):
        claims.check([claim(term(method="a"))] * 2)


# --- the ledger itself ---------------------------------------------------------------------------


def test_the_committed_ledger_follows_from_the_committed_summaries() -> None:
    """To the byte: verdicts, values with their origins, and how they are printed."""
    ledger, settings = read_yaml(ROOT / "docs/claims.yaml"), loaded()
    paths = {source: ROOT / frame_file("/".join(source), "") for source in claims.sources(ledger)}
    frames = {source: read_csv(path) for source, path in paths.items() if path.is_file()}
    bundled = [d for d, block in settings["datasets"].items() if block.get("features") == "bundle"]
    known = {"methods": list(settings["methods"]), "datasets": bundled}
    judged = claims.judge(ledger, frames, known)
    labels = {name: block["label"] for name, block in settings["datasets"].items()}
    for suffix, text in claims_table.texts(claims_table.rows(judged, labels)).items():
        assert text == (ROOT / f"paper/claims/claims{suffix}").read_text(encoding="utf-8"), suffix


# --- as it is printed ----------------------------------------------------------------------------


def test_printed_ledger_says_what_was_judged() -> None:
    ledger = [
        claim(*DIFFERENCE),
        claim(*DIFFERENCE, id="d", judge={"is": "below", "than": 0.5}),
        claim(term(method="fly-cl"), id="e", topic="Cost"),
    ]
    frame = runs(a=[3.0, 5.0, 7.0], b=2.0)
    frames = {("s", "runs"): frame, ("s", "differences"): compared(frame, 1.0, 0.01)}
    judged = claims.judge(ledger, frames, {"methods": ["a", "b"], "datasets": ["one"]})
    cells = claims_table.rows(judged, {"one": "Set One"})
    texts = claims_table.texts(cells)
    said = "Of 3 claims 1 hold, 1 do not, 0 are undecided, 1 cannot be measured here"
    assert claims_table.tally(cells) == said
    first, second, third = (line for line in texts[".md"].splitlines() if line.startswith("- "))
    assert first == (
        "- ✓ **C1 holds.** A beats B (Table 1). Measured: A - B (suite s), to be above 0: Set One 3 \\[2, 4\\]."
    )
    assert second.startswith("- ✗ **C2 does not hold.**") and "to be below 0.5" in second
    assert third.startswith("- – **C3 not measurable here.**")
    assert third.endswith("Not measured: method fly-cl is not in this repository.")
    value = r"\begin{tabular}[t]{@{}r@{}}3.0 \\ {}[2.0, 4.0]\end{tabular}"
    assert f"A beats B (Table 1) & A - B (suite s): above 0 & {value} " in texts[".tex"]
    # each value says where it comes from, term by term; a claim without one says nothing
    assert cells["row"].iloc[0] == "dataset=one; method=a | dataset=one; method=b"
    assert cells["file"].isna().tolist() == [False, False, True]


def test_numbers() -> None:
    printed = {0.0: "0", 1.2345: "1.23", -0.04567: "-0.0457", 123.4: "123", 3e-12: "3.0e-12"}
    assert {value: claims_table.number(value) for value in printed} == printed
