"""A stream of one session: nothing is old, so nothing moves or is forgotten, and every figure says so."""

import numpy as np
import pandas as pd
import pytest

from drawing.conftest import compared
from drawing.test_figures import curves, overlapping
from figures import (
    ages,
    dilution,
    drift,
    frontier,
    main_table,
    mechanism,
    ranks_table,
    sessions,
    sessions_table,
)
from figures import (
    curves as curves_grid,
)
from figures.panels import ALONE


@pytest.fixture
def one(frames: dict) -> dict[str, pd.DataFrame]:
    """Return the summaries of streams that end with their first session."""
    kept = {
        n: frames[n].query("session == 1").copy() for n in ("sessions", "spectrum", "diagnostics")
    }
    kept["sessions"]["forgetting"] = np.nan
    runs = frames["runs"].assign(sessions=1, forgetting=np.nan, drift_scaled=np.nan, tau=0.9)
    arrivals = kept["sessions"].rename(columns={"session": "arrival", "A_t": "A_last"})
    return compared(kept | {"runs": runs, "arrivals": arrivals})


@pytest.fixture
def told(options: dict) -> dict:
    caption = {"caption": "{suite}, {orders} orders", "sessions": 1, "curve": ["sparcl"]}
    groups = {"groups": {"Means": ["ncm"], "Ridge": ["acil", "sparcl", "sparcl-paper"]}}
    return options | caption | groups | {"show": ["ncm", "acil", "sparcl"]}


def test_a_panel_without_old_classes_says_so_and_a_single_point_is_visible(one, told):
    for module, empty in (
        (drift, 2),
        (sessions, 2),
        (curves_grid, 4),
        (frontier, 2),
        (dilution, 4),
        (ages, 0),
    ):
        figure = module.draw(one, told)
        said = [ax for ax in figure.axes if ALONE in [t.get_text() for t in ax.texts]]
        assert len(said) == empty, module
        assert all(not ax.get_lines() for ax in said)
        assert overlapping(figure) == []
        if module in (sessions, curves_grid, ages):
            drawn = curves(figure.axes[0])["ncm"]  # dotted and without a marker elsewhere
            assert drawn.get_marker() == "o" and len(drawn.get_xdata()) == 1


def test_the_mechanism_of_one_session(one, told):
    rows = one["sessions"].query("method != 'ncm'").drop(columns=["drift_scaled"])
    rows = rows.assign(prototype_cosine=0.6, expanded_prototype_cosine=0.7, k=0)
    for column in ("drift_core", "drift_residual", "joint_drift_core", "joint_drift_residual"):
        rows[column] = np.nan
    given = {"sessions": one["sessions"], "diagnostics": rows, "spectrum": one["spectrum"]}
    figure = mechanism.draw(given, told | {"show": ["acil", "sparcl"], "expanding": ["sparcl"]})
    said = [ax for ax in figure.axes if ALONE in [t.get_text() for t in ax.texts]]
    assert len(said) == 2
    assert overlapping(figure) == []


def test_tables_have_a_dash_where_nothing_is_old(one, told):
    made = main_table.texts(one, told | {"id": "main"})
    forgetting = made[".md"].partition("forgetting, points")[2]
    assert "| the acil | – | – |" in forgetting
    assert "| the acil | 71.0 ± 0.0 | 71.0 ± 0.0 |" in made[".md"]
    assert "no block features" not in made[".tex"]
    assert "| ACIL | " in sessions_table.texts(one, told)[".md"]


def test_ranks_of_one_session(one, told):
    rows = pd.concat([one["runs"].assign(order=order, seed=0) for order in (1, 2)])
    rows["order"] = 10 * rows["order"] + rows.groupby(["dataset", "method", "order"]).cumcount()
    rows["A_bar"] += rows["order"] * 0.1
    rows["A_last"] += rows["order"] * 0.1
    made = ranks_table.texts(compared({"runs": rows}), told | {"of": "sparcl"})
    assert [line.rpartition("| ")[2] for line in made[".md"].splitlines()[4:]] == ["– |"] * 3


def test_a_lost_number_is_refused_in_a_longer_stream(frames, told):
    frames["runs"].loc[3, "forgetting"] = np.nan
    with pytest.raises(Exception, match="forgetting is empty"):
        main_table.texts(frames, told | {"id": "main"})
