"""Plain text and rows of cells as LaTeX and Markdown."""

import re
from collections.abc import Iterable, Sequence

from study.report.letters import escape

# What Markdown takes for a mark: an underscore only at the edge of a word, & only before a name.
MARKS = re.compile(r"[\\|*\[\]~$`]|(?<![^\W_])_|_(?![^\W_])")
ENTITY = re.compile(r"&(?=#?\w+;)")


def markdown(plain: str) -> str:
    """Return plain text as Markdown that shows it, in a cell of a table too."""
    text = MARKS.sub(lambda mark: "\\" + mark[0], plain)
    return ENTITY.sub("&amp;", text).replace("<", "&lt;")


def escape_numbers(plain: str) -> str:
    """Return plain text as LaTeX text in which a hyphen before a number is a minus sign."""
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", escape(plain))


def latex_table(
    rows: Iterable[str],
    columns: str,
    caption: str,
    tag: str,
    size: str = "footnotesize",
    gap: int = 4,
    wide: bool = True,
    needs: str = "",
) -> str:
    r"""Return a table environment for ``\input``.

    Parameters
    ----------
    rows : iterable of str
        Lines of LaTeX between the top and bottom rules.
    columns : str
        Column specification of the ``tabular``.
    caption, tag : str
        Plain text; the label is ``tab:<tag>``.
    size : str
        Font size, a LaTeX command without its backslash.
    gap : int
        Half the space between two columns, in points.
    wide : bool
        Whether the table spans both columns of the page.
    needs : str
        LaTeX packages beside booktabs, named in a comment on the first line if there are any.
    """
    environment = "table*" if wide else "table"
    lines = [
        *([f"% needs {needs}"] if needs else []),
        rf"\begin{{{environment}}}[t]",
        r"\centering",
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{tab:{tag}}}",
        r"\smallskip",
        rf"\{size}",
        rf"\setlength{{\tabcolsep}}{{{gap}pt}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        rf"\end{{{environment}}}",
    ]
    return "\n".join(lines) + "\n"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], names: int = 1) -> str:
    """Return a Markdown table, its first ``names`` columns aligned left and the others right.

    A row shorter than the head, such as a title over rows, is filled up with empty cells.
    """
    lines = [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * names + "--:|" * (len(head) - names),
        *("| " + " | ".join(row) + " |" + " |" * (len(head) - len(row)) for row in rows),
    ]
    return "\n".join(lines)
