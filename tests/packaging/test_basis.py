"""Pages with results: each number is what the files that it names say, and none is without a basis."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from sparcl.base.errors import InputError
from study.report.basis import PAGES, Computed, computed, main, renewed, statements
from study.report.numerals import numbers, visible

ROOT = Path(__file__).resolve().parents[2]
OPEN = {"README.md": 3}  # words that compare and wait for five class orders; may only become fewer


ELSEWHERE = re.compile(
    r"<!-- paper/.*? -->.*?<!-- end -->", re.DOTALL
)  # a whole file, compared as such
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
COMPARATIVE = re.compile(
    r"\b(?:ahead|behind|better|worse|best|worst|highest|lowest|beats?|outperforms?|faster|slower|ties?)\b",
    re.IGNORECASE,
)


def without_basis(text: str, sections: Sequence[str] = ()) -> list[tuple[int, str]]:
    """Return line and text of each number, and each word that compares, which no comment is the basis of."""
    seen = ELSEWHERE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    seen = HEADING.sub(lambda match: " " * len(match[0]), visible(seen))
    covered = [(s.start, s.end) for s in statements(text)]
    covered += [] if not sections else _other_sections(text, sections)
    claims = [(n.start, n.text) for n in numbers(seen)]
    claims += [(match.start(), match[0]) for match in COMPARATIVE.finditer(seen)]
    return [
        (text.count("\n", 0, place) + 1, what)
        for place, what in sorted(claims)
        if not any(start <= place < end for start, end in covered)
    ]


def _other_sections(text: str, sections: Sequence[str]) -> list[tuple[int, int]]:
    """Return where a page's sections lie that are not named."""
    heads = list(HEADING.finditer(text))
    if missing := set(sections) - {head[1] for head in heads}:
        raise InputError(f"no section is named {', '.join(sorted(missing))}.")
    starts = [0, *(head.start() for head in heads)]
    names = ["", *(head[1] for head in heads)]
    ends = [*starts[1:], len(text)]
    return [(a, b) for a, b, name in zip(starts, ends, names, strict=True) if name not in sections]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_number_is_what_its_basis_computes(page: str) -> None:
    found = list(computed(read(page), ROOT))
    assert [(each.statement.line, each.problem) for each in found if each.problem] == []
    wrong = [
        (each.statement.line, n.text, new) for each in found for n, new in each.differences.items()
    ]
    assert wrong == [], f"read the sentences, then: python -m study.report.basis {page} --write"


@pytest.mark.parametrize("page", PAGES)
def test_no_number_and_no_comparison_is_without_a_basis(page: str) -> None:
    found = without_basis(read(page), PAGES[page])
    assert len(found) <= OPEN.get(page, 0), found


def test_a_number_changed_by_hand_is_found_and_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each number of a page in turn: no digit is out of the test's sight."""
    page = "docs/ablations.md"
    text, changed = read(page), 0
    for place, each in enumerate(computed(text, ROOT)):
        for number in each.statement.numbers if each.values is not None else ():
            hand = number.written(number.value + 2)
            other = text[: number.start] + hand + text[number.end :]
            again = Computed(statements(other)[place], each.values)
            assert list(again.differences.values()) == [number.text]
            assert renewed(other, [again]) == text
            changed += 1
    assert changed > 10

    shutil.copytree(ROOT / "config", tmp_path / "config")
    shutil.copy(ROOT / "params.yaml", tmp_path)
    (tmp_path / "paper").symlink_to(ROOT / "paper")
    (tmp_path / "docs").mkdir()
    (tmp_path / page).write_text(other, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main([page]) == 1
    assert f"{hand} -> {number.text}" in capsys.readouterr().out
    assert main([page, "--write"]) == 0
    assert (tmp_path / page).read_text(encoding="utf-8") == text


def test_a_comment_is_the_basis_of_what_follows_it() -> None:
    text = (
        "1 a\n\n<!-- basis: given 2 3 -->\n\n- 2 b\n- 3 c\n\n4 d\n\n"
        "- e <!-- basis: given 5;\n  given 6 --> 5 f\n  6\n- 7 g <!-- basis: given 8 --> 8 <!-- basis: given 9 --> 9\n"
    )
    assert [[n.text for n in s.numbers] for s in statements(text)] == [
        ["2", "3"],
        ["5", "6"],
        ["8"],
        ["9"],
    ]
    assert without_basis(text) == [(1, "1"), (8, "4"), (13, "7")]
    assert [each.problem for each in computed(text, ROOT)] == [""] * 4


def test_words_that_compare_need_a_basis_too() -> None:
    assert without_basis("It is better.\n") == [(1, "better")]
    assert without_basis("<!-- basis: claim a holds -->\nIt is better.\n") == []


def test_numbers_too_many_or_too_few_are_a_problem() -> None:
    [each] = computed("<!-- basis: given 1 2 -->\n1 of 2 of 3\n", ROOT)
    assert "3 numbers (1, 2, 3), its basis 2 (1, 2)" in each.problem
    assert renewed("unchanged", [each]) == "unchanged"


def test_sections_without_results_are_left_out() -> None:
    text = "# A\n1\n## B\n2\n## C\n3\n"
    assert without_basis(text, ["B"]) == [(4, "2")]
