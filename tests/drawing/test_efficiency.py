"""Efficiency: every measured method at its cost and accuracy."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from copies import ROOT, loaded
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Annotation, Text

from drawing.test_figures import overlapping
from figures import efficiency, style
from figures.frames import read
from sparcl.base.errors import InputError
from study.pipeline import displays

MEASURED = ["ncm", "acil", "sparcl"]


@pytest.fixture
def given(frames: dict, options: dict) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Costs of one of two data sets, and of a method that the suite does not have."""
    costs = pd.DataFrame(
        [
            {"dataset": "one", "method": m, "tau_post": 0.01 * 4**i, "state_bytes": 10**6 * 4**i}
            for i, m in enumerate([*MEASURED, "elsewhere"])
        ]
    )
    return {"runs": frames["runs"], "methods": costs, "memory": costs}, options


def points(ax: Any) -> dict[str, tuple[float, float]]:
    return {
        line.get_label(): (line.get_xdata()[0], line.get_ydata()[0])
        for line in ax.lines
        if line.get_label() in (*MEASURED, "sparcl-paper")
    }


def test_points_of_both_costs(given: tuple) -> None:
    figure = efficiency.draw(*given)
    seconds, bytes_kept = figure.axes
    expected = {m: (0.01 * 4**i, 80 + i) for i, m in enumerate(MEASURED)}
    assert points(seconds) == {m: pytest.approx(at) for m, at in expected.items()}
    assert points(bytes_kept)["sparcl"] == pytest.approx((16, 82))
    for ax in figure.axes:
        assert ax.get_xscale() == "log"
        assert {"NCM", "ACIL", "SPARCL"} <= {t.get_text() for t in ax.texts}
    (buffer,) = [line for line in bytes_kept.lines if line.get_label() == "exemplars"]
    np.testing.assert_allclose(buffer.get_xdata(), 301.056)
    assert bytes_kept.get_xlim()[1] > 301.056 and seconds.get_xlim()[0] < 0.01
    assert seconds.get_title(loc="left") == "Set One"
    assert [text.get_text() for text in figure.texts] == ["not timed: SPARCL-PAPER"]
    assert figure.get_figwidth() == style.PAGE
    assert overlapping(figure) == []


def test_the_front_and_what_lies_far_below() -> None:
    points = pd.DataFrame(
        {"cost": [1.0, 2.0, 2.0, 3.0, 4.0], "A_bar": [70.0, 75.0, 74.0, 75.0, 76.0]},
        index=list("abcde"),
    )
    assert list(efficiency.front(points).index) == ["a", "b", "e"]
    values = pd.Series([20.0, 70.0, 71.0, 72.0, 73.0])
    assert list(style.near(values)) == [False, True, True, True, True]


def test_committed_names_touch_no_mark_and_no_dotted_line() -> None:
    config = loaded()
    told = displays.display(config, "figures", "efficiency", "matched")
    paths = [ROOT / path for path in displays.frames(config, "figures", "efficiency", "matched")]
    figure = efficiency.draw(read(paths, told["frames"]), told)
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.canvas.draw()
    for ax in figure.axes:
        names = [text for text in ax.texts if isinstance(text, Annotation)]
        marks = [line for line in ax.lines if line.get_linestyle() == "None"]
        around = [mark.get_window_extent(renderer) for mark in marks]
        dotted = [
            line.get_window_extent(renderer) for line in ax.lines if line.get_label() == "exemplars"
        ]
        assert len(around) == len(names) > 10
        for name in names:
            box = Text.get_window_extent(name, renderer)
            for other in (*around, *dotted):
                apart = max(
                    box.x0 - other.x1, other.x0 - box.x1, box.y0 - other.y1, other.y0 - box.y1
                )
                assert apart > 0, name.get_text()


def test_seconds_alone_of_every_method(given: tuple) -> None:
    frames, options = given
    costs = frames["methods"].replace({"elsewhere": "sparcl-paper"})
    figure = efficiency.draw({"runs": frames["runs"], "methods": costs}, options)
    assert [ax.get_xlabel() for ax in figure.axes] == ["seconds per session, after extraction"]
    assert figure.texts == []


def test_costs_of_no_data_set_of_the_suite_and_a_lost_column_are_refused(given: tuple) -> None:
    frames, options = given
    costs = frames["methods"]
    for other, words in (
        (costs.assign(dataset="three"), "no data set of the suite"),
        (costs.drop(columns="tau_post"), "no column tau_post"),
    ):
        with pytest.raises(InputError, match=words):
            efficiency.draw(frames | {"methods": other}, options)
