"""Intervals of paired differences: their coverage, the bootstrap they stand for, and what is made of them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from sparcl.base.errors import InputError
from sparcl.base.randomness import generator
from study.loop.metrics import forgetting, pack_answers, session_accuracy
from study.report import across, comparison
from study.report import differences as paired
from study.report.summary import counts, write_csv
from study.sealed import RUN, read_sealed, write_sealed


def test_the_interval_covers_in_95_of_100_cases_whatever_orders_add(project, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(project / "benchmarks"))
    import intervals

    found = {case: intervals.coverage(case, 1000) for case in intervals.CASES}
    for case, of_case in found.items():
        assert of_case["class orders and test samples"] == pytest.approx(95, abs=2), case
    assert found["orders add nothing"]["class orders alone"] == 0  # both t-intervals are points
    assert found["orders add a little"]["class orders alone"] < 90
    assert found["orders add as much"]["test samples alone"] < 75


def session_of(sizes: list[int]) -> np.ndarray:
    return np.repeat(np.arange(len(sizes)) // 2, sizes)  # two classes a session


@pytest.fixture
def hits() -> np.ndarray:
    """Answers (2 methods, 5 orders, 3 sessions, n) that get worse; classes keep their session in all orders."""
    rng = generator("hits")
    easy = rng.standard_normal(240)
    orders = 0.3 * rng.standard_normal((2, 5, 1, 1)) + 0.5 * rng.standard_normal((2, 5, 1, 240))
    return easy + orders + np.array([[0.9], [0.6], [0.3]]) > np.array([0, 0.3])[:, None, None, None]


SIZES = [60, 20, 50, 30, 40, 40]


def test_the_variance_is_that_of_two_level_draws_without_their_two_faults(hits: np.ndarray) -> None:
    session, sizes = session_of(SIZES), np.array(SIZES)
    hits = hits & (session <= np.arange(3)[:, None])
    rng, draws = generator("draws"), 3000
    weights = np.concatenate([rng.multinomial(n, np.full(n, 1 / n), draws) for n in SIZES], axis=1)
    member = session == np.arange(3)[:, None]
    # after session t on the classes of session s, samples counting as often as they are drawn: (draws, 2, 5, 3, 3)
    right = np.einsum("dn,motn,sn->dmots", weights, hits, member, optimize=True)
    seen = member.sum(axis=1) * np.tri(3)
    accuracy = right.sum(axis=4) / seen.sum(axis=1)
    share = right / member.sum(axis=1)
    measured = {
        "A_bar": accuracy.mean(axis=3),
        "A_last": accuracy[..., -1],
        "forgetting": (share.max(axis=3) - share[..., -1, :])[..., :2].mean(axis=3),
    }
    orders = rng.integers(0, 5, (draws, 5))
    runs = [[paired.measures(h, session) for h in method] for method in hits]
    for (name, values), tolerance in zip(measured.items(), (0.06, 0.06, 0.15), strict=True):
        found = [[run[name, None] for run in method] for method in runs]
        theta, influence = (np.array([[pair[i] for pair in row] for row in found]) for i in (0, 1))
        parts = paired.Parts.of(theta, influence, sizes, [(0, 1)])
        drawn = 100 * np.take_along_axis(values[:, 0] - values[:, 1], orders, axis=1).mean(axis=1)
        # of five orders 4/5 of A; the interaction comes a third time, on top of what A and B have of it
        A = parts.theta.var(ddof=1) / 5
        expected = 0.8 * A + parts.samples[0] + 0.8 * parts.interaction[0]
        assert np.var(drawn) == pytest.approx(expected, rel=tolerance), name
        if name != "forgetting":  # the best of several accuracies is larger on a draw
            assert drawn.mean() == pytest.approx(parts.theta.mean(), abs=0.1)


def test_where_orders_decide_it_is_students_interval() -> None:
    theta = generator("t").standard_normal((3, 5))
    parts = paired.Parts(theta, np.full(3, 1e-12), np.zeros(3), 500)
    found, student = paired.interval(parts), ttest_1samp(theta, 0, axis=1)
    limits = student.confidence_interval(0.95)
    np.testing.assert_allclose((found["low"], found["high"]), limits, rtol=1e-6)
    np.testing.assert_allclose(found["p"], student.pvalue, rtol=1e-6)
    alone = paired.interval(paired.Parts(np.array([[1.0]]), np.array([0.25]), np.zeros(1), 1000))
    assert alone["high"][0] == pytest.approx(1 + 1.9623 * 0.5, abs=1e-4)
    none = paired.interval(paired.Parts(np.zeros((1, 5)), np.zeros(1), np.zeros(1), 10))
    assert (none["low"][0], none["high"][0], none["p"][0]) == (0, 0, 1)


def stepwise(p: list[float], level: float) -> set[int]:
    """Return what Holm's procedure rejects, step by step as he states it."""
    rejected: set[int] = set()
    for step, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[index] >= level / (len(p) - step):
            break
        rejected.add(index)
    return rejected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_the_steps_reject(p: list[float]) -> None:
    for level in (0.013, 0.05, 0.31):
        found = {i for i, value in enumerate(paired.holm(p)) if value < level}
        near = any(np.isclose(v * m, level) for v in p for m in range(1, len(p) + 1))
        assert near or found == stepwise(p, level)


def test_holm_by_hand() -> None:
    np.testing.assert_allclose(paired.holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])


METHODS = {"a": 0.0, "b": 0.2, "c": 1.5}


def records(folder: Path, **changes: object) -> list[Path]:
    """Records of three methods over three orders of four classes, two a session, on two data sets."""
    paths = []
    for dataset, n in (("one", 30), ("two", 20)):
        easy = generator(dataset).standard_normal((4, n))
        for method, hard in METHODS.items():
            for order in (1, 2, 3):
                rng = generator(dataset, method, order)
                classes = generator(order).permutation(4)
                scores = easy[classes].ravel() + 0.5 * rng.standard_normal((2, 4 * n))
                hits = scores > hard - 0.8
                hits[0, 2 * n :] = False
                record = {
                    "suite": "toy",
                    "dataset": dataset,
                    "backbone": "net",
                    "method": method,
                    "order": order,
                    "seed": 0,
                    "correct": hits.reshape(2, 4, n).sum(axis=2).tolist(),
                    "test_counts": [n] * 4,
                    "session_of_class": [0, 0, 1, 1],
                    "classes": classes.tolist(),
                    "answers": pack_answers([hits[0, : 2 * n], hits[1]]),
                    "order_sha256": f"order {order}",
                    "test_sha256": f"test {dataset}",
                }
                place = f"{dataset}/{method}/{order}"
                record |= changes.get(place, {})
                paths.append(folder / f"toy/{dataset}/net/{method}/{order}-0.json")
                write_sealed(paths[-1], record)
    return paths


def test_the_frame_has_every_pair_on_every_set_and_their_mean(tmp_path: Path) -> None:
    paths = records(tmp_path)
    table = comparison.compare(paths, steps=True)
    whole = table[table["session"].isna()].set_index(["dataset", "measure", "method", "against"])
    assert len(whole) == 3 * 3 * 3 and len(table) == 27 + 3 * 3 * (2 + 1)
    read = [read_sealed(path, RUN) for path in paths]
    for dataset in ("one", "two"):
        for i, measure in enumerate(("A_bar", "A_last", "forgetting")):
            means = {}
            for method in "ac":
                its = [r for r in read if (r["dataset"], r["method"]) == (dataset, method)]
                accuracy = [session_accuracy(*counts(r)) for r in its]
                forgot = [forgetting(*counts(r))[-1] for r in its]
                values = ([a.mean() for a in accuracy], [a[-1] for a in accuracy], forgot)
                means[method] = np.mean(values[i])
            row = whole.loc[dataset, measure, "a", "c"]
            assert row["difference"] == pytest.approx(means["a"] - means["c"])
            assert row["low"] < row["difference"] < row["high"]
            assert row["p"] <= row["p_holm"] <= 6 * row["p"] + 0.01
    both, one, two = (whole.loc[d, "A_last", "a", "c"] for d in ("all", "one", "two"))
    assert both["difference"] == pytest.approx((one["difference"] + two["difference"]) / 2)
    assert both["high"] - both["low"] < one["high"] - one["low"]
    # three differences of a method from two others on two sets are four; each is corrected in both methods' family
    p = whole["p"].xs("A_last", level="measure").drop("all")
    for (dataset, method, against), value in p.items():
        families = [
            p[[m in key for key in p.index.droplevel("dataset")]] for m in (method, against)
        ]
        corrected = [f.index.get_loc((dataset, method, against)) for f in families]
        expected = max(paired.holm(f)[at] for f, at in zip(families, corrected, strict=True))
        got = whole.loc[dataset, "A_last", method, against]["p_holm"]
        assert len(families[0]) == 4 and got == pytest.approx(expected, rel=0.01), value


def test_a_reader_finds_each_difference_in_both_directions(tmp_path: Path) -> None:
    write_csv(comparison.compare(records(tmp_path), steps=True), tmp_path / "differences.csv")
    found = paired.Differences(pd.read_csv(tmp_path / "differences.csv"), "net")
    there, back = (found.between(*names, "one", "A_last") for names in ("ac", "ca"))
    assert there.difference == -back.difference and there.low == -back.high
    assert there.class_high == -back.class_low and there.p_holm == back.p_holm
    assert (there.verdict, back.verdict) == ("above", "below")
    assert found.between("a", "b", "two", "A_t", session=1).verdict == "tie"
    with pytest.raises(InputError, match="no difference in drift between a and c on one"):
        found.between("a", "c", "one", "drift")


def test_arrays_of_one_file_are_of_the_same_samples(tmp_path: Path) -> None:
    """A method on class tokens of blocks has another hash than one on the last; the manifest has both."""
    paths = records(
        tmp_path, **{f"one/b/{order}": {"test_sha256": "blocks"} for order in (1, 2, 3)}
    )
    manifest = tmp_path / "test.json"
    arrays = {name: {"sha256": name} for name in ("test one", "blocks")}
    manifest.write_text(json.dumps({"arrays": arrays}))
    whole = comparison.compare(records(tmp_path / "same"))
    assert comparison.compare(paths, [manifest])["p"].tolist() == whole["p"].tolist()
    manifest.write_text(json.dumps({"arrays": {"features": arrays["test one"]}}))
    with pytest.raises(
        InputError, match=r"different test samples \(.*test\.json, blocks\)|blocks, "
    ):
        comparison.compare(paths, [manifest])


def test_streams_are_compared_by_what_the_table_of_rates_marks(tmp_path: Path) -> None:
    """The mean of last accuracy on all classes and on those of the first half, at each rate."""
    paths = records(tmp_path)
    for path in paths:
        record = read_sealed(path, RUN)
        run = {key: record.pop(key) for key in ("correct", "answers")}
        write_sealed(path, record | {"runs": [run | {"rates": {"x": rate}} for rate in (0, 0.5)]})
    table = comparison.compare(paths)
    assert set(table["measure"]) == {"A_both"} and len(table) == 2 * 9
    both = {}
    for method in "ab":
        its = [read_sealed(p, RUN) for p in paths if f"two/net/{method}" in p.as_posix()]
        hits = [counts(record | record["runs"][0])[0][-1] / 20 for record in its]
        both[method] = np.mean([50 * (h.mean() + h[:2].mean()) for h in hits])
    write_csv(table, tmp_path / "differences.csv")
    found = paired.Differences(pd.read_csv(tmp_path / "differences.csv"))
    it = found.between("a", "b", "two", "A_both", stress="x", rate=0.5)
    assert it.difference == pytest.approx(both["a"] - both["b"], abs=1e-4)
    with pytest.raises(InputError, match="on two, stress x, rate 1: differences"):
        found.between("a", "b", "two", "A_both", stress="x", rate=1)


def test_streams_in_blocks_are_compared_by_any_time_accuracy(tmp_path: Path) -> None:
    """Blocks 0 and 2 are points, 1 and 2 ends; block 1 has no new class."""
    hits = generator("blocks").random((3, 6)) < 0.6
    session = np.array([0, 0, 0, 0, 2, 2])
    hits[:2, 4:] = False
    found = paired.anytime(hits, session, {"points": [0, 2], "ends": [1, 2]})
    after = [100 * hits[0, :4].mean(), 100 * hits[1, :4].mean(), 100 * hits[2].mean()]
    values = {key: value for (key, _), (value, _) in found.items()}
    assert values == pytest.approx(
        {"A_auc": (after[0] + after[2]) / 2, "A_bar": (after[1] + after[2]) / 2, "A_last": after[2]}
    )
    for _, influence in found.values():
        assert influence.sum() == pytest.approx(0)
    heavy = np.repeat(
        hits, [1, 1, 1, 2, 1, 1], axis=1
    )  # a sample twice moves the value by its influence
    moved = paired.accuracies(heavy, np.repeat(session, [1, 1, 1, 2, 1, 1]))[0][2] - after[2]
    assert moved == pytest.approx(found["A_last", None][1][3] * 6 / 7)
    paths = records(tmp_path)
    for path in paths:
        record = read_sealed(path, RUN)
        keys = ("correct", "answers", "classes", "test_counts", "session_of_class")
        run = {key: record.pop(key) for key in keys}
        blocks = {"rates": {"x": 0.5}, "points": [0], "ends": [0, 1]}
        write_sealed(path, record | {"runs": [run | blocks]})
    table = comparison.compare(paths)
    assert set(table["measure"]) == {"A_auc", "A_bar", "A_last"} and len(table) == 3 * 9


BAD = [
    ({"one/b/2": {"test_sha256": "permuted"}}, "one, 2-0: b and c were run on different test sam"),
    ({"one/b/2": {"order_sha256": "another"}}, "different class orders"),
    ({"two/c/1": {"order": 1, "correct": [[1, 1, 0, 0], [1, 1, 1, 1]]}}, "answers of a record"),
]


def test_answers_that_make_no_pairs_are_refused(tmp_path: Path) -> None:
    for number, (changes, words) in enumerate(BAD):
        paths = records(tmp_path / str(number), **changes)
        with pytest.raises(InputError, match=words):
            comparison.compare(paths)
    paths = records(tmp_path)
    with pytest.raises(InputError, match="c lacks order 3, seed 0, which b has"):
        comparison.compare([p for p in paths if "two/net/c/3" not in p.as_posix()])
    record = json.loads(paths[0].read_text())
    flipped = np.array([*record["answers"]])
    flipped[5] = "A" if flipped[5] != "A" else "B"  # a bit of the compressed text
    paths[0].write_text(json.dumps(record | {"answers": "".join(flipped)}))
    with pytest.raises(InputError, match=r"1-0\.json: not as this project wrote it: .*its seal"):
        comparison.compare(paths)


def difference(value: float, p: float) -> paired.Difference:
    return paired.Difference(value, value - 1, value + 1, value - 2, value + 2, 9.0, p)


def test_a_method_is_tied_with_the_best_if_it_is_not_told_apart() -> None:
    values = pd.DataFrame({"a": [10.0, 12.0], "b": [9.0, 11.0], "c": [7.0, 8.0], "d": [12.0, 10.0]})
    between = {("a", "b"): difference(1, 0.2), ("a", "c"): difference(3.5, 0.04)}
    between |= {("a", "d"): difference(0, 1.0)}
    for sign, higher in ((1, True), (-1, False)):
        told = {
            pair: paired.Difference(
                *(sign * v for v in (d.difference, d.low, d.high)), 0, 0, 9, d.p_holm
            )
            for pair, d in between.items()
        }
        found = paired.against_best(sign * values, higher, lambda *pair, t=told: t[pair])
        assert found["best"].tolist() == [True, False, False, True]
        assert found["tied"].tolist() == [False, True, False, False]
        assert found.loc["c", ["gap", "gap_low", "gap_high"]].tolist() == [3.5, 2.5, 4.5]
    alone = paired.against_best(values, True, None)
    assert not alone["tied"].any() and alone[["gap_low", "gap_high"]].isna().all(axis=None)
    with pytest.raises(
        InputError, match=r"c is 3\.5000 behind a, and differences\.csv says 1\.0000"
    ):
        paired.against_best(values, True, lambda *pair: difference(1.0, 0.1))


@pytest.mark.parametrize("bad", [np.nan, np.inf, "62.5:00", 10**400, "-" + "1" * 400])
def test_a_hole_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="repetition of b"):
        paired.against_best(pd.DataFrame({"a": [1.0, 2.0], "b": [bad, "1"]}), True, None)


def runs(values: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return a frame of runs; values (data sets, pairs) of each method."""
    return pd.DataFrame(
        [
            {"dataset": f"d{i}", "method": method, "order": j, "seed": 0, "A": value}
            for method, table in values.items()
            for (i, j), value in np.ndenumerate(table)
        ]
    )


def test_mean_ranks_and_the_critical_difference() -> None:
    table = np.array([[3.0], [1.0], [5.0], [2.0]])
    frame = runs({"a": table, "b": table - 1, "c": np.array([[1.0], [3.0], [4.0], [1.0]])})
    ranks, difference = across.mean_ranks(frame, "A")
    # a: 1, 2, 1, 1; b: 2, 3, 2.5, 2.5; c: 3, 1, 2.5, 2.5
    assert ranks.to_dict() == {"a": 1.25, "c": 2.25, "b": 2.5}
    # Demšar (2006), table 5: q = 2.343 for three methods
    assert difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 4)), rel=1e-3)


def test_holes_are_refused() -> None:
    hole = runs({"a": np.ones((2, 5)), "b": np.ones((2, 5))}).drop(index=12)
    with pytest.raises(InputError, match="every data set"):
        across.mean_ranks(hole[(hole["dataset"] == "d0") | (hole["method"] == "a")], "A")
