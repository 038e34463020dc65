"""What pages say: results are computed, the tests and keys that they name exist, examples print what is shown."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import yaml
from copies import ROOT, loaded

from sparcl.base.errors import InputError
from study.pipeline import pages
from study.pipeline.configuration import FIGURES, OPTIONAL, load
from study.pipeline.settings import Suite

PHRASES = [line.split(" -> ") for line in (ROOT / "docs/phrases.txt").read_text().splitlines()]
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def exists(file: str, name: str) -> bool:
    """Return whether there is such a file of tests and, if a name is given, such a test in it."""
    if not (ROOT / file).is_file():
        return False
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return not name or name in {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def test_every_test_that_a_page_names_exists() -> None:
    named = {
        (file.name, *test)
        for file in (ROOT / "docs").glob("*.md")
        for test in TEST.findall(file.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert [test for test in sorted(named) if not exists(*test[1:])] == []


def test_every_promise_names_its_test() -> None:
    tables = re.findall(
        r"^\| promise \| test \|\n\|---\|---\|\n((?:\|.*\n)+)",
        page("reproducibility"),
        flags=re.MULTILINE,
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


def test_library_prints_what_it_says(tmp_path: Path) -> None:
    """docs/library.md as one program in a folder with the bundled features."""
    blocks = re.findall(r"^```(python|text)\n(.*?)^```", page("library"), re.MULTILINE | re.DOTALL)
    program = "".join(text for kind, text in blocks if kind == "python")
    (tmp_path / "data").symlink_to(ROOT / "data")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(text for kind, text in blocks if kind == "text")


# --- docs/paper-map.md ----------------------------------------------------------------------------


def test_every_table_and_figure_of_the_paper_has_a_link_or_a_reason() -> None:
    lines = (line for line in page("paper-map").splitlines() if line.startswith("| "))
    rows = [line.strip("| ").split(" | ") for line in lines]
    numbered = [row[0] for row in rows if re.match(r"(Table|Figure|Algorithm) \d", row[0])]
    tables, figures = (f"Table {n}" for n in range(1, 12)), (f"Figure {n}" for n in range(1, 5))
    assert numbered == [*tables, *figures, "Algorithm 1"]
    for number, _, where in (row for row in rows if row[0] != "paper"):
        assert "](../paper/" in where or where.startswith("not regenerated: "), number


def test_every_link_is_of_a_suite_that_draws_it() -> None:
    text, suites = page("paper-map"), loaded()["suites"]
    links = re.findall(r"\]\(\.\./paper/([a-z-]+)/(tables|figures)/([a-z-]+)\.(?:md|svg)\)", text)
    assert len(links) == text.count("](../paper/") > 15
    for suite, kind, name in links:
        assert name in suites[suite][kind], f"{suite}/{kind}/{name}"


# --- docs/suites.md -------------------------------------------------------------------------------


def test_every_key_of_a_suite_is_explained_with_its_default_and_choices() -> None:
    rows = re.findall(r"^\| `(\w+)` \|(.*?)\| (.*) \|$", page("suites"), flags=re.MULTILINE)
    assert sorted(key for key, _, _ in rows) == sorted(Suite.model_fields)
    defaults = {key: yaml.safe_load(text.strip(" `")) for key, text, _ in rows if text.strip()}
    defaults.pop("traces")
    assert defaults == {k: v for k, v in OPTIONAL.items() if v != {}} | {"figures": [*FIGURES]}
    text = {key: rest for key, _, rest in rows}
    for key in ("order_rule", "stress", "group"):
        choices = set(get_args(get_type_hints(Suite)[key])) - {"none"}
        assert choices == set(re.findall(r"`([a-z-]+)`", text[key])) - {"params"}


def test_the_smallest_suite_is_one() -> None:
    block = yaml.safe_load(page("suites").split("```yaml\n")[1].split("```")[0])
    required = {key for key, field in Suite.model_fields.items() if field.is_required()}
    assert set(block) == {*required, "sessions"}
    assert load(ROOT, {"suites": {"mine": block}})["suites"]["mine"]["figures"] == [*FIGURES]


# --- pages with results ---------------------------------------------------------------------------

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
    template = tmp_path / pages.TEMPLATES / "a.md"
    template.write_text("{{ mean('bundled/ncm') | listed }}\n")
    assert pages.pages(tmp_path)["docs/a.md"].startswith("57.7, ")
    query = "{{ csv('bundled/runs').query('other == 1') }}"
    for wrong in (
        "{{ mean('bundled/nmc') }}", "{{ csv('other/runs') }}", query, "{{ nothing }}", "{% if",
    ):  # fmt: skip
        template.write_text(wrong)
        with pytest.raises(InputError, match=r"docs/templates/a\.md: "):
            pages.pages(tmp_path)
