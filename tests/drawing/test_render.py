"""The generic entry: names, suffixes, and equal bytes whatever the surroundings."""

import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fontTools.ttLib import TTFont
from matplotlib.figure import Figure

import figures
from drawing.conftest import compared
from figures.vector import svg
from sparcl.base.errors import ConfigError, InputError

SCRIPT = """
import json, sys
import figures
csv, options, folder = json.loads(sys.argv[1])
for name in ("dilution", "overview", "peers"):
    figures.render("figure", name, csv, options, [f"{folder}/{name}.{end}" for end in ("pdf", "png", "svg")])
figures.render("table", "main", csv, options, [f"{folder}/main.{end}" for end in ("tex", "md", "csv")])
"""


@pytest.fixture
def csv(frames, tmp_path):
    paths = []
    for name, frame in compared(frames).items():
        paths.append(str(tmp_path / f"{name}.csv"))
        frame.to_csv(paths[-1], index=False, float_format="%.6f")
    return paths


@pytest.fixture
def settings(options):
    return options | {
        "caption": "Suite {suite}",
        "against": "acil",
        "blocks": [["A_bar"], ["A_last"], ["forgetting"], ["drift_scaled"]],
        "groups": {"Means": ["ncm"], "Ridge": ["acil", "sparcl", "sparcl-paper"]},
    }


def digests(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def test_bytes_do_not_depend_on_process_clock_place_or_language(
    csv, settings, tmp_path, monkeypatch
):
    """Nor on a user's own settings of matplotlib: drawn here, and where all of it differs."""
    rc = tmp_path / "matplotlibrc"
    rc.write_text(
        "axes.facecolor: yellow\nfont.size: 20\nsavefig.pad_inches: 2\n", encoding="utf-8"
    )
    other = {"PYTHONHASHSEED": "77", "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "MPLBACKEND": "svg"}
    other |= {"SOURCE_DATE_EPOCH": "0", "MATPLOTLIBRC": str(rc)}
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    (tmp_path / "draw.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, tmp_path / "draw.py", json.dumps([csv, settings, str(there)])]
    subprocess.run(command, env=os.environ | other, check=True)
    monkeypatch.setattr(sys, "argv", ["", json.dumps([csv, settings, str(here)])])
    runpy.run_path(str(tmp_path / "draw.py"))
    assert len(digests(here)) == 12
    assert digests(here) == digests(there)


def test_pdf_has_no_date_and_embeds_truetype(csv, settings, tmp_path):
    figures.render("figure", "drift", csv, settings, [tmp_path / "drift.pdf"])
    content = (tmp_path / "drift.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert b"CreationDate" not in content
    assert b"/Type3" not in content and b"/CIDFontType2" in content
    assert b"STIXGeneral" in content


def test_png_is_made_for_print(csv, settings, tmp_path):
    from PIL import Image

    figures.render("figure", "drift", csv, settings, [tmp_path / "x.png"])
    with Image.open(tmp_path / "x.png") as image:
        assert (image.width, image.mode) == (int(6.875 * 300), "P")
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_svg_has_its_letters_and_turns_in_the_dark(csv, settings, tmp_path):
    """Its texts are text, in a face that it brings along; every colour has another one in the dark."""
    number = Figure()
    number.text(0.5, 0.5, "0.001")
    assert ">0.001</text>" in svg(number)
    figures.render("figure", "drift", csv, settings, [tmp_path / "drift.svg"])
    root = ElementTree.parse(tmp_path / "drift.svg").getroot()
    assert "Set One" in "".join(root.itertext()) and root.get("width") == "495pt"
    style = root.find(".//{*}style").text
    light, turned = style.split("@media screen and (prefers-color-scheme:dark){")
    colored = re.findall(r"\.s\d+(?={[^}]*#)", light)
    assert len(colored) > 5 and set(colored) == set(re.findall(r"\.s\d+(?={)", turned))
    face = re.search(
        r"@font-face{font-family:STIXGeneral;;src:url\(data:font/woff;base64,(.*?)\)", style
    )
    assert {*map(ord, "Set One0")} < {*TTFont(BytesIO(b64decode(face[1]))).getBestCmap()}


def test_a_name_without_its_module_is_refused(csv, settings):
    for kind, name, file in (
        ("figure", "pie", "figures/pie.py"),
        ("figure", "style", "figures/style.py"),  # a helper draws nothing
        ("figure", "main-table", "figures/main_table.py"),
        ("table", "drift", "figures/drift_table.py"),
    ):
        with pytest.raises(ConfigError, match=f"no {kind} '{name}'.*{file}"):
            figures.render(kind, name, csv, settings, [])
    with pytest.raises(ConfigError, match=r"drift\.eps: figures are written as"):
        figures.render("figure", "drift", csv, settings, ["drift.eps"])


def test_frames_go_by_their_names_in_params(csv, settings, tmp_path):
    """Two suites' summaries of one stem, told apart; a cell says which file it is from."""
    from figures import frames

    named = frames.read([csv[0], csv[0]], ["mild/runs", "hard/runs"])
    assert list(named) == ["mild/runs", "hard/runs"]
    assert list(frames.read(csv[:2], ["mild/runs", "sessions"])) == ["runs", "sessions"]
    with pytest.raises(InputError, match=r"none.csv: no summary to read"):
        frames.read([tmp_path / "none.csv"])


@pytest.mark.parametrize(
    ("script", "wildcard", "suffix"),
    [("draw_figure", ("figure", "drift"), "png"), ("write_table", ("table", "main"), "md")],
)
def test_adapters(script, wildcard, suffix, csv, settings, tmp_path):
    """A rule's script passes on what the rule gives it."""
    from importlib.util import module_from_spec, spec_from_file_location
    from types import SimpleNamespace

    root = Path(figures.__file__).parents[1]
    spec = spec_from_file_location(script, root / "workflow" / "scripts" / f"{script}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    job = SimpleNamespace(
        wildcards=SimpleNamespace(**dict([wildcard])),
        input=SimpleNamespace(csv=csv),
        params=SimpleNamespace(options=settings),
        output=[str(tmp_path / f"out.{suffix}")],
    )
    module.main(job)
    assert Path(job.output[0]).stat().st_size > 0
    job.input.csv = []
    with pytest.raises(InputError, match="was not given"):
        module.main(job)
