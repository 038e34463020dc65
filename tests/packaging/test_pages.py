"""Links of the pages lead somewhere, and their code blocks are what they say they are."""

import ast
import json
import re
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^( *)(`{3,})([\w-]*)[^\n`]*\n(.*?)^ *\2 *$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Written by a suite: not in git before they are made.
MADE = re.compile(r"^paper/")


def prose(page: Path) -> str:
    text = COMMENT.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    return re.sub(r"`[^`\n]*`", lambda code: code[0].replace("](", "] ("), text)


def slug(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and MkDocs make it."""
    plain = re.sub(r"\]\([^)]*\)", "", heading)
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", plain.lower()).strip())


def anchors(page: Path) -> set[str]:
    return {slug(head) for head in re.findall(r"^#+ +(.*)$", prose(page), re.MULTILINE)}


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for target in LINK.findall(prose(page)):
            if not target.startswith(("http://", "https://")):
                yield page, target


def blocks(*kinds: str) -> list[tuple[str, str]]:
    return [
        (page.name, textwrap.dedent(text))
        for page in PAGES
        for _, _, kind, text in FENCE.findall(page.read_text(encoding="utf-8"))
        if kind in kinds
    ]


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    broken = []
    for page, target in links():
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        made = MADE.match(path.relative_to(ROOT).as_posix())
        if not path.exists() and not made:
            broken.append((page.name, target))
        elif anchor and path.suffix == ".md" and anchor not in anchors(path):
            broken.append((page.name, target))
    assert broken == []
    assert len(list(links())) > 100


def test_a_broken_anchor_would_be_found() -> None:
    assert "large-sets-shards" in anchors(ROOT / "docs/data.md")
    assert slug("## A `b`: c, and [d](e.md)".lstrip("# ")) == "a-b-c-and-d"


def test_python_blocks_are_python() -> None:
    found = blocks("python")
    assert len(found) > 8
    for page, text in found:
        ast.parse(text, filename=page)


def test_settings_are_yaml_or_json() -> None:
    found = blocks("yaml")
    assert len(found) > 5
    for _, text in found:
        assert yaml.safe_load(text) is not None
    for _, text in blocks("json"):
        json.loads(text)


@pytest.mark.parametrize("kind", ["sh", "bash"])
def test_commands_are_shell(kind: str) -> None:
    for page, text in blocks(kind):
        done = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True)
        assert done.returncode == 0, f"{page}: {done.stderr}\n{text}"
