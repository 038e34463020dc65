"""Comparisons over data sets, against definitions, scipy and published constants."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from sparcl.base.errors import InputError
from study.report import across


def runs(values: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return a frame of runs; values (data sets, pairs) of each method."""
    return pd.DataFrame(
        [
            {"dataset": f"d{i}", "method": method, "order": j, "seed": 0, "A": value}
            for method, table in values.items()
            for (i, j), value in np.ndenumerate(table)
        ]
    )


def test_wins_ties_and_losses() -> None:
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((3, 6))
    own = 70 + rng.standard_normal((3, 6))
    shift = np.array([[9.0], [0.0], [-9.0]])
    frame = runs({"own": own, "other": own - shift + noise, "same": own})
    tests = across.paired_tests(frame, "own", "A")
    p = [ttest_rel(own[i], (own - shift + noise)[i]).pvalue for i in range(3)]
    assert tests["against"].tolist() == ["other"] * 3 + ["same"] * 3
    np.testing.assert_allclose(tests["p"], [*p, 1, 1, 1])
    np.testing.assert_allclose(tests["p_holm"], across.holm([*p, 1, 1, 1]))
    counts = across.wins(tests)
    assert counts.loc["other"].tolist() == [1, 1, 1] and counts.loc["same"].tolist() == [0, 3, 0]
    swapped = across.paired_tests(frame, "own", "A", higher_is_better=False)
    turned = {"win": "loss", "loss": "win", "tie": "tie"}
    assert swapped["verdict"].tolist() == tests["verdict"].map(turned).tolist()


def test_mean_ranks_and_the_critical_difference() -> None:
    table = np.array([[3.0], [1.0], [5.0], [2.0]])
    frame = runs({"a": table, "b": table - 1, "c": np.array([[1.0], [3.0], [4.0], [1.0]])})
    ranks, difference = across.mean_ranks(frame, "A")
    # a: 1, 2, 1, 1; b: 2, 3, 2.5, 2.5; c: 3, 1, 2.5, 2.5
    assert ranks.to_dict() == {"a": 1.25, "c": 2.25, "b": 2.5}
    # Demšar (2006), table 5: q = 2.343 for three methods
    assert difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 4)), rel=1e-3)


def test_too_few_pairs_and_holes_are_refused() -> None:
    few = runs({"a": np.ones((1, 4)), "b": np.ones((1, 4))})
    with pytest.raises(InputError, match="d0 has 4 pairs"):
        across.paired_tests(few, "a", "A")
    hole = runs({"a": np.ones((2, 5)), "b": np.ones((2, 5))}).drop(index=12)
    with pytest.raises(InputError, match="d0: not every method"):
        across.paired_tests(hole, "a", "A")
    with pytest.raises(InputError, match="every data set"):
        across.mean_ranks(hole[(hole["dataset"] == "d0") | (hole["method"] == "a")], "A")
