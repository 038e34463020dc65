"""The writer of tables: cells under heads and beside names, as LaTeX, Markdown and CSV."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import pandas as pd

from figures.markup import escape, latex_table, markdown_table
from figures.markup import markdown as marked
from sparcl.base.errors import InputError
from study.places import where

NOTHING = "–"  # a cell that cannot have a number
DAGGER = "†"
ABSENT = "no block features"  # the cell of a method that the backbone has no features for
MANY = 20  # a dense table with more rows in a part takes smaller type to fit the page
ARROW = re.compile(r" (\$\\(?:up|down)arrow\$)")  # never first in a line
BROKEN = 2  # a dense part with more titles over its columns breaks them into lines


class Origin(NamedTuple):
    """Where a cell comes from: the file, the keys that all its rows share, and the column."""

    file: str
    row: str
    column: str


NOWHERE = Origin("", "", "")
PLACE = ("part", "group", "label", "over", "head")  # what tells the cells of a table apart
MARKS = ("best", "tied", "underlined", "quoted")


@dataclass(frozen=True)
class Cell:
    """One cell of a table: its place, its text and its marks.

    Attributes
    ----------
    printed : str
        The text, with `` ± `` before a standard deviation.
    part : str
        Title of a block of the table that has a head of its own.
    group, label : str
        Title over rows, and the name of the row.
    over, head : str
        Title over columns, and the name of the column.
    best, tied, underlined, quoted : bool
        Set in bold; with a dagger, because a test does not tell it from the best; underlined;
        greyed, because the number is not this project's.
    origin : Origin
        Required of every cell with a number.
    """

    printed: str
    part: str = ""
    group: str = ""
    label: str = ""
    over: str = ""
    head: str = ""
    best: bool = False
    tied: bool = False
    underlined: bool = False
    quoted: bool = False
    origin: Origin = NOWHERE


EMPTY = Cell(NOTHING)
Column = tuple[str, str]  # title over the column, and its name
Row = tuple[str, str, list[Cell]]  # title over the row, its name, and a cell for each column


def texts(
    cells: Sequence[Cell], caption: str, tag: str, wide: bool = True, needs: str = "booktabs"
) -> dict[str, str]:
    """Return a table's files by suffix: ``.tex``, ``.md`` and ``.csv``.

    Parameters
    ----------
    cells : sequence of Cell
        Parts, rows and columns are in the order in which cells first name them.
    caption, tag : str
        Plain text; the label in LaTeX is ``tab:<tag>``.
    wide, needs
        See `figures.markup.latex_table`.

    Raises
    ------
    InputError
        A place is taken twice, or a cell with a number has no origin.
    """
    return {
        ".tex": latex(cells, caption, tag, wide, needs),
        ".md": markdown(cells, caption),
        ".csv": _csv(cells),
    }


def markdown(cells: Sequence[Cell], caption: str) -> str:
    """Return the caption and one Markdown table per part."""
    tables = []
    for title, part in _parts(cells):
        columns, cells_of = _laid_out(part)
        names = [f"{head} ({over})" if over else head for over, head in columns]
        head, rows = [marked(name) for name in (title, *names)], []
        for group, members in groupby(cells_of, key=lambda row: row[0]):
            rows += [[f"*{marked(group)}*"]] if group else []
            rows += [[marked(label), *map(_plain, shown)] for _, label, shown in members]
        tables.append(markdown_table(head, rows))
    return "\n\n".join([marked(caption), *tables]) + "\n"


def latex(
    cells: Sequence[Cell],
    caption: str,
    tag: str,
    wide: bool = True,
    needs: str = "booktabs",
    dense: bool = False,
    blocks: Sequence[Collection[str]] = (),
) -> str:
    r"""Return the table for ``\input``, one part below the other.

    Parameters
    ----------
    dense : bool
        For a page full of numbers: columns closer together but for a gap between titles, more than
        two titles broken into lines, and smaller type for more than `MANY` rows.
    blocks : sequence of collections of str
        Titles over columns that stand side by side, block below block; default: all of them.
    """
    parts = _parts(cells)
    if blocks:
        parts = [
            (title, [cell for cell in part if cell.over in block])
            for title, part in parts
            for block in blocks
        ]
    laid_out = [(title, *_laid_out(part)) for title, part in parts]
    columns = max((columns for _, columns, _ in laid_out), key=len)
    lines = []
    for number, (title, heads, rows) in enumerate(laid_out):
        lines += [r"\midrule[\heavyrulewidth]"] if number else []
        lines += _head(title, heads, dense) + _body(heads, rows, 1 + len(columns))
    if not dense:
        spec = "l" + "r" * len(columns)
        return latex_table(lines, spec, caption, tag, wide=wide, needs=needs)
    widths = [len(list(run)) for _, run in groupby(columns, key=lambda column: column[0])]
    spec = "l" + r"@{\hskip 10pt}".join("r" * width for width in widths)
    most = max(len(rows) for *_, rows in laid_out)
    size = "scriptsize" if most > MANY else "footnotesize"
    return latex_table(lines, spec, caption, tag, size=size, gap=3, wide=wide, needs=needs)


def _csv(cells: Sequence[Cell]) -> str:
    """Return one line per cell."""
    place, marks = attrgetter(*PLACE), attrgetter(*MARKS)
    rows = [(*place(cell), cell.printed, *map(int, marks(cell)), *cell.origin) for cell in cells]
    columns = [*PLACE, "printed", *MARKS, *Origin._fields]
    return pd.DataFrame(rows, columns=columns).to_csv(index=False, lineterminator="\n")


def _parts(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    """Return the title and cells of each part, after a check of all cells."""
    parts: dict[str, list[Cell]] = {}
    taken = set()
    for cell in cells:
        place = attrgetter(*PLACE)(cell)
        name = ", ".join(filter(None, place))
        if place in taken:
            raise InputError(
                f"a table has the cell {name} twice: two rows or columns share a label. Give them "
                f"different `label`s ({where('methods')}, {where('datasets')}, {where('backbones')})."
            )
        if cell.origin == NOWHERE and cell.printed not in (NOTHING, ABSENT):
            raise InputError(f"table cell without a source: {name}")
        taken.add(place)
        parts.setdefault(cell.part, []).append(cell)
    return list(parts.items())


def _laid_out(part: Sequence[Cell]) -> tuple[list[Column], list[Row]]:
    """Return columns and rows in order of appearance, columns under one title together."""
    columns = list(dict.fromkeys((cell.over, cell.head) for cell in part))
    titles = list(dict.fromkeys(over for over, _ in columns))
    columns.sort(key=lambda column: titles.index(column[0]))
    rows: dict[tuple[str, str], dict[Column, Cell]] = {}
    for cell in part:
        rows.setdefault((cell.group, cell.label), {})[cell.over, cell.head] = cell
    return columns, [(*names, [row.get(c, EMPTY) for c in columns]) for names, row in rows.items()]


def _plain(cell: Cell) -> str:
    """Return a cell of Markdown."""
    value, sign, spread = cell.printed.partition(" ± ")
    value = f"**{value}**" if cell.best else value
    value = f"<ins>{value}</ins>" if cell.underlined else value
    value += DAGGER if cell.tied else ""
    return f"<sub>{value}{sign}{spread}</sub>" if cell.quoted else value + sign + spread


def _head(title: str, columns: list[Column], dense: bool) -> list[str]:
    """Return the lines over a part: titles over columns if there are any, then columns' names."""
    lines, start = [], 2
    runs = [(over, len(list(run))) for over, run in groupby(columns, key=lambda c: c[0])]
    if any(over for over, _ in runs):
        titles, rules = [""], []
        for over, width in runs:
            text = ARROW.sub(r"~\1", escape(over))
            if dense and len(runs) > BROKEN:
                share = f"{0.8 / len(runs):.2f}"
                text = rf"\parbox[b]{{{share}\textwidth}}{{\centering {text}}}"
            titles.append(rf"\multicolumn{{{width}}}{{c}}{{{text}}}")
            if over:
                rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
            start += width
        lines += [" & ".join(titles) + r" \\", "".join(rules)]
    names = [
        rf"\multicolumn{{1}}{{c}}{{{_broken(head) if dense else escape(head)}}}"
        for _, head in columns
    ]
    return [*lines, " & ".join([escape(title), *names]) + r" \\"]


def _broken(head: str) -> str:
    """Return a column's name, what follows a comma in a line of its own."""
    lines = r"\\".join(map(escape, head.split(", ")))
    return rf"\shortstack{{{lines}}}" if ", " in head else lines


def _body(columns: list[Column], rows: list[Row], width: int) -> list[str]:
    """Return the lines of a part's rows; titles over rows span ``width`` columns."""
    lines, titles, last = [], [over for over, _ in columns], None
    padded = zip(*map(_column, zip(*(cells for *_, cells in rows), strict=True)), strict=True)
    for (group, label, _), shown in zip(rows, padded, strict=True):
        if group != last:
            lines.append(r"\midrule")
            last = group
            if group:
                lines.append(rf"\multicolumn{{{width}}}{{l}}{{\emph{{{escape(group)}}}}} \\")
        name = (r"\quad " if group else "") + escape(label)
        merged = _merged(zip(titles, shown, strict=True))
        lines.append(" & ".join([name, *merged]) + r" \\")
    return lines


def _column(cells: Sequence[Cell]) -> list[str]:
    """Return one column of LaTeX; deviations take equal width, so that numbers align."""
    parts = [cell.printed.partition(" ± ") for cell in cells]
    widest = max(len(spread) for *_, spread in parts)
    shown = []
    for cell, (value, sign, spread) in zip(cells, parts, strict=True):
        text = escape(value)
        if cell.best:
            text = rf"\textbf{{{text}}}"
        if cell.underlined:
            text = rf"\underline{{{text}}}"
        if sign:
            missing = "0" * (widest - len(spread))
            pad = rf"\phantom{{{missing}}}" if missing else ""
            text += rf" {{\scriptsize$\pm$\,{pad}{spread}}}"
        if cell.tied:
            text += rf"\rlap{{{escape(DAGGER)}}}"  # no width: numbers stay aligned
        shown.append(rf"\textcolor{{gray}}{{{text}}}" if cell.quoted else text)
    return shown


def _merged(row: Iterable[tuple[str, str]]) -> list[str]:
    """Return a row's cells; those `ABSENT` under one title share the words, to fit the page."""
    shown = []
    for (_, text), run in groupby(row):
        same = list(run)
        absent = rf"\multicolumn{{{len(same)}}}{{c}}{{{text}}}"
        shown += [absent] if text == ABSENT else [text] * len(same)
    return shown
