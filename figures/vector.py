"""A figure as SVG for pages: compact, with its own font, in the light and the dark of the page that shows it.

A browser tells an image of SVG which of both the page is in, by the page's `color-scheme`.
"""

import colorsys
import re
from base64 import b64encode
from functools import cache
from io import BytesIO, StringIO
from pathlib import Path

import matplotlib
import numpy as np
from fontTools import subset
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont

from figures.style import contrast

GROUND = "#1a1a1a"  # for white
PALE, SEEN = 1.3, 3.0  # contrast: at most of a field behind others; at least of a line in the dark
FAMILY = "STIXGeneral"
# CSS descriptors of a face -> how the SVG of matplotlib says that it is used.
FACES = {
    "": FAMILY,
    "font-style:italic": "font-style: italic",
    "font-weight:700": "font-weight: 700",
}
LEFT_OUT = re.compile(
    r"<metadata>.*?</metadata>|<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|"
    r' transform="rotate\(-?0 [^"]*\)"',
    re.DOTALL,
)
LONG = re.compile(r"-?\d+\.\d{3,}(?![\de])")
COLOR = re.compile(r"(fill|stroke): (#[0-9a-f]{6})")


@cache
def dark(color: str) -> str:
    """Return a colour of the same hue whose contrast with a dark ground is that of ``color`` with white."""
    hue, _, saturation = colorsys.rgb_to_hls(*to_rgb(color))
    shades = [colorsys.hls_to_rgb(hue, light, saturation) for light in np.linspace(0, 1, 128)]
    wanted, ground = contrast(color), contrast(GROUND)
    wanted = wanted if wanted < PALE else max(wanted, SEEN)
    return to_hex(min(shades, key=lambda shade: abs(ground / contrast(shade) - wanted)))


def svg(figure: Figure) -> str:
    """Return a figure as SVG; equal figures give equal texts.

    One with pixels, a heat map, stays light: its colours are no part of the text.
    """
    drawn = StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "sparcl"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    text = LEFT_OUT.sub("", drawn.getvalue())
    text = re.sub("<[^>]*>", lambda tag: LONG.sub(_rounded, tag[0]), text)
    kept = set(re.findall(r"#([\w.-]+)", text))
    text = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in kept else "", text)
    text = re.sub(r"\s*\n\s*", " ", text).replace("> <", "><").strip()
    faces = [_face(rule, text) for rule, used in FACES.items() if used in text]
    styles: dict[str, int] = {}
    text = re.sub(
        r' style="([^"]*)"',
        lambda match: f' class="s{styles.setdefault(match[1], len(styles))}"',
        text,
    )
    # What has no colour is black, by the default of SVG.
    light, turned = [], [f"svg{{fill:{dark('#000000')}}}"]
    for style, i in styles.items():
        whole = style.replace(f"'{FAMILY}'", f"{FAMILY},Times,serif")
        light.append(f".s{i}{{{whole}}}")
        if colors := COLOR.findall(style):
            rule = ";".join(f"{name}:{dark(color)}" for name, color in colors)
            turned.append(f".s{i}{{{rule}}}")
    rules = "".join(light)
    if "<image" not in text:
        rules += f"@media screen and (prefers-color-scheme:dark){{{''.join(turned)}}}"
    return _short(text.replace("</style>", f"{rules}{''.join(faces)}</style>", 1)) + "\n"


def _rounded(number: re.Match[str]) -> str:
    """Return a place with two decimals."""
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _short(text: str) -> str:
    """Return an SVG without groups that say nothing, with short names and paths."""
    parts, said = [], []
    for part in re.split(r"(</?g\b[^>]*>)", re.sub(r"<g\b[^>]*/>", "", text)):
        if part.startswith("<g"):
            said.append(part != "<g>")
        if part not in ("<g>", "</g>") or (part == "</g>" and said.pop()):
            parts.append(part)
    text = re.sub(r'<g clip-path="[^"]*"></g>', "", "".join(parts)).replace("xlink:href", "href")
    names: dict[str, int] = {}
    text = re.sub(
        r'(?<=#)[mp][0-9a-f]{10}\b|(?<=id=")[mp][0-9a-f]{10}\b',
        lambda match: f"i{names.setdefault(match[0], len(names))}",
        text,
    )
    return re.sub(r' d="([^"]*)"', lambda match: f' d="{_path(match[1])}"', text)


def _path(steps: str) -> str:
    """Return the steps of a path without blanks beside letters; a further line has no letter."""
    return re.sub(r" ?([A-Za-z]) ?", r"\1", re.sub(r"(?<=\d) L ", " ", steps)).strip()


def _face(rule: str, text: str) -> str:
    """Return a face of the font with the letters that the texts of an SVG have."""
    shown = "".join(re.findall(r">([^<]+)<", text))
    italic = "italic" in rule
    wanted = FontProperties(
        family=FAMILY,
        style="italic" if italic else "normal",
        weight="bold" if rule and not italic else "normal",
    )
    path = Path(findfont(wanted))
    options = subset.Options(flavor="woff", layout_features=["kern"], hinting=False, name_IDs=[])
    options.drop_tables += ["FFTM"]
    font = subset.load_font(path, options)
    cut = subset.Subsetter(options)
    cut.populate(text=shown)
    cut.subset(font)
    data = BytesIO()
    subset.save_font(font, data, options)
    source = b64encode(data.getvalue()).decode()
    return f"@font-face{{font-family:{FAMILY};{rule};src:url(data:font/woff;base64,{source})}}"
