"""Paired differences, against scipy and numbers worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from sparcl.base.errors import InputError
from study.report import paired


def test_the_interval_is_that_of_students_test() -> None:
    differences = np.random.default_rng(0).standard_normal((5, 3))
    mean, low, high = paired.interval(differences)
    expected = ttest_1samp(differences, 0).confidence_interval(0.95)
    np.testing.assert_allclose((mean, low, high), (differences.mean(axis=0), *expected))


def test_one_difference_has_no_interval() -> None:
    mean, low, high = paired.interval([2.0])
    assert mean == 2 and np.isnan([low, high]).all()


FIVE = [10.0] * 5  # the best method's values


@pytest.mark.parametrize(
    ("other", "higher", "tied"),
    [
        # d = 1, 2, 3, 4, 5: mean 3, half width 2.7764 * 1.5811 / sqrt(5) = 1.9632
        ([9.0, 8.0, 7.0, 6.0, 5.0], True, False),
        ([11.0, 12.0, 13.0, 14.0, 15.0], False, False),
        # d = -1, 0, 1, 2, 3: mean 1, same width
        ([11.0, 10.0, 9.0, 8.0, 7.0], True, True),
    ],
)
def test_a_method_is_tied_with_the_best_if_the_interval_contains_zero(
    other: list[float], higher: bool, tied: bool
) -> None:
    compared = paired.against_best(pd.DataFrame({"a": FIVE, "b": other}), higher)
    assert compared["best"].tolist() == [True, False]
    assert compared["tied"].tolist() == [False, tied]
    gap = abs(10 - np.mean(other))
    expected = [5, np.mean(other), np.sqrt(2.5), gap, gap - 1.9632, gap + 1.9632]
    columns = ["n", "mean", "std", "gap", "gap_low", "gap_high"]
    assert compared.loc["b", columns].tolist() == pytest.approx(expected, abs=1e-4)


def test_a_constant_lead_is_one_however_wide_the_spread() -> None:
    values = pd.DataFrame({"a": [50.0, 60.0, 70.0, 80.0, 90.0]})
    values["b"] = values["a"] - 0.1
    assert not paired.against_best(values, True)["tied"].any()


def test_fewer_than_five_repetitions_are_not_tested() -> None:
    values = pd.DataFrame({"a": FIVE, "b": [11.0, 10.0, 9.0, 8.0, 7.0]})
    assert paired.against_best(values, True)["tied"].any()
    for n in (1, 2, 4):
        few = paired.against_best(values[::-1][:n], True)
        assert few["best"].tolist() == [True, False] and not few["tied"].any()


def test_equal_means_are_both_the_best() -> None:
    values = pd.DataFrame({"a": [1.0], "b": [1.0001], "c": [1.0001]})
    compared = paired.against_best(values, True)
    assert compared["best"].tolist() == [False, True, True]
    assert compared[["std", "gap_low", "gap_high"]].isna().all(axis=None)


@pytest.mark.parametrize("bad", [np.nan, np.inf, "62.5:00"])
def test_a_hole_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="repetition of b"):
        paired.against_best(pd.DataFrame({"a": [1.0, 2.0], "b": [bad, "1"]}), True)
