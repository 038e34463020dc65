"""Colours that a reader must tell apart, and text that must be read: by contrast (WCAG 2) and distance in CIELAB."""

from collections import defaultdict
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from copies import ROOT, loaded
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from drawing.test_figures import overlapping
from figures import efficiency, peers, style, trained
from figures.vector import GROUND, dark

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
EYES = {
    "common": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}  # fmt: skip
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip


def linear(color: Any) -> np.ndarray:
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(color: Any, eyes: str = "common") -> np.ndarray:
    seen = np.clip(EYES[eyes] @ linear(color), 0, 1)
    xyz = TO_XYZ @ seen / (TO_XYZ @ np.ones(3))
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: Any, other: Any, eyes: str = "common") -> float:
    return float(np.linalg.norm(lab(one, eyes) - lab(other, eyes)))


def contrast(color: Any, ground: Any = "white") -> float:
    light = [float(TO_XYZ[1] @ linear(c)) + 0.05 for c in (color, ground)]
    return max(light) / min(light)


METHODS = {m for suite in loaded()["suites"].values() for m in suite["methods"]}
APART = 15.0  # CIELAB; what looks alike differs by less than 3
# Their methods are named beside each mark: colour says something else there.
NAMED = ("efficiency", "headline", "peers")
# A single class order has no differences, so its rows of peers cannot be drawn again from what is committed.
LACKING = {"official-width/peers"}


def drawn(figure: Figure) -> list[dict[str, tuple]]:
    """Return, for each panel, colour, dashes and marker of each method that is drawn in colour."""
    panels = []
    for ax in figure.axes:
        looks = {}
        for line in ax.lines:
            marker = (line.get_marker(), line.get_markerfacecolor() == "white")
            looks[line.get_label()] = (to_hex(line.get_color()), line.get_linestyle(), marker)
        for bar in ax.patches:
            looks.setdefault(bar.get_label(), (to_hex(bar.get_edgecolor()), "bar", "bar"))
        # Methods that train the network are points of one colour with their names beside them.
        points = to_hex(trained.TRAINED)
        looks = {name if look[0] != points else "trained": look for name, look in looks.items()}
        panels.append({m: look for m, look in looks.items() if m in METHODS or m == "trained"})
    return panels


def test_methods_of_a_panel_differ_in_colour_or_in_dashes_and_marker(
    committed: dict[str, Figure],
) -> None:
    """Two methods of a panel are `APART` for all eyes; variants of one method differ in dashes and marker."""
    colors, close = defaultdict(set), []
    for name, figure in committed.items():
        if name.rpartition("/")[2].removesuffix("-column") in NAMED:
            continue
        for panel in drawn(figure):
            for one, other in combinations(panel, 2):
                (color, *marks), (another, *others) = panel[one], panel[other]
                told = all(mark != its for mark, its in zip(marks, others, strict=True))
                if color == another and told:
                    continue
                least = min(distance(color, another, eyes) for eyes in EYES)
                close += [(name, one, other, round(least, 1))] if least < APART else []
            for method, (color, *_) in panel.items():
                colors[method].add(color)
    assert close == []
    assert {method: of for method, of in colors.items() if len(of) > 1} == {}
    assert len(colors) > 40


def test_every_committed_figure_is_drawn_and_no_text_covers_another(
    committed: dict[str, Figure],
) -> None:
    there = {f"{path.parts[-3]}/{path.stem}" for path in ROOT.glob("paper/*/figures/*.png")}
    assert there - set(committed) == LACKING
    found = {name: overlapping(figure) for name, figure in committed.items()}
    assert {name: pairs for name, pairs in found.items() if pairs} == {}


@pytest.mark.parametrize("eyes", EYES)
def test_marks_of_the_front_differ_from_the_others(eyes: str) -> None:
    assert distance(efficiency.FRONT, style.QUIET, eyes) >= APART


def test_every_colour_of_text_can_be_read() -> None:
    used = [look.color for look in style.LOOKS.values()]
    for color in [*used, *style.ramp(10), style.INK, style.QUIET]:
        assert contrast(style.ink(color)) >= 4.5, color
        assert style.contrast(color) == pytest.approx(contrast(color), rel=0.01)
        assert contrast(dark(to_hex(style.ink(color))), GROUND) >= 4.4, color
        assert contrast(dark(to_hex(color)), GROUND) >= 2.9, color
    assert contrast(style.ink("#D55E00"), peers.BAND) >= 4.4
    assert style.ink("#000000") == "#000000"


def test_distances_are_those_of_the_literature() -> None:
    assert distance("white", "black") == pytest.approx(100, abs=0.1)
    assert distance("#D55E00", "#009E73", "protanopia") < distance("#D55E00", "#009E73")
