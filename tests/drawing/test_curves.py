"""Many methods: a row of panels a group, every other method behind it."""

import numpy as np

from drawing.test_figures import curves
from figures import curves as curves_grid
from figures import style

GROUPS = {"Means": ["ncm"], "Ridge": ["acil", "sparcl", "elsewhere"], "None": ["elsewhere"]}


def test_groups_stand_before_the_rest(frames: dict, options: dict) -> None:
    figure = curves_grid.draw(frames, options | {"groups": GROUPS})
    # two groups with methods of the suite, two data sets, two measures, and a field of names each
    assert len(figure.axes) == 2 * 2 * 2 + 2
    accuracy, forgetting = figure.axes[0], figure.axes[2]
    assert list(curves(accuracy)) == ["behind acil", "behind sparcl", "ncm"]
    np.testing.assert_allclose(curves(accuracy)["ncm"].get_ydata(), [86, 81, 76, 71])
    np.testing.assert_array_equal(curves(forgetting)["ncm"].get_xdata(), [2, 3, 4])
    assert [t.get_text() for t in accuracy.texts] == ["71.0"]
    assert accuracy.get_title(loc="left") == "Means" and forgetting.get_ylabel() == "forgetting"
    names = figure.axes[-1]
    assert [t.get_text() for t in names.texts] == ["SPARCL", "ACIL"]  # 73 before 72
    for method, line in curves(names).items():
        assert line.get_color() == style.distinct([method])[method]["color"]
    assert [text.get_text() for text in figure.texts] == ["Set One", "Set Two"]
    assert figure.get_figwidth() == style.PAGE
