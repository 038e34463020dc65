"""Sentences that compute: a comment beside a number names its basis, and each number must equal it.

``python -m study.report.basis README.md`` prints what each comment computes, ``--write`` puts it into the page.
docs/basis.md describes the comments.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparcl.base.errors import InputError
from sparcl.base.files import write_text
from study.report.evidence import compute
from study.report.numerals import Number, numbers, visible

# Pages with results, and the sections that have them; without sections, the whole page.
PAGES: dict[str, tuple[str, ...]] = {
    "README.md": (),
    "docs/ablations.md": (),
    "docs/search.md": (),
    "docs/which-method.md": (),
    "docs/performance.md": (
        "Extraction",
        "Solver",
        "Peers",
        "Sweeps",
    ),  # that on a GPU is not measured yet
    "docs/scaling.md": (),
    "docs/streams.md": ("What was found",),
    "docs/trained.md": ("What was found",),
}

COMMENT = re.compile(r"<!--\s*basis:(.*?)-->", re.DOTALL)
BLANK = re.compile(r"\n[ \t]*(?=\n|\Z)")
ITEM = re.compile(r"\n[ \t]*(?=\n|\Z|(?:[-*+]|\d+\.) )")


@dataclass(frozen=True)
class Statement:
    """A comment of a page and the text that it is the basis of, from ``start`` to ``end``."""

    line: int
    entries: tuple[str, ...]
    start: int
    end: int
    numbers: tuple[Number, ...]


@dataclass(frozen=True)
class Computed:
    """A statement with what its basis computes, or the ``problem`` for which it computes nothing.

    ``values`` is None where a program measured the numbers, and where there is a problem.
    """

    statement: Statement
    values: list[float] | None = None
    problem: str = ""

    @property
    def differences(self) -> dict[Number, str]:
        """Each number that is not what the basis computes, with what should be written."""
        pairs = zip(self.statement.numbers, self.values or (), strict=self.values is not None)
        return {n: n.written(value) for n, value in pairs if n.written(value) != n.text}


def statements(text: str) -> list[Statement]:
    """Return the comments of a page, each with its numbers.

    A comment on lines of its own is the basis of the next block, to the next blank line; one within a line is that of
    what follows it in its paragraph or list item. Both end at the next comment.
    """
    seen = visible(text)
    found = list(COMMENT.finditer(text))
    limits = [*(match.start() for match in found), len(text)][1:]
    result = []
    for match, limit in zip(found, limits, strict=True):
        start = match.end()
        line = text.count("\n", 0, match.start()) + 1
        alone = (
            not seen[: match.start()].rpartition("\n")[2].strip()
            and not seen[start:].partition("\n")[0].strip()
        )
        if alone:
            start += len(seen[start:]) - len(seen[start:].lstrip())
        ends = (BLANK if alone else ITEM).search(seen, start)
        end = min(ends.start() if ends else len(text), limit)
        entries = tuple(" ".join(part.split()) for part in match[1].split(";") if part.strip())
        result.append(Statement(line, entries, start, end, tuple(numbers(seen, start, end))))
    return result


def computed(text: str, root: Path) -> Iterator[Computed]:
    """Yield each statement of a page with what its basis computes from the files under ``root``.

    A problem is an entry that cannot be computed, a verdict that is another, or a number too many or too few: then the
    sentence is to be written anew, not a number.
    """
    for statement in statements(text):
        try:
            parts = [compute(entry, root) for entry in statement.entries]
        except InputError as error:
            yield Computed(statement, problem=str(error))
            continue
        values = None if None in parts else [value for part in parts for value in part or ()]
        written = [number.text for number in statement.numbers]
        if not parts:
            yield Computed(statement, problem="the comment names no basis")
        elif values is not None and len(values) != len(written):
            yield Computed(
                statement,
                problem=f"the text has {len(written)} numbers ({', '.join(written)}), its basis {len(values)} "
                f"({', '.join(f'{v:g}' for v in values)}); one that is no result is named by `given`",
            )
        else:
            yield Computed(statement, values)


def renewed(text: str, found: Sequence[Computed]) -> str:
    """Return a page with each number as its basis computes it; a statement with a problem stays."""
    changes = [change for each in found for change in each.differences.items()]
    for number, new in reversed(changes):
        text = text[: number.start] + new + text[number.end :]
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what each comment computes; 0 when every number is so."""
    parser = argparse.ArgumentParser(prog="python -m study.report.basis", description=__doc__)
    parser.add_argument(
        "pages", nargs="*", default=list(PAGES), help="default: all pages with results"
    )
    parser.add_argument(
        "--write", action="store_true", help="put the computed numbers into the pages"
    )
    chosen = parser.parse_args(arguments)
    wrong = 0
    for page in chosen.pages:
        text = Path(page).read_text(encoding="utf-8")
        found = list(computed(text, Path()))
        for each in found:
            print(f"{page}:{each.statement.line}: {_shown(each)}")
            wrong += bool(each.problem) or (bool(each.differences) and not chosen.write)
        if chosen.write:
            write_text(page, renewed(text, found))
    return int(wrong > 0)


def _shown(each: Computed) -> str:
    """Return a statement's numbers as they are and, where another is computed, as they should be."""
    if each.problem:
        return f"PROBLEM {each.problem}"
    if each.values is None:
        return "measured"
    new = each.differences
    return (
        " ".join(f"{n.text} -> {new[n]}" if n in new else n.text for n in each.statement.numbers)
        or "holds"
    )


if __name__ == "__main__":
    sys.exit(main())
