"""Sensitivity: what is in which cell, along which axis."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from drawing.conftest import PAIRS
from drawing.test_figures import curves, overlapping
from figures import sensitivity, style
from sparcl.base.errors import InputError

GROUPS = {
    "grid": ["a", "b", "c", "i"],
    "linear": ["a", "d"],
    "ReLU": ["e", "f"],
    "refresh": ["g", "a", "h"],
}
# ridge, tau, m, width, refresh
SETTINGS = {
    "a": (1.0, 0.9, 128, np.nan, 2),
    "b": (0.1, 0.9, 0, np.nan, 2),
    "c": (1.0, 0.5, 0, np.nan, 2),
    "d": (1.0, 0.9, 64, np.nan, 2),
    "e": (0.1, 0.5, np.nan, 2000, 1),
    "f": (0.1, 0.5, np.nan, 64, 1),
    "g": (1.0, 0.9, 0, np.nan, 0),
    "h": (1.0, 0.9, 0, np.nan, 1),
    "i": (0.1, 0.5, 0, np.nan, 2),
}


@pytest.fixture
def given(options: dict) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    runs, diagnostics = [], []
    for dataset in options["datasets"]:
        where = {"suite": "s", "dataset": dataset, "backbone": "net"}
        for rank, (method, values) in enumerate(SETTINGS.items()):
            named = dict(zip(("ridge", "tau", "m", "width", "refresh"), values, strict=True))
            for repeat, (order, seed) in enumerate(PAIRS):
                keys = where | {"method": method, "order": order, "seed": seed, "sessions": 4}
                runs.append(keys | named | {"A_bar": 70.0 + rank + repeat})
        # the second class order was not traced
        for order, kappa in ((1, 5.0), (2, np.nan)):
            for t in (1, 2, 3, 4):
                row = {"order": order, "session": t, "condition": kappa * 10 * t, "kappa": kappa}
                diagnostics.append(where | row)
    frames = {"runs": pd.DataFrame(runs), "diagnostics": pd.DataFrame(diagnostics)}
    return frames, options | {"groups": GROUPS}


def test_panels(given: tuple) -> None:
    figure = sensitivity.draw(*given)
    assert len(figure.axes) == 10 and figure.get_figwidth() == style.PAGE
    grid, bar, width, refresh, condition = figure.axes[:5]
    np.testing.assert_allclose(grid.images[0].get_array(), [[79, 72], [73, 71]])
    assert bar.get_ylim() == (71, 79)
    light = [style.contrast(grid.images[0].cmap(share)[:3]) for share in (0.0, 1.0)]
    assert light[0] > 10 and light[1] < 2  # lighter is better
    assert [t.get_text() for t in grid.get_xticklabels()] == [".50", ".90"]
    assert [t.get_text() for t in grid.get_yticklabels()] == ["0.1", "1"]
    assert [t.get_text() for t in grid.texts] == [
        *("79.0", "± 1.0", "72.0", "± 1.0"),
        *("73.0", "± 1.0", "71.0", "± 1.0"),
    ]
    assert grid.get_title(loc="left") == "Set One, average accuracy (%)"
    np.testing.assert_allclose(curves(width)["linear"].get_xydata(), [[64, 74], [128, 71]])
    np.testing.assert_allclose(curves(width)["ReLU"].get_xydata(), [[64, 76], [2000, 75]])
    np.testing.assert_allclose(curves(refresh)["refresh"].get_ydata(), [78, 71, 77])
    assert [t.get_text() for t in refresh.get_xticklabels()] == ["1", "2", "never"]
    np.testing.assert_allclose(curves(condition)["condition"].get_ydata(), [50, 100, 150, 200])
    np.testing.assert_allclose(curves(condition)["kappa"].get_ydata(), 5)
    assert condition.get_yscale() == width.get_xscale() == "log"
    assert overlapping(figure) == []


def test_an_empty_cell_is_refused(given: tuple) -> None:
    frames, options = given
    groups = GROUPS | {"grid": ["a", "b", "c"]}
    with pytest.raises(InputError, match=r"no method with ridge 0\.1 and tau 0\.5"):
        sensitivity.draw(frames, options | {"groups": groups})
