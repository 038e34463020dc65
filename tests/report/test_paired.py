"""Paired differences, against scipy and numbers worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from sparcl.base.errors import InputError
from sparcl.report import paired


def test_the_interval_is_that_of_students_test() -> None:
    differences = np.random.default_rng(0).standard_normal((5, 3))
    mean, low, high = paired.interval(differences)
    expected = ttest_1samp(differences, 0).confidence_interval(0.95)
    np.testing.assert_allclose((mean, low, high), (differences.mean(axis=0), *expected))


def test_one_difference_has_no_interval() -> None:
    mean, low, high = paired.interval([2.0])
    assert mean == 2 and np.isnan([low, high]).all()


@pytest.mark.parametrize(
    ("other", "higher", "tied"),
    [
        # d = 1, 2, 3: mean 2, half width 4.3027 / sqrt(3) = 2.4842
        ([9.0, 8.0, 7.0], True, True),
        # d = 2, 3, 4
        ([8.0, 7.0, 6.0], True, False),
        ([12.0, 13.0, 14.0], False, False),
    ],
)
def test_a_method_is_tied_with_the_best_if_the_interval_contains_zero(
    other: list[float], higher: bool, tied: bool
) -> None:
    values = pd.DataFrame({"a": [10.0, 10.0, 10.0], "b": other})
    compared = paired.against_best(values, higher)
    assert compared["best"].tolist() == [True, tied]
    gap = abs(10 - np.mean(other))
    expected = [3, np.mean(other), 1, gap, gap - 2.4842, gap + 2.4842]
    columns = ["n", "mean", "std", "gap", "gap_low", "gap_high"]
    assert compared.loc["b", columns].tolist() == pytest.approx(expected, abs=1e-4)


def test_a_constant_lead_is_one_however_wide_the_spread() -> None:
    values = pd.DataFrame({"a": [50.0, 60.0, 70.0], "b": [49.9, 59.9, 69.9]})
    assert paired.against_best(values, True)["best"].tolist() == [True, False]


def test_one_repetition_marks_equal_values_alone() -> None:
    values = pd.DataFrame({"a": [1.0], "b": [1.0001], "c": [1.0001]})
    compared = paired.against_best(values, True)
    assert compared["best"].tolist() == [False, True, True]
    assert compared[["std", "gap_low", "gap_high"]].isna().all(axis=None)


@pytest.mark.parametrize("bad", [np.nan, np.inf, "62.5:00"])
def test_a_hole_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="repetition of b"):
        paired.against_best(pd.DataFrame({"a": [1.0, 2.0], "b": [bad, "1"]}), True)
