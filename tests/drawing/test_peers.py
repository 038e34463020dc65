"""A row per method: its mean after the last session, with an interval."""

import numpy as np
import pandas as pd
import pytest

from drawing.conftest import compared
from drawing.test_figures import curves, overlapping
from figures import headline, headline_table, peers, style
from sparcl.base.errors import InputError
from study.report.differences import ALL

GROUPS = {"Means": ["ncm"], "Ridge": ["acil", "sparcl", "elsewhere"], "None": ["elsewhere"]}


@pytest.fixture
def told(frames: dict, options: dict) -> dict:
    spread = frames["runs"].groupby(["dataset", "method"]).cumcount()
    frames["runs"]["A_last"] += spread
    return options | {"groups": GROUPS, "against": "elsewhere | acil"}


def test_dots_and_intervals(frames: dict, told: dict) -> None:
    frames = compared(frames)
    table = frames["differences"]
    table.loc[(table["method"] == "acil") & (table["against"] == "sparcl"), "p_holm"] = 0.2
    figure = peers.draw(frames, told)
    first, second = figure.axes
    drawn = curves(first)
    for rank, method in enumerate(["ncm", "acil", "sparcl"]):
        assert drawn[method].get_xdata()[0] == pytest.approx(71 + rank)
    # the difference to acil, half a point to each side, beside acil's mean
    ends = [line.get_xdata() for line in first.lines if len(line.get_xdata()) == 2]
    assert sum(np.allclose(x, [70.5, 71.5]) for x in ends) == 1
    assert sum(np.allclose(x, [72.5, 73.5]) for x in ends) == 1
    assert drawn["ncm"].get_markerfacecolor() == drawn["ncm"].get_color()  # told apart
    assert drawn["sparcl"].get_markerfacecolor() == drawn["acil"].get_markerfacecolor() == "white"
    assert drawn["reference"].get_xdata()[0] == pytest.approx(72)
    names = [t.get_text() for t in first.texts]
    assert names == ["Means", "NCM", "Ridge", "SPARCL", "ACIL"]
    assert [t.get_text() for t in figure.texts] == ["dotted: ACIL"]
    assert [ax.get_title(loc="left") for ax in (first, second)] == ["Set One", "Set Two"]
    assert overlapping(figure) == []


def test_a_mean_far_below_is_an_arrow(frames: dict, told: dict) -> None:
    runs = frames["runs"]
    equal = runs.query("method == 'acil'").assign(method="equal")
    runs.loc[runs["method"] == "ncm", "A_last"] = 10.0
    told["methods"]["equal"] = {"label": "Equal", "short": "EQUAL"}
    told["groups"] = {"All": list(told["methods"])}
    figure = peers.draw(compared({"runs": pd.concat([runs, equal])}), told)
    assert "ncm" not in curves(figure.axes[0])
    assert " ◂ 10.0" in [t.get_text() for t in figure.axes[0].texts]
    assert figure.axes[0].get_xlim()[0] > 50
    assert overlapping(figure) == []


def test_a_suite_without_the_method_of_the_line_is_refused(frames: dict, told: dict) -> None:
    other = {"against": "elsewhere", "groups": {"M": ["ncm"]}, "id": "peers"}
    with pytest.raises(InputError, match=r"none of elsewhere.*peers\.against"):
        peers.draw(compared(frames), told | other)


def test_methods_that_are_not_registered_take_colours_that_are_free() -> None:
    looks = style.distinct(["sparcl-plus", "own-1", "lda-plain", "flycl", "own-2"])
    assert len({look["color"] for look in looks.values()}) == 5
    assert looks["sparcl-plus"] == style.line("sparcl-plus")
    assert len(style.distinct([f"own-{i}" for i in range(99)])) == 99


def test_the_headline_has_the_mean_and_every_set_and_fills_what_is_told_apart(
    frames: dict, options: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = compared({"runs": frames["runs"]})["differences"]
    mean = table[table["dataset"] == "one"].assign(dataset=ALL)
    mean.loc[mean["method"] == "acil", "p_holm"] = 0.2
    told = options | {"of": "sparcl", "show": ["ncm", "acil", "sparcl", "sparcl-paper"]}
    figure = headline.draw({"differences": pd.concat([table, mean])}, told)
    (ax,) = figure.axes
    drawn = curves(ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "SPARCL-PAPER",
        "ACIL",
        "NCM",
    ]
    assert [drawn[f"{m} all"].get_xdata()[0] for m in ("acil", "ncm")] == pytest.approx([1, 2])
    assert drawn["ncm two"].get_xdata()[0] == pytest.approx(2)
    limits = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
    assert sum(np.allclose(x, [1.5, 2.5]) for x in limits) == 3  # the mean and two data sets
    faces = [drawn[f"{m} all"].get_markerfacecolor() for m in ("acil", "ncm")]
    assert faces == ["white", style.line("sparcl")["color"]]
    assert overlapping(figure) == []
    monkeypatch.setattr(style, "FAR", 0)
    mean["difference"] = mean["difference"].where(mean["method"] != "ncm", -90.0)
    far = headline.draw({"differences": pd.concat([table, mean])}, told)
    assert [t.get_text() for t in far.axes[0].texts] == ["90.0 ▸ "]
    assert "ncm all" not in curves(far.axes[0])
    told |= {"caption": ""}
    for make in (headline.draw, headline_table.texts):
        with pytest.raises(InputError, match="on all"):
            make({"differences": table}, told)
