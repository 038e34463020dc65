"""What the documents say about the tests: each that they name exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
