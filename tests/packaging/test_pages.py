"""Pages with results are what their templates give, and no result is typed into one."""

import re
import shutil
from pathlib import Path

import pytest

from sparcl.base.errors import InputError
from study.pipeline import pages

ROOT = Path(__file__).resolve().parents[2]
# Code, Jinja, links, and settings that are named as such
HIDDEN = re.compile(
    r"^```.*?^```|`[^`\n]+`|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\]\([^)]*\)|\d+\.\d+\.\d+",
    re.MULTILINE | re.DOTALL,
)


def test_every_page_is_what_its_template_gives() -> None:
    rendered = pages.pages(ROOT)
    assert rendered
    changed = [path for path, text in rendered.items() if (ROOT / path).read_text() != text]
    assert changed == [], "read the sentences, then: python -m study.pipeline.pages"


def test_no_result_is_typed_into_a_template() -> None:
    """A number with a decimal point is computed."""
    for file in sorted((ROOT / pages.TEMPLATES).iterdir()):
        text = HIDDEN.sub(" ", file.read_text(encoding="utf-8"))
        assert re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", text) == [], file.name


def test_numbers_are_printed_in_one_manner() -> None:
    assert pages.number(-1234.56) == "−1,234.6"
    assert pages.number(-0.04) == "0.0" and pages.number(0.04, sign=True) == "0.0"
    assert pages.listed([1, -2, 3.25], digits=2, sign=True) == "+1.00, −2.00 and +3.25"
    with pytest.raises(InputError, match="nan is no number to print"):
        pages.number(float("nan"))


def test_a_table_row_has_a_mean_per_set(tmp_path: Path) -> None:
    folder = tmp_path / "paper/one/summary"
    folder.mkdir(parents=True)
    (folder / "runs.csv").write_text(
        "dataset,method,A_last\na,m,1\na,m,2\nb,m,4\na,n,2\nb,n,4.01\nb,o,1\n"
    )
    numbers = pages.Numbers(tmp_path)
    table = numbers.rows({"one/m": "M", "one/n": "N"}, sets=["a", "b"], bold=True)
    assert table == "| M | 1.5 | **4.0** |\n| N | **2.0** | **4.0** |"
    with pytest.raises(InputError, match="one/o: no A_last on one of a, b"):
        numbers.mean("one/o", sets=["a", "b"])


def test_a_template_that_names_what_is_not_there_is_named(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "paper/bundled/summary", tmp_path / "paper/bundled/summary")
    (tmp_path / pages.TEMPLATES).mkdir(parents=True)
    page = tmp_path / pages.TEMPLATES / "a.md"
    page.write_text("{{ mean('bundled/ncm') | listed }}\n")
    assert pages.pages(tmp_path)["docs/a.md"].startswith("57.7, ")
    query = "{{ csv('bundled/runs').query('other == 1') }}"
    for wrong in (
        "{{ mean('bundled/nmc') }}", "{{ csv('other/runs') }}", query, "{{ nothing }}", "{% if",
    ):  # fmt: skip
        page.write_text(wrong)
        with pytest.raises(InputError, match=r"docs/templates/a\.md: "):
            pages.pages(tmp_path)
