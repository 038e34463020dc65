"""The content of paper/ as one page that needs no network: ``python -m study.pipeline.page SUITE report.html``.

Snakemake's own report shows no table, hides captions and covers its text with a menu on a narrow screen; this page
opens on the findings of the README and takes the same texts as the PDF: captions of figures from the settings, tables
from the Markdown in ``paper/<suite>/tables``. Of all suites that have something there the named one comes first.
"""

import argparse
import hashlib
import re
import struct
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from sparcl.base.errors import InputError, SparclError
from sparcl.base.files import write_text
from study.pipeline import pages
from study.pipeline.configuration import load
from study.pipeline.displays import PARTS, Settings, caption, drawings, part
from study.pipeline.plan import session_count

TEMPLATES = Path("workflow/report")
CLAIMS = Path("paper/claims")
FINDINGS = "three-findings.jinja"
SIZE = re.compile(rb' (?:width|height)="([\d.]+)pt"')


class Shown(NamedTuple):
    """A figure or table: its name, what is shown of it, and its lines or its width and height in pixels."""

    name: str
    caption: str
    body: Markup
    size: tuple[int, ...]


def page(config: Settings, suite: str, root: Path = Path(), day: str = "") -> str:
    """Return the page.

    Parameters
    ----------
    config : mapping
        The settings.
    suite : str
        The suite that comes first.
    root : Path
        The project's folder.
    day : str
        When the numbers were recorded, as text; empty if unknown.

    Raises
    ------
    InputError
        The suite is unknown or has nothing in ``paper/``.
    """
    if suite not in config["suites"]:
        raise InputError(f"there is no suite {suite}; there are {', '.join(config['suites'])}")
    order = [suite, *(name for name in config["suites"] if name != suite)]
    sections = [section(config, name, root) for name in order]
    if not (sections[0]["figures"] or sections[0]["tables"]):
        raise InputError(
            f"paper/{suite} has no table or figure; make them: make results SUITE={suite}"
        )
    sections[0]["part"] = PARTS[0]
    shown = [s for s in sections if s["figures"] or s["tables"]]
    environment = Environment(
        loader=FileSystemLoader(root / TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    script = (root / TEMPLATES / "page.js").read_text(encoding="utf-8")
    return environment.get_template("page.html").render(
        first=sections[0],
        parts={name: [s for s in shown if s["part"] == name] for name in PARTS},
        findings=findings(root),
        claims=claims(config, root),
        flat=flat,
        day=day,
        style=Markup((root / TEMPLATES / "page.css").read_text(encoding="utf-8")),
        script=Markup(script),
        digest=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def findings(root: Path) -> Markup:
    """Return the findings of the README, computed again; empty where paper/ lacks a suite that they name."""
    source = (root / pages.TEMPLATES / FINDINGS).read_text(encoding="utf-8")
    suites = re.findall(r'(?:difference|verdicts)\("([a-z0-9-]+)/', source)
    if not all((root / f"paper/{name}/summary/differences.csv").is_file() for name in suites):
        return Markup()
    text = pages.rendered(root, [FINDINGS])[FINDINGS]
    text = re.sub(r"\]\(paper/([\w-]+)/(table|figure)s/([\w-]+)\.\w+\)", r"](#\1-\2-\3)", text)
    text = re.sub(r"\[[^]]*\]\((docs/[^)]*)\)", r"\1", text)
    return Markup(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))


def section(config: Settings, suite: str, root: Path) -> dict[str, Any]:
    """Return what paper/ has of a suite, and its settings."""
    block, folder = config["suites"][suite], root / "paper" / suite
    figures = [
        Shown(name, caption(config, name, suite), *picture(file))
        for name, file in drawings(config, suite, root).items()
    ]
    files = {name: folder / f"tables/{name}.md" for name in block["tables"]}
    return {
        "suite": suite,
        "title": block["title"],
        "part": part(block),
        "facts": facts(config, block),
        "methods": [config["methods"][name] for name in block["methods"]],
        "figures": figures,
        "tables": [Shown(name, *table(file)) for name, file in files.items() if file.is_file()],
    }


def facts(config: Settings, block: Settings) -> dict[str, str]:
    """Return what a suite is, by name, in words."""
    pairs = [f"{order} (seed {seed})" for order, seed in block["pairs"]]
    told = {
        "data sets": ", ".join(config["datasets"][name]["label"] for name in block["datasets"]),
        "backbone": ", ".join(config["backbones"][name]["label"] for name in block["backbones"]),
        "sessions": session_count(block),
        "classes of the first session": block["base_classes"] or "as many as of any other",
        "features": "unit norm" if block["normalize"] else "as extracted",
        "class orders": ", ".join(pairs),
        "rule of the orders": block["order_rule"],
        "stress": block["stress"],
        "rows of a later class": block.get("shots"),
    }
    return {name: str(value) for name, value in told.items() if value}


def flat(settings: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Yield settings within settings in words, as ``core.tau = 0.95``."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key} = { {'True': 'yes', 'False': 'no'}.get(str(value), str(value)) }"


def picture(path: Path) -> tuple[Markup, tuple[int, int]]:
    """Return a figure as the source of an image, and its width and height, in pixels, which PNG and SVG begin with."""
    data = path.read_bytes()
    kind, (width, height) = "png", struct.unpack(">II", data[16:24])
    if path.suffix == ".svg":
        kind, points = "svg+xml", SIZE.findall(data)[:2]
        width, height = (round(float(length) / 0.75) for length in points)
    return Markup(f"data:image/{kind};base64," + b64encode(data).decode()), (width, height)


def table(path: Path) -> tuple[str, Markup, tuple[int]]:
    """Return the caption of a table in Markdown, as plain text, the rest as HTML, and the rows of its longest part.

    Texts of the settings are escaped in these files (`figures.markup.markdown`); their few tags are the writer's own.
    """
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(path.read_text(encoding="utf-8"))
    written = "".join(child.content for child in tokens[1].children or [])
    body = Markup(parser.renderer.render(tokens[3:], parser.options, {}))
    return written, body, (max(part.count("<tr") for part in body.split("</table>")) - 1,)


def claims(config: Settings, root: Path) -> dict[str, Any] | None:
    """Return the figure of the claims, and a sentence a claim, if they have been judged and drawn."""
    written, drawn = root / CLAIMS / "claims.md", root / CLAIMS / "claims.svg"
    if not (written.is_file() and drawn.is_file()):
        return None
    parser = MarkdownIt("commonmark")
    tokens = parser.parse(written.read_text(encoding="utf-8"))
    for token in tokens:
        if token.type.startswith("heading"):
            token.tag = "h3"
    sentences = Markup(parser.renderer.render(tokens, parser.options, {}))
    figure = Shown("claims", config["figures"]["claims"]["caption"], *picture(drawn))
    return {"figure": figure, "sentences": sentences}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m study.pipeline.page", description=__doc__)
    parser.add_argument("suite", help="the suite that comes first")
    parser.add_argument("out", help="the file to write")
    parser.add_argument("--day", default="", help="when the numbers were recorded")
    asked = parser.parse_args()
    try:
        write_text(asked.out, page(load(Path()), asked.suite, day=asked.day))
    except SparclError as error:
        sys.exit(f"{type(error).__name__}: {error}")
