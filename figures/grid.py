"""Tables of cells of any kind under heads and beside names, as LaTeX, Markdown and CSV.

A grid is a long data frame, a row a cell, in the order in which cells are first named. Its columns:

``part``
    Title of a block of the table with a head of its own; empty if there is one block.
``group``, ``label``
    Title over rows, and name of the row.
``over``, ``head``
    Title over columns, and name of the column.
``printed``
    The cell as text, ``±`` before a deviation.
``best``, ``underlined``, ``quoted``
    Set in bold, underlined, greyed (a number that is not this project's).
``file, row, column``
    Where it comes from: `figures.frames.origin`; empty for a cell without a number.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import pandas as pd

from figures.tables import ORIGIN, escape
from sparcl.base.errors import InputError

NOTHING = "–"  # a cell that cannot have a number
FLAGS = ["best", "underlined", "quoted"]
PLACE = ["part", "group", "label", "over", "head"]
COLUMNS = [*PLACE, "printed", *FLAGS, *ORIGIN]


def grid(cells: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return cells as a grid; what a cell leaves out is empty or False.

    Raises
    ------
    InputError
        A cell is there twice, or has neither an origin nor ``NOTHING``.
    """
    empty = dict.fromkeys([*PLACE, "printed", *ORIGIN], "") | dict.fromkeys(FLAGS, False)
    frame = pd.DataFrame([empty | dict(cell) for cell in cells], columns=COLUMNS)
    if (twice := frame.duplicated(PLACE)).any():
        raise InputError(
            f"a table has the cell {_named(frame[twice])} twice; two rows share a label"
        )
    if (bare := frame["file"].eq("") & frame["printed"].ne(NOTHING)).any():
        raise InputError(f"table cell without a source: {_named(frame[bare])}")
    return frame


def texts(
    cells: pd.DataFrame, caption: str, tag: str, wide: bool = True, needs: str = "booktabs"
) -> dict[str, str]:
    """Return the files of a grid by suffix.

    Parameters
    ----------
    cells : DataFrame
        A `grid`.
    caption, tag : str
        Plain text, filled in; what follows ``tab:`` in the label.
    wide : bool
        Over both columns of the page.
    needs : str
        LaTeX packages, named in the first line.
    """
    return {
        ".tex": _latex(cells, caption, tag, "table*" if wide else "table", needs),
        ".md": "\n\n".join([caption, *(_markdown(part) for part in _parts(cells))]) + "\n",
        ".csv": cells.astype(dict.fromkeys(FLAGS, int)).to_csv(index=False, lineterminator="\n"),
    }


def _named(cells: pd.DataFrame) -> str:
    return ", ".join(filter(None, cells.iloc[0][PLACE]))


def _parts(cells: pd.DataFrame) -> list[pd.DataFrame]:
    return [part for _, part in cells.groupby("part", sort=False)]


def _heads(part: pd.DataFrame) -> list[tuple[str, str]]:
    """Return (over, head) of each column, in order of appearance, one title's columns together."""
    found = list(dict.fromkeys(zip(part["over"], part["head"], strict=True)))
    overs = list(dict.fromkeys(over for over, _ in found))
    return sorted(found, key=lambda names: overs.index(names[0]))


def _rows(part: pd.DataFrame) -> list[tuple[str, str, dict[tuple[str, str], Any]]]:
    """Return group, label and the cells of each row by column."""
    return [
        (group, label, {(cell.over, cell.head): cell for cell in row.itertuples()})
        for (group, label), row in part.groupby(["group", "label"], sort=False)
    ]


def _markdown(part: pd.DataFrame) -> str:
    heads = _heads(part)
    names = [f"{head} ({over})" if over else head for over, head in heads]
    lines = [
        "| " + " | ".join([part["part"].iloc[0], *names]) + " |",
        "|---|" + "--:|" * len(heads),
    ]
    previous = ""
    for group, label, row in _rows(part):
        if group != previous:
            lines.append(f"| *{group}* |" + " |" * len(heads))
        previous = group
        shown = [_plain(row[names]) if names in row else NOTHING for names in heads]
        lines.append("| " + " | ".join([label, *shown]) + " |")
    return "\n".join(lines)


def _plain(cell: Any) -> str:
    value, sign, spread = cell.printed.partition(" ± ")
    value = f"**{value}**" if cell.best else value
    value = f"<ins>{value}</ins>" if cell.underlined else value
    return f"<sub>{value}{sign}{spread}</sub>" if cell.quoted else value + sign + spread


def _latex(cells: pd.DataFrame, caption: str, tag: str, environment: str, needs: str) -> str:
    most = max(len(_heads(part)) for part in _parts(cells))
    lines = [
        f"% needs {needs}",
        rf"\begin{{{environment}}}[t]",
        r"\centering",
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{tab:{tag}}}",
        r"\smallskip",
        r"\footnotesize",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\begin{{tabular}}{{l{'r' * most}}}",
        r"\toprule",
    ]
    for number, part in enumerate(_parts(cells)):
        if number:
            lines.append(r"\midrule[\heavyrulewidth]")
        lines += _head(part)
        previous = None
        rows = _rows(part)
        columns = {names: _column([row.get(names) for *_, row in rows]) for names in _heads(part)}
        for index, (group, label, _) in enumerate(rows):
            if group != previous:
                lines.append(r"\midrule")
                if group:
                    title = rf"\multicolumn{{{1 + most}}}{{l}}{{\emph{{{escape(group)}}}}} \\"
                    lines.append(title)
            previous = group
            shown = [column[index] for column in columns.values()]
            name = (r"\quad " if group else "") + escape(label)
            lines.append(" & ".join([name, *shown]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", rf"\end{{{environment}}}"]
    return "\n".join(lines) + "\n"


def _head(part: pd.DataFrame) -> list[str]:
    """Return the lines over a block: titles over columns if there are any, then the columns' names."""
    heads = _heads(part)
    lines, start = [], 2
    if any(over for over, _ in heads):
        titles, rules = [], []
        for over, run in groupby(heads, key=lambda names: names[0]):
            width = len(list(run))
            titles.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(over)}}}")
            if over:
                rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
            start += width
        lines += [" & ".join(["", *titles]) + r" \\", "".join(rules)]
    names = [rf"\multicolumn{{1}}{{c}}{{{escape(head)}}}" for _, head in heads]
    return [*lines, " & ".join([escape(part["part"].iloc[0]), *names]) + r" \\"]


def _column(cells: list[Any]) -> list[str]:
    """Return one column of LaTeX cells; deviations take equal width, so numbers align on the point."""
    parts = [(c.printed if c else NOTHING).partition(" ± ") for c in cells]
    widest = max((spread for *_, spread in parts), key=len)
    shown = []
    for cell, (value, sign, spread) in zip(cells, parts, strict=True):
        text = escape(value).replace(NOTHING, "--")
        if cell and cell.best:
            text = rf"\textbf{{{text}}}"
        if cell and cell.underlined:
            text = rf"\underline{{{text}}}"
        missing = "0" * (len(widest) - len(spread))
        if sign:
            pad = rf"\phantom{{{missing}}}" if missing else ""
            text += rf" {{\scriptsize$\pm$\,{pad}{spread}}}"
        shown.append(rf"\textcolor{{gray}}{{{text}}}" if cell and cell.quoted else text)
    return shown
