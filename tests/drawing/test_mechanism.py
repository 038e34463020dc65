"""The mechanism's three panels: eigenvalues, drift split by the core, prototype cosines."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from drawing.test_figures import curves, overlapping
from figures import mechanism, style
from sparcl.base.errors import InputError

METHODS = ["acil-paper", "sparcl-paper", "ranpac"]


@pytest.fixture
def given(frames: dict, options: dict) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Three methods; joint ridge moves 3 along the core and 4 beside it, SPARCL 0 and 5."""
    sessions = frames["sessions"].query("method != 'ncm'").copy()
    names = dict(zip(["acil", "sparcl", "sparcl-paper"], METHODS, strict=True))
    sessions["method"] = sessions["method"].map(names)
    rows = sessions.drop(columns=["A_t", "forgetting", "drift_scaled"])
    later = rows["session"] > 1
    joint, ours = later & (rows["method"] == "acil-paper"), rows["method"] != "ranpac"
    rows = rows.assign(joint_drift_core=0.3, joint_drift_residual=0.4)
    rows = rows.assign(prototype_cosine=0.6, expanded_prototype_cosine=0.7)
    rows["drift_core"] = np.where(later & ours, 0.0, np.nan)
    rows["drift_residual"] = np.where(joint, 0.2, np.where(later & ours, 5.0, np.nan))
    rows["k"] = rows["method"].map({"acil-paper": 0, "sparcl-paper": 3})
    options["methods"] = {m: {"label": m, "short": m.upper()} for m in METHODS}
    options |= {"show": METHODS, "expanding": ["ranpac"]}
    spectrum = frames["spectrum"].query("mode < 50")
    return {"sessions": sessions, "diagnostics": rows, "spectrum": spectrum}, options


def bars(ax: Any) -> dict[str, float]:
    return {c.get_label(): c.patches[0].get_width() for c in ax.containers}


def test_panels(given: tuple) -> None:
    figure = mechanism.draw(*given)
    assert len(figure.axes) == 6 + 2  # and a key below the bars and the curves
    bar_key, curve_key = figure.axes[6:]
    assert [t.get_text() for t in curve_key.texts] == ["features", "RANPAC"]
    assert "a method without a core" in [t.get_text() for t in bar_key.texts]
    spectra, drift, cosines = figure.axes[:3]
    assert list(curves(spectra)) == ["mode 1", "mode 5"]
    np.testing.assert_allclose(curves(spectra)["mode 5"].get_ydata(), [20, 40, 60, 80])
    assert spectra.get_yscale() == "log"
    assert list(curves(cosines)) == ["features", "ranpac"]
    np.testing.assert_allclose(curves(cosines)["features"].get_ydata(), 0.6)
    np.testing.assert_allclose(curves(cosines)["ranpac"].get_ydata(), 0.7)
    # 10 rank / t over t = 2, 3, 4 and the share 9 / 25 of the squares
    total = {m: 10 * rank * (1 / 2 + 1 / 3 + 1 / 4) / 3 for rank, m in enumerate(METHODS, 1)}
    expected = total | {"acil-paper core": 0.36 * total["acil-paper"], "sparcl-paper core": 0}
    assert bars(drift) == pytest.approx(expected)
    assert drift.get_xlim()[0] == 0 and drift.get_xlim()[1] > max(total.values())
    assert drift.texts[1].get_text() == f"{total['sparcl-paper']:.1f}"
    assert drift.texts[1].get_color() == style.ink(style.line("sparcl-paper")["color"])
    assert [t.get_text() for t in drift.get_yticklabels()] == [m.upper() for m in METHODS]
    # orders differ by one point each way: a whisker of one deviation
    whisker = drift.lines[1].get_xdata()
    np.testing.assert_allclose(np.ptp(whisker), 2)
    assert overlapping(figure) == []


def test_a_missing_split_is_refused(given: tuple) -> None:
    frames, options = given
    frames["diagnostics"].loc[frames["diagnostics"]["session"] == 3, "joint_drift_core"] = np.nan
    with pytest.raises(InputError, match="joint_drift_core is empty for dataset one"):
        mechanism.draw(frames, options)
