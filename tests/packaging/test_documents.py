"""Tests that pages name exist, and no text uses a phrase that docs/phrases.txt refuses."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PHRASES = [line.split(" -> ") for line in (ROOT / "docs/phrases.txt").read_text().splitlines()]
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def exists(file: str, name: str) -> bool:
    """Return whether there is such a file of tests and, if a name is given, such a test in it."""
    if not (ROOT / file).is_file():
        return False
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return not name or name in {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def test_every_test_that_a_page_names_exists() -> None:
    pages = {page.name: page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")}
    named = {(page, *test) for page, text in pages.items() for test in TEST.findall(text)}
    assert len(named) > 20
    assert [test for test in sorted(named) if not exists(*test[1:])] == []


def test_every_promise_names_its_test() -> None:
    text = (ROOT / "docs/reproducibility.md").read_text(encoding="utf-8")
    tables = re.findall(
        r"^\| promise \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", text, flags=re.MULTILINE
    )
    promises = [row for table in tables for row in table.splitlines()]
    assert len(promises) > 20
    assert [row for row in promises if not TEST.search(row)] == []


def refused(text: str) -> list[str]:
    """Return the phrases of a text that the list refuses, each with its replacement."""
    prose = re.sub(r"^```.*?^```|`[^`\n]*`|^##+ .*?$", "", text, flags=re.MULTILINE | re.DOTALL)
    line = re.sub(r"[\s#\"]+", " ", prose)  # a phrase may be wrapped
    found = [(match[0], use) for phrase, use in PHRASES for match in re.finditer(phrase, line)]
    return [f"{words}: {use}" for words, use in found]


def test_no_page_caption_docstring_or_message_uses_a_refused_phrase() -> None:
    texts = ["README.md", "CONTRIBUTING.md", "config/figures.yaml", "config/tables.yaml"]
    code = ("sparcl/**/*.py", "workflow/**/*.py", "workflow/**/*.smk", "figures/*.py")
    for folder in ("docs/**/*.md", "config/suites/*.yaml", *code):
        texts += [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob(folder))]
    found = {name: refused((ROOT / name).read_text(encoding="utf-8")) for name in texts}
    assert {name: phrases for name, phrases in found.items() if phrases} == {}


def test_the_list_refuses_what_it_was_written_for() -> None:
    for sentence in (
        "For people who must trust a table of it.",
        "A shrinkage that nobody chooses.",
        "It reads their share from the sums and drops\n    so many rows.",
        "Peers stand in them with fixed settings.",
        "Below one error nothing is doubted.",
        "A rate holds what a lower one does.",
        "What a class scores is final.",
        "This is where definitions part.",
        "Memory is flat once all are triangles.",
        "A key, so that who changes this setting resumes.",
        "It is a test. What is no such sentence implements the same protocol.",
        "The table has a row a sample.",
        "At most 8 bytes a class.",
    ):
        assert refused(sentence), sentence
    assert refused("How many samples a class brings. What is a seed? A run per session.") == []
