"""What the frontier, the ages and the increments show is what the summaries say."""

from typing import Any

import pytest

from drawing.conftest import compared
from figures import ages, core_size, frontier, increments_table
from sparcl.base.errors import InputError


def line(figure: Any, panel: int, name: str) -> Any:
    (found,) = [item for item in figure.axes[panel].lines if item.get_label() == name]
    return found


def test_frontier_draws_the_curve_in_order_and_other_methods_as_points(
    frames: dict, options: dict
) -> None:
    runs = frames["runs"].assign(tau=[0.1 * rank for rank in range(4) for _ in range(3)] * 2)
    options |= {"show": ["ncm", "acil"], "curve": ["sparcl-paper", "sparcl"]}
    figure = frontier.draw({"runs": runs}, options)
    assert len(figure.axes) == 2
    for panel in (0, 1):
        curve = line(figure, panel, "curve")
        assert list(curve.get_xdata()) == pytest.approx([9, 10])
        assert list(curve.get_ydata()) == pytest.approx([83, 82])
        point = line(figure, panel, "acil")
        assert (point.get_xdata()[0], point.get_ydata()[0]) == pytest.approx((11, 81))
        written = {text.get_text() for text in figure.axes[panel].texts}
        assert {"0.3", "0.2", "NCM", "ACIL"} <= written


def test_core_size_draws_means_by_size_beside_level_lines(frames: dict, options: dict) -> None:
    curve = ["sparcl-paper", "sparcl"]
    runs = frames["runs"].assign(k=[8 * rank for rank in range(4) for _ in range(3)] * 2)
    figure = core_size.draw(
        {"runs": runs}, options | {"show": ["acil"], "curve": curve, "against": "sparcl"}
    )
    means = runs.groupby(["dataset", "method"])["A_last"].mean()
    for panel, dataset in enumerate(options["datasets"]):
        drawn = line(figure, panel, "curve")
        assert list(drawn.get_xdata()) == [0, 1]
        assert list(drawn.get_ydata()) == pytest.approx([means[dataset, m] for m in curve])
        assert set(line(figure, panel, "acil").get_ydata()) == {means[dataset, "acil"]}
        assert list(line(figure, panel, "default").get_xdata()) == [1]
        assert figure.axes[panel].get_xticklabels()[0].get_text() == "0"
    with pytest.raises(InputError, match="k is empty"):
        core_size.draw(
            {"runs": runs.assign(k=None)},
            options | {"show": ["acil"], "curve": ["sparcl"], "against": "sparcl"},
        )


def test_ages_are_means_over_pairs_by_arrival(frames: dict, options: dict) -> None:
    arrivals = frames["sessions"].rename(columns={"session": "arrival", "A_t": "A_last"})
    figure = ages.draw({"arrivals": arrivals}, options | {"show": ["sparcl", "ncm"]})
    for panel in (0, 1):
        # 90 - 5 t + rank + repeat, repeats 0, 1, 2
        curve = line(figure, panel, "sparcl")
        assert list(curve.get_xdata()) == [1, 2, 3, 4]
        assert list(curve.get_ydata()) == pytest.approx([88, 83, 78, 73])


def test_increments_need_every_difference(frames: dict, options: dict) -> None:
    options |= {"caption": "", "compare": {"of": "sparcl", "against": ["acil", "ncm"]}}
    table = compared({"runs": frames["runs"]})["differences"]
    with pytest.raises(InputError, match="between ncm and sparcl on all"):
        increments_table.texts({"differences": table}, options)
