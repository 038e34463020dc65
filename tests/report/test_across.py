"""Mean ranks over data sets, against definitions and published constants."""

import numpy as np
import pandas as pd
import pytest

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
