"""What the documents say about the tests: each that they name exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_exists(page: str) -> None:
    missing = []
    for file, name in TEST.findall((ROOT / page).read_text(encoding="utf-8")):
        if not (ROOT / file).is_file():
            missing.append(file)
        elif name:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            if name not in {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}:
                missing.append(f"{file}::{name}")
    assert missing == []


def test_every_promise_names_its_test() -> None:
    text = (ROOT / "docs/reproducibility.md").read_text(encoding="utf-8")
    tables = re.findall(
        r"^\| promise \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", text, flags=re.MULTILINE
    )
    promises = [row for table in tables for row in table.splitlines()]
    assert len(promises) > 20
    assert [row for row in promises if not TEST.search(row)] == []
