"""The figure and the table of streams that go wrong show their summary, and refuse an incomplete one."""

from typing import Any

import pandas as pd
import pytest

from drawing.conftest import differences
from figures import contamination, rates_table
from sparcl.base.errors import InputError

RATES = (0.0, 0.5, 1.0)
PAIRS = [(1993 + i, i) for i in range(5)]


@pytest.fixture
def rates() -> dict[str, pd.DataFrame]:
    rows = []
    for dataset in ("one", "two"):
        for rank, method in enumerate(("ncm", "acil", "sparcl", "sparcl-paper")):
            for order, seed in PAIRS:
                for rate in RATES:
                    keys = {"suite": "toy", "dataset": dataset, "backbone": "net", "method": method}
                    keys |= {"order": order, "seed": seed, "stress": "unannotated", "rate": rate}
                    last = 80 - 10 * rate + rank + 0.1 * seed
                    rows.append(keys | {"A_last": last, "A_old": last - 20 * rate})
    frame = pd.DataFrame(rows)
    both = frame.assign(both=(frame["A_last"] + frame["A_old"]) / 2)
    return {"rates": frame, "differences": differences(both, {"both": "A_both"}, "stress", "rate")}


def test_curves_are_means_over_orders(rates: dict, options: dict[str, Any]) -> None:
    figure = contamination.draw(rates, options)
    assert len(figure.axes) == 4
    upper, lower = figure.axes[:2]
    curve = next(line for line in upper.lines if line.get_label() == "sparcl")
    assert curve.get_xdata() == pytest.approx(RATES)
    assert curve.get_ydata() == pytest.approx([82.2 - 10 * rate for rate in RATES])
    old = next(line for line in lower.lines if line.get_label() == "sparcl")
    assert old.get_ydata() == pytest.approx([82.2 - 30 * rate for rate in RATES])
    assert {text.get_text() for text in upper.texts} >= {"72.2 SPARCL", "70.2 NCM"}


def test_a_table_has_the_measures_that_it_is_told_and_the_first_marks(
    rates: dict, options: dict[str, Any]
) -> None:
    frame = rates["rates"].assign(A_auc=lambda rows: -rows["A_last"])
    frames = {
        "rates": frame,
        "differences": differences(frame, {"A_auc": "A_auc"}, "stress", "rate"),
    }
    options |= {"caption": "", "measures": ["A_auc", "A_last"]}
    table = rates_table.texts(frames, options)[".md"]
    line = next(row for row in table.splitlines() if row.startswith("| the ncm |"))
    assert line == "| the ncm | **-80.2 / 80.2** | **-75.2 / 75.2** | **-70.2 / 70.2** |"


def test_an_incomplete_summary_is_refused(rates: dict, options: dict[str, Any]) -> None:
    frame = rates["rates"]
    gap = frame[~((frame["method"] == "acil") & (frame["rate"] == 1) & (frame["order"] == 1994))]
    with pytest.raises(InputError, match="acil"):
        contamination.draw({"rates": gap}, options)
    two = frame.assign(stress=["a", "b"] * (len(frame) // 2))
    with pytest.raises(InputError, match="several kinds"):
        contamination.draw({"rates": two}, options)
