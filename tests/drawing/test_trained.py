"""The figure and the table of methods that train the network: seconds, accuracy, what was fitted and kept."""

from io import StringIO
from typing import Any

import pandas as pd
import pytest

from drawing.conftest import DATASETS, PAIRS
from drawing.test_figures import overlapping
from figures import trained, training_table
from sparcl.base.errors import InputError

TRAINED = ["sparcl", "sparcl-paper"]  # in the made-up summaries, the two that train


@pytest.fixture
def given(frames: dict, options: dict) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Two sessions of each run: 10 (i + 1) s each; the first method is underfitted in one, the second keeps images."""
    rows = [
        {
            "suite": "toy", "dataset": dataset, "backbone": "net", "method": method, "order": order,
            "seed": seed, "session": session, "seconds": 10.0 * (i + 1),
            "training_accuracy": 90.0 + 4 * session + 2 * i, "underfitted": int(i == 0 and session == 1),
            "loss": 0.5, "exemplars": 100 * i * session, "trainable_parameters": 10**6 * (i + session),
            "peak_bytes": 2 * 10**9,
        }
        for dataset in DATASETS for i, method in enumerate(TRAINED)
        for order, seed in PAIRS for session in (1, 2)
    ]  # fmt: skip
    caption = {"caption": "Suite {suite}, {backbone}, {sessions}, {orders}."}
    made = {"runs": frames["runs"], "training": pd.DataFrame(rows)}
    return made, options | caption | {"groups": {"Trained": TRAINED}}


def test_points_stand_at_all_seconds_and_lines_at_closed_forms(given: tuple) -> None:
    frames, _ = given
    last = frames["runs"].groupby(["dataset", "method"])["A_last"].mean()
    figure = trained.draw(*given)
    for ax, dataset in zip(figure.axes, DATASETS, strict=True):
        lines = {line.get_label(): line for line in ax.lines}
        for i, method in enumerate(TRAINED):
            (x,), (y,) = lines[method].get_data()
            assert (x, y) == pytest.approx((20 * (i + 1), last[dataset, method]))
        for method in ("ncm", "acil"):
            assert list(lines[method].get_ydata()) == pytest.approx([last[dataset, method]] * 2)
        assert lines["sparcl"].get_markerfacecolor() == "white"
        assert lines["sparcl-paper"].get_markerfacecolor() == trained.TRAINED
        assert (lines["sparcl"].get_marker(), lines["sparcl-paper"].get_marker()) == ("o", "s")
        assert ax.get_xscale() == "log"
        assert {"NCM", "ACIL", "SPARCL", "SPARCL-PAPER"} <= {text.get_text() for text in ax.texts}
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "a session fits less" in said and "square: keeps all images" in said
    assert overlapping(figure) == []


def test_the_table_gathers_sessions_and_orders(given: tuple) -> None:
    made = training_table.texts(*given)
    cells = pd.read_csv(StringIO(made[".csv"]))
    of_set = cells[(cells["part"] == "Set One") & (cells["label"] == "the sparcl")]
    printed = {
        head: float(text) for head, text in zip(of_set["head"], of_set["printed"], strict=True)
    }
    assert printed == {
        "training accuracy": 96, "underfitted": 1, "exemplars": 0, "parameters, M": 2, "seconds": 20, "peak, GB": 2,
    }  # fmt: skip
    assert "the ncm" not in set(cells["label"]) and set(cells["group"]) == {"Trained"}


def test_an_empty_cell_is_refused(given: tuple) -> None:
    frames, options = given
    frames["training"].loc[0, "seconds"] = None
    for make in (trained.draw, training_table.texts):
        with pytest.raises(InputError, match="seconds is empty for dataset one, method sparcl"):
            make(frames, options)
