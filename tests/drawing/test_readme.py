"""The README shows the main table that lies in paper/."""

from pathlib import Path

import pytest

from figures.readme import END, START, renewed
from sparcl.base.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_holds_the_main_table() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = (ROOT / "paper/bundled/tables/main.md").read_text(encoding="utf-8")
    assert renewed(readme, table) == readme, "run: python -m figures.readme"


def test_another_table_takes_its_place() -> None:
    assert renewed(f"a\n{START}old\n{END}b\n", "new\n") == f"a\n{START}\nnew\n\n{END}b\n"


def test_a_readme_without_marks_is_refused() -> None:
    with pytest.raises(InputError, match="README"):
        renewed("no marks", "table")
