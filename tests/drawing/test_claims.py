"""A strip a claim: where the predicate holds, where the values are, what the verdict is."""

import numpy as np
import pandas as pd
import pytest

from drawing.test_figures import overlapping
from figures import claims, style
from sparcl.base.errors import InputError

NAMES = ["is-large", "is-small", "lies-between", "elsewhere"]
TITLES = {name: name.replace("-", " ").capitalize() for name in NAMES}


def row(
    claim: str,
    judge: str,
    verdict: str,
    mean: float,
    std: float,
    dataset: str = "one",
    limits: tuple[float, float] = (np.nan, np.nan),
) -> dict:
    keys = {
        "number": f"C{NAMES.index(claim) + 1}",
        "id": claim,
        "topic": "Size" if claim.startswith("is") else "Place",
    }
    keys |= {"judge": judge, "verdict": verdict, "dataset": dataset}
    measured = {"mean": mean, "std": std, "n": 0 if np.isnan(mean) else 3}
    measured |= {"low": limits[0], "high": limits[1], "told": int(verdict != "undecided")}
    return keys | measured | {"satisfied": int(verdict == "holds")}


@pytest.fixture
def ledger() -> pd.DataFrame:
    return pd.DataFrame(
        [
            row("is-large", "above 1", "holds", 2.0, 0.5),
            row("is-large", "above 1", "holds", 3.0, np.nan, "two"),
            row("is-small", "below -2", "does not hold", 4.0, 1.0),
            row("lies-between", "between -1 and 1", "undecided", 0.0, 0.5, limits=(-2.0, 2.0)),
            row("elsewhere", "above 0", "not measurable here", np.nan, np.nan, ""),
        ]
    )


def test_strips(ledger: pd.DataFrame) -> None:
    figure = claims.draw({"claims": ledger}, {"names": TITLES})
    assert figure.get_figwidth() == style.PAGE
    (ax,) = figure.axes
    allowed = {patch.get_label(): patch for patch in ax.patches}
    assert list(allowed) == ["is-large", "is-small", "lies-between"]
    points = {
        line.get_label(): line for line in ax.lines if not line.get_label().startswith("_child")
    }
    assert list(points) == ["is-large one", "is-large two", "is-small one", "lies-between one"]
    for name, inside in (("is-large one", True), ("is-small one", False)):
        box, x = allowed[name.rsplit(" ", 1)[0]], points[name].get_xdata()[0]
        assert (box.get_x() <= x <= box.get_x() + box.get_width()) == inside
    # from the threshold 1 to the farthest value 3: 2 is in the middle of what is not padding
    wide = claims.RIGHT - claims.LEFT
    assert points["is-large one"].get_xdata()[0] == pytest.approx(claims.LEFT + wide / 2)
    assert points["is-large two"].get_xdata()[0] == pytest.approx(
        claims.LEFT + (1 - claims.PAD) * wide
    )
    (bar,) = [
        line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_color() == "#D55E00"
    ]
    assert np.ptp(bar.get_xdata()) == pytest.approx(2 / 7 * (1 - 2 * claims.PAD) * wide)
    assert points["is-small one"].get_markerfacecolor() == "white"
    written = [text.get_text() for text in ax.texts]
    assert [text for text in written if text[0] == "C"] == ["C1", "C2", "C3", "C4"]
    tally = "Of 4 claims 1 hold, 1 do not, 1 are undecided, 1 cannot be measured here"
    assert tally in written
    assert {"Size: 1 of 2 hold", "Place: 0 of 2 hold"} <= {*written}
    assert {"1", "3", "−2", "5", "2"} <= {*written}  # the ends of the scales
    bar, _ = [line for line in ax.lines if line.get_color() == "#0072B2"]
    assert np.ptp(bar.get_xdata()) == pytest.approx((1 - 2 * claims.PAD) * wide)  # its interval
    for text in ("Is large", "> 1", "< −2", "−1 … 1", "not measurable here"):
        assert text in written
    assert [written.count(word) for word in ("holds", "undecided", "fails", "–")] == [1, 1, 1, 1]
    assert "In a strip from above: one, two, as far as measured" in written
    assert overlapping(figure) == []


def test_bounds_read_every_predicate() -> None:
    assert claims.bounds("above 1e-10") == (1e-10, np.inf, "> $10^{-10}$")
    assert claims.bounds("below 1.25")[2] == "< 1.25"
    assert claims.bounds("below 0.5")[:2] == (-np.inf, 0.5)
    assert claims.bounds("between 40 and 120")[:2] == (40, 120)


def test_a_claim_without_a_name_is_refused(ledger: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="names lacks elsewhere, lies-between"):
        claims.draw({"claims": ledger}, {"names": {"is-large": "", "is-small": ""}})
