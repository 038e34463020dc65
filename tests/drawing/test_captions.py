"""Captions say what is drawn: rows of panels, no set or method that is not there, findings that the numbers have."""

import re
from collections.abc import Callable
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from copies import ROOT, loaded

from drawing.conftest import compared
from figures import ages, curves, dilution, drift, efficiency, peers, sessions
from sparcl.base.errors import ConfigError
from study.pipeline.displays import caption
from study.report.differences import ALL, Differences

CONFIG = loaded()
FIGURES = CONFIG["figures"]
PLACES = ("above", "middle", "below")


def rows_said(name: str) -> int:
    """Return how many rows of panels a caption describes; without such words one."""
    words = re.findall(r"[a-z]+", FIGURES[name]["caption"].lower())
    return max(1, sum(place in words for place in PLACES))


def rows_drawn(figure) -> int:
    """Return how many rows of panels with an axis there are."""
    shown = [ax for ax in figure.axes if ax.axison]
    return len({round(ax.get_position().y0, 4) for ax in shown})


def test_a_caption_says_which_rows_of_panels_there_are(frames, options):
    groups = {"One": ["ncm"], "Two": ["acil", "sparcl"]}
    told = options | {"groups": groups, "against": "acil"}
    arrivals = frames["sessions"].rename(columns={"session": "arrival", "A_t": "A_last"})
    costs = [
        {"dataset": "one", "method": m, "tau_post": 0.1 + i, "state_bytes": 10**6 * (1 + i)}
        for i, m in enumerate(["ncm", "acil"])
    ]
    given = compared(frames) | {"arrivals": arrivals}
    given |= dict.fromkeys(("methods", "memory"), pd.DataFrame(costs))
    assert rows_said("efficiency") == 2
    for module in (drift, ages, dilution, peers, efficiency):
        said = rows_said(module.__name__.rpartition(".")[2])
        assert rows_drawn(module.draw(given, told)) == said, module
    assert "A row a data set, from the left: " in FIGURES["sessions"]["caption"]
    assert rows_drawn(sessions.draw(given, told)) == len(options["datasets"]) == 2
    assert rows_drawn(curves.draw(given, told)) == 2 * len(
        groups
    )  # "A group of methods has two rows"


def test_a_caption_names_no_data_set_and_ends():
    labels = "|".join(re.escape(block["label"]) for block in CONFIG["datasets"].values())
    for name, block in FIGURES.items():
        text = block["caption"]
        assert not re.search(rf"\b({labels})\b", text), name
        assert text.endswith(".") and text[0].isupper(), name


def test_suites_of_a_finding_draw_its_figure():
    found = {n: block["finding"] for n, block in FIGURES.items() if "finding" in block}
    found = {n: finding for n, finding in found.items() if "column" not in FIGURES[n]}
    assert set(found) == set(HOLDS)
    for name, finding in found.items():
        for suite in finding["suites"]:
            assert name in CONFIG["suites"][suite]["figures"]
            assert caption(CONFIG, name, suite).startswith(finding["says"])
    assert "SPARCL forgets" not in caption(CONFIG, "sessions", "toy")


def test_one_class_order_has_no_mean():
    said = [caption(CONFIG, name, "official-width") for name in FIGURES]
    assert [
        text for text in said if re.search(r"over 1 |1 class orders|means? over one", text)
    ] == []
    assert "10 sessions, one class order; a band" in caption(CONFIG, "sessions", "official-width")
    assert "means over 5 class orders; a band" in caption(CONFIG, "sessions", "bundled")


def test_an_unknown_field_is_named():
    config = {**CONFIG, "figures": {"drift": {"caption": "{order}"}}}
    with pytest.raises(ConfigError, match=r"drift\.caption has the field 'order'"):
        caption(config, "drift", "bundled")


def table(suite: str, name: str) -> pd.DataFrame:
    return pd.read_csv(ROOT / f"paper/{suite}/summary/{name}.csv")


def chosen(suite: str, *names: str) -> str:
    """Return the first of several methods that a suite runs."""
    return next(name for name in names if name in CONFIG["suites"][suite]["methods"])


def dilution_holds(suite: str) -> bool:
    rows = table(suite, "diagnostics").query("session > 1")
    rows = rows[rows["order"] == rows["order"].min()].dropna(subset=["joint_drift_core"])
    return len(rows) > 0 and (rows["joint_drift_core"] > rows["joint_drift_residual"]).all()


def drift_holds(suite: str) -> bool:
    rows = table(suite, "sessions").query("session > 1 and method != 'ncm'")
    shown = [m for entry in FIGURES["drift"]["show"] for m in entry.split(" | ")]
    means = rows[rows["method"].isin(shown)].groupby(["dataset", "method", "session"])
    half = means["drift_scaled"].mean().unstack()
    middle = half.shape[1] // 2
    return (half.iloc[:, :middle].mean(axis=1) > half.iloc[:, middle:].mean(axis=1)).all()


def sessions_holds(suite: str) -> bool:
    """On the mean over the data sets."""
    ours, joint = chosen(suite, "sparcl", "sparcl-paper"), chosen(suite, "acil", "acil-paper")
    pairs = Differences(table(suite, "differences"))
    return pairs.between(ours, joint, ALL, "forgetting").verdict == "below"


def frontier_holds(suite: str) -> bool:
    """From end to end on each data set, and not from each core to the next larger one."""
    curve, pairs = FIGURES["frontier"]["curve"], Differences(table(suite, "differences"))
    ends, steps = [], []
    for dataset, measure in product(CONFIG["suites"][suite]["datasets"], ("A_bar", "forgetting")):
        ends.append(pairs.between(curve[-1], curve[0], dataset, measure).verdict)
        steps += [pairs.between(b, a, dataset, measure).difference for a, b in pairwise(curve)]
    return set(ends) == {"below"} and max(steps) > 0


def ages_holds(suite: str) -> bool:
    rows = table(suite, "arrivals").groupby(["dataset", "method", "arrival"])["A_last"].mean()
    slope = rows.groupby(["dataset", "method"]).agg(lambda s: np.polyfit(range(len(s)), s, 1)[0])
    slopes = slope.unstack()
    return (slopes["sparcl-paper"] < slopes["acil-paper"]).all()


def mechanism_holds(suite: str) -> bool:
    rows = table(suite, "diagnostics").query("session > 1 and method == 'sparcl-paper'")
    rows = rows.dropna(subset=["joint_drift_core"])
    means = rows.groupby("dataset")[
        ["joint_drift_core", "joint_drift_residual", "drift_core", "drift_residual"]
    ].mean()
    joint = means["joint_drift_core"] > 2 * means["joint_drift_residual"]
    return (joint & (means["drift_core"] < 1e-6 * means["drift_residual"])).all()


def sensitivity_holds(suite: str) -> bool:
    rows = table(suite, "runs")
    rows = rows[rows["method"].isin(FIGURES["sensitivity"]["groups"]["grid"])]
    holds = []
    for _, of_set in rows.groupby("dataset"):
        grid = of_set.pivot_table(index="ridge", columns="tau", values="A_bar")
        holds.append(np.ptp(grid, axis=0).min() > np.ptp(grid, axis=1).max())
    return all(holds)


HOLDS: dict[str, Callable[[str], bool]] = {
    "dilution": dilution_holds,
    "drift": drift_holds,
    "sessions": sessions_holds,
    "frontier": frontier_holds,
    "ages": ages_holds,
    "mechanism": mechanism_holds,
    "sensitivity": sensitivity_holds,
}


MEASURED = [(name, suite) for name in HOLDS for suite in FIGURES[name]["finding"]["suites"]]


@pytest.mark.parametrize(("name", "suite"), MEASURED)
def test_a_finding_is_what_the_numbers_say(name, suite):
    assert HOLDS[name](suite), f"{FIGURES[name]['finding']['says']} ({suite})"
