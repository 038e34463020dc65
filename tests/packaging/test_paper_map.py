"""docs/paper-map.md: every number of the paper is there, and every link is of something that a rule makes."""

import re
from pathlib import Path

from copies import loaded

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/paper-map.md").read_text(encoding="utf-8")
PARAMS = loaded()
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]


def test_every_table_and_figure_of_the_paper_has_a_row() -> None:
    numbered = [row[0] for row in ROWS if re.match(r"(Table|Figure|Algorithm) \d", row[0])]
    tables, figures = (range(1, 12), range(1, 5))
    assert numbered == [
        *(f"Table {n}" for n in tables),
        *(f"Figure {n}" for n in figures),
        "Algorithm 1",
    ]


def test_every_row_links_or_gives_a_reason() -> None:
    for number, _, where in (row for row in ROWS if row[0] != "paper"):
        assert "](../paper/" in where or where.startswith("not regenerated: "), number


def test_every_link_is_of_a_suite_that_draws_it() -> None:
    links = re.findall(r"\]\(\.\./paper/([a-z-]+)/(tables|figures)/([a-z-]+)\.(?:md|svg)\)", PAGE)
    assert len(links) == PAGE.count("](../paper/") > 15
    defaults = {"tables": ["main"], "figures": ["dilution", "drift", "sessions"]}
    for suite, kind, name in links:
        assert name in PARAMS["suites"][suite].get(kind, defaults[kind]), f"{suite}/{kind}/{name}"


def test_links_of_the_default_suite_are_there() -> None:
    default = PARAMS["suite"]
    for path in re.findall(rf"\]\(\.\./(paper/{default}/[\w/.-]+)\)", PAGE):
        assert (ROOT / path).is_file(), path


def test_other_pages_are_there() -> None:
    for page in re.findall(r"\]\(([a-z-]+\.md)\)", PAGE):
        assert (ROOT / "docs" / page).is_file(), page
