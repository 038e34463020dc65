"""Small made-up summaries with known numbers."""

from itertools import combinations
from typing import Any

import pandas as pd
import pytest
from copies import ROOT, loaded
from matplotlib.figure import Figure

import figures
from figures import style
from figures.frames import read
from study.pipeline import displays

METHODS = ["ncm", "acil", "sparcl", "sparcl-paper"]
DATASETS = ["one", "two"]
PAIRS = [(1993, 0), (1994, 1), (1995, 2)]
SESSIONS = 4


def _keys(dataset: str, method: str, order: int, seed: int) -> dict[str, Any]:
    names = ("suite", "dataset", "backbone", "method", "order", "seed")
    return dict(zip(names, ("toy", dataset, "net", method, order, seed), strict=True))


def differences(runs: pd.DataFrame, measures: dict[str, str], *at: str) -> pd.DataFrame:
    """Return the differences of means (column -> measure): half a point to each side, told apart if they are more."""
    rows = []
    places = ["suite", "dataset", "backbone", *at]
    for place, of in runs.groupby(places, sort=False):
        means = of.groupby("method")[list(measures)].mean()
        for method, against in combinations(sorted(means.index), 2):
            for column, measure in measures.items():
                row = dict(zip(places, place, strict=True)) | {"session": None}
                row |= {"method": method, "against": against, "measure": measure, "orders": 5}
                row["difference"] = gap = means[column][method] - means[column][against]
                row |= {"low": gap - 0.5, "high": gap + 0.5, "dof": 4}
                row |= {"class_low": gap - 2, "class_high": gap + 2}
                row["p"] = row["p_holm"] = 0.001 if abs(gap) > 0.5 else 0.9
                if "session" in at:
                    row["session"] = place[-1]
                rows.append(row)
    return pd.DataFrame(rows)


def compared(frames: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return frames with the differences of their runs and sessions."""
    columns = {name: name for name in ("A_bar", "A_last", "forgetting")}
    whole = differences(frames["runs"], columns)
    if "sessions" in frames:
        steps = {name: name for name in ("A_t", "forgetting")}
        whole = pd.concat([whole, differences(frames["sessions"], steps, "session")])
    return {**frames, "differences": whole}


@pytest.fixture
def options() -> dict[str, Any]:
    """Labels as the workflow passes them."""
    return {
        "datasets": {
            n.lower(): dict.fromkeys(("label", "short"), f"Set {n}") for n in ("One", "Two")
        },
        "methods": {m: {"label": f"the {m}", "short": m.upper()} for m in METHODS},
        "backbones": {"net": {"label": "Net & Co"}},
        "suite": "toy",
        "sessions": SESSIONS,
        "id": "some",
    }


@pytest.fixture
def frames() -> dict[str, pd.DataFrame]:
    """Runs, sessions, diagnostics and spectrum of two data sets, four methods, three pairs, four sessions."""
    runs, sessions, spectrum, diagnostics = [], [], [], []
    for dataset in DATASETS:
        for rank, method in enumerate(METHODS):
            for repeat, (order, seed) in enumerate(PAIRS):
                keys = _keys(dataset, method, order, seed)
                for t in range(1, SESSIONS + 1):
                    drift = None if t == 1 else 0.1 * rank / t + 0.01 * (repeat - 1)
                    forgetting = 0.0 if t == 1 else 3.0 * t - rank
                    row = {
                        "session": t,
                        "A_t": 90.0 - 5 * t + rank + repeat,
                        "forgetting": forgetting,
                    }
                    sessions.append(keys | row | {"drift_scaled": drift})
                    shift = {"core_rank": 5, "joint_drift_core": 0.2, "joint_drift_residual": 0.1}
                    diagnostics.append(keys | {"session": t} | (shift if t > 1 else {}))
                row = {"A_bar": 80.0 + rank, "A_last": 70.0 + rank, "forgetting": 12.0 - rank}
                runs.append(keys | {"sessions": SESSIONS} | row | {"drift_scaled": 0.01 * rank})
        for t in range(1, SESSIONS + 1):
            for mode in (1, 2, 5, 10, 50):
                old = 100.0 * (t - 1) / mode
                # The last mode is zero up to rounding until the third session.
                value = 100.0 * t / mode if mode < 50 or t > 2 else 1e-13
                row = {"session": t, "mode": mode, "eigenvalue": value}
                if t > 1:
                    old = old if mode < 50 else 1e-13
                    row |= {"old_eigenvalue": old, "shrink_exact": 0.2, "shrink_bound": 0.4}
                spectrum.append(
                    {
                        k: _keys(dataset, "", 1993, 0)[k]
                        for k in ("suite", "dataset", "backbone", "order")
                    }
                    | row
                )
    return {
        name: pd.DataFrame(rows)
        for name, rows in (
            ("runs", runs),
            ("sessions", sessions),
            ("spectrum", spectrum),
            ("diagnostics", diagnostics),
        )
    }


@pytest.fixture(scope="session")
def committed() -> dict[str, Figure]:
    """Every committed figure (suite/figure), drawn from the committed summaries."""
    config, drawn = loaded(), {}
    for path in sorted(ROOT.glob("paper/*/figures/*.pdf")):
        name, suite = path.stem, path.parts[-3]
        files = [ROOT / file for file in displays.frames(config, "figures", name, suite)]
        told = displays.display(config, "figures", name, suite)
        if all(file.exists() for file in files):
            module = figures._module("figure", name, told)
            data = read(files, told["frames"])
            drawn[f"{suite}/{name}"] = module.draw(data, style.literal(told))
    claims = config["figures"]["claims"]
    drawn["claims/claims"] = figures._module("figure", "claims", claims).draw(
        read([ROOT / "paper/claims/claims.csv"]), claims
    )
    return drawn
