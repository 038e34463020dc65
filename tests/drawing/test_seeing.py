"""Colours that a reader must tell apart, and text that must be read, measured."""

from itertools import product

import pytest
from copies import ROOT

from drawing.seeing import EYES, contrast, distance, nearest
from figures import efficiency, peers, style
from study.pipeline.configuration import load

FIGURES = load(ROOT)["figures"]
# Figures in which a method is known by its colour, marker and name together: methods that one panel may hold.
COLOURED = ["drift", "sessions", "ages", "mechanism", "frontier"]
APART = 15.0  # CIELAB; what looks alike differs by less than 3


def shown(name: str) -> list[str]:
    """Return one method of each entry: the settings of a method share its colour, and never a panel."""
    return list(
        dict.fromkeys(style.family(entry.split(" | ")[0]) for entry in FIGURES[name]["show"])
    )


@pytest.mark.parametrize(("name", "eyes"), [*product(COLOURED, ["common", "protanopia"])])
def test_methods_of_a_panel_differ_in_colour(name: str, eyes: str) -> None:
    colors = [style.LOOKS[method].color for method in shown(name) if method in style.LOOKS]
    least, one, other = nearest(colors, eyes)
    assert least >= APART, (one, other)


@pytest.mark.parametrize("eyes", EYES)
def test_marks_of_the_front_differ_from_the_others(eyes: str) -> None:
    assert distance(efficiency.FRONT, style.QUIET, eyes) >= APART


def test_every_colour_of_text_can_be_read() -> None:
    used = [look.color for look in (*style.LOOKS.values(), *style.SPARE)]
    for color in [*used, *style.ramp(10), style.INK, style.QUIET]:
        assert contrast(style.ink(color)) >= 4.5, color
        assert style.contrast(color) == pytest.approx(contrast(color), rel=0.01)
    assert contrast(style.ink("#D55E00"), peers.BAND) >= 4.4
    assert style.ink("#000000") == "#000000"


def test_distances_are_those_of_the_literature() -> None:
    assert distance("white", "black") == pytest.approx(100, abs=0.1)
    assert distance("#D55E00", "#009E73", "protanopia") < distance("#D55E00", "#009E73")
