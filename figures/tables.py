"""Tables of mean ± standard deviation, with the best set in bold by a paired interval, as LaTeX, Markdown and text.

A table is a long data frame of cells. A cell that should have been measured and was not cannot exist in it; one whose
method the backbone has no features for has n = 0 and says so.
"""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from sparcl.base.errors import InputError

ABSENT = "no block features"
MANY = 20  # rows of a block beyond which a page needs smaller type
ORIGIN = ["file", "row", "column"]  # where a cell comes from: `figures.frames.origin`
MARKS = ["best", "underlined"]  # columns of cells: set in bold, underlined


class Measure(NamedTuple):
    """A column group: how a quantity is named and printed."""

    tex: str
    plain: str
    digits: int
    higher_is_better: bool
    scale: float = 1.0  # printed = stored * scale


def compare(values: pd.DataFrame, higher_is_better: bool, level: float = 0.95) -> pd.DataFrame:
    r"""Mark the best method and every method that repetitions cannot tell from it.

    With :math:`d_i` the amount by which a method is worse than the best one in repetition i, a method
    is as good if the two-sided t-interval :math:`\bar d \pm t_{n-1} s_d / \sqrt n` contains zero. One
    repetition gives no interval: then only methods with exactly the best value are marked.

    Parameters
    ----------
    values : DataFrame, shape (n repetitions, n methods)
        The same repetitions for every method.
    higher_is_better : bool
    level : float
        Confidence of the interval.

    Returns
    -------
    DataFrame
        A row per method: ``n``, ``mean``, ``std`` (n - 1 in the denominator, NaN for n = 1),
        ``gap``, ``gap_low``, ``gap_high`` (mean and interval of d), ``best``.

    Raises
    ------
    InputError
        A value is missing, infinite or no number.
    """
    values = values.apply(pd.to_numeric, errors="coerce")
    if not np.isfinite(values.to_numpy(dtype=float)).all():
        bad = values.columns[~np.isfinite(values.to_numpy(dtype=float)).all(axis=0)]
        raise InputError(
            f"no finite value in some repetition of {', '.join(map(str, bad))}; a table has no empty cells"
        )
    n = len(values)
    mean = values.mean()
    winner = mean.idxmax() if higher_is_better else mean.idxmin()
    worse = (-values if higher_is_better else values).sub(
        (-values if higher_is_better else values)[winner], axis=0
    )
    gap = worse.mean()
    half = worse.std() * stdtrit(n - 1, 0.5 + level / 2) / np.sqrt(n) if n > 1 else gap * np.nan
    best = (gap - half <= 0) if n > 1 else (gap == 0)
    return pd.DataFrame(
        {
            "n": n,
            "mean": mean,
            "std": values.std(),
            "gap": gap,
            "gap_low": gap - half,
            "gap_high": gap + half,
            "best": best,
        }
    )


def latex(
    cells: pd.DataFrame,
    blocks: Sequence[Sequence[str]],
    measures: dict[str, Measure],
    caption: str,
    tag: str,
) -> str:
    r"""Return a ``table*`` for ``\input`` that needs booktabs and nothing else.

    Numbers have fixed digits and are padded with ``\phantom``, so that they align on the decimal
    point. Methods go by their short names: eight columns of numbers fill a page.

    Parameters
    ----------
    cells : DataFrame
        Columns ``group, label, short, measure, dataset, dataset_label, n, mean, std, best, underlined``.
    blocks : sequence of sequences of str
        Measures side by side, block under block.
    caption, tag : str
        Plain text of the caption; what follows ``tab:`` in the label.
    """
    lines = [
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{tab:{tag}}}",
        r"\smallskip",
        r"\scriptsize" if cells["method"].nunique() > MANY else r"\footnotesize",
        r"\setlength{\tabcolsep}{3pt}",
    ]
    datasets = _datasets(cells)
    width = len(datasets)
    groups = max(len(block) for block in blocks)
    columns = groups * width
    numbers = r"@{\hskip 10pt}".join(["r" * width] * groups)
    lines += [rf"\begin{{tabular}}{{l{numbers}}}", r"\toprule"]
    for number, block in enumerate(blocks):
        if number:
            lines.append(r"\midrule[\heavyrulewidth]")
        heads = [
            rf"\multicolumn{{{width}}}{{c}}{{{_head(measures[m], len(block))}}}" for m in block
        ]
        rules = [
            rf"\cmidrule(lr){{{2 + i * width}-{1 + (i + 1) * width}}}" for i in range(len(block))
        ]
        names = [
            rf"\multicolumn{{1}}{{c}}{{{escape(name)}}}"
            for _ in block
            for name in datasets.values()
        ]
        lines += [
            " & " + " & ".join(heads) + r" \\",
            "".join(rules),
            " & " + " & ".join(names) + r" \\",
        ]
        shown = {(m, d): _padded(cells, m, d, measures[m]) for m in block for d in datasets}
        for group, methods in _groups(cells, "short").items():
            lines += [
                r"\midrule",
                rf"\multicolumn{{{1 + columns}}}{{l}}{{\emph{{{escape(group)}}}}} \\",
            ]
            for method, name in methods.items():
                row = [_joined([shown[m, d][method] for d in datasets]) for m in block]
                lines.append(r"\quad " + escape(name) + " & " + " & ".join(row) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table*}"]
    return "\n".join(lines) + "\n"


def markdown(
    cells: pd.DataFrame, blocks: Sequence[Sequence[str]], measures: dict[str, Measure], caption: str
) -> str:
    """Return the caption and one Markdown table per measure."""
    datasets = _datasets(cells)
    parts = [caption]
    for measure in (m for block in blocks for m in block):
        lines = [
            f"| {measures[measure].plain} | " + " | ".join(datasets.values()) + " |",
            "|---|" + "--:|" * len(datasets),
        ]
        for group, methods in _groups(cells).items():
            lines.append(f"| *{group}* |" + " |" * len(datasets))
            for method, name in methods.items():
                row = [
                    _cell(cells, method, measure, d, measures[measure], "**{}**", "<ins>{}</ins>")
                    for d in datasets
                ]
                lines.append(f"| {name} | " + " | ".join(row) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def text(cells: pd.DataFrame, measures: dict[str, Measure], width: int = 100) -> str:
    """Return the table for a terminal: as many measures side by side as ``width`` columns hold, best marked ``*``."""
    datasets = _datasets(cells)
    groups = _groups(cells)
    stub = 2 + max(len(name) for methods in groups.values() for name in methods.values())
    columns = {}  # measure -> lines of text, without the row names
    for measure in dict.fromkeys(cells["measure"]):
        body = {
            d: {
                m: _cell(cells, m, measure, d, measures[measure], "*{}", "{}")
                for g in groups.values()
                for m in g
            }
            for d in datasets
        }
        cell = {d: max(len(datasets[d]), *map(len, body[d].values())) + 2 for d in datasets}
        head = [
            f"  {measures[measure].plain}",
            "".join(f"{datasets[d]:>{cell[d]}}" for d in datasets),
        ]
        rows = [
            line
            for methods in groups.values()
            for line in (
                "",
                *("".join(f"{body[d][m]:>{cell[d]}}" for d in datasets) for m in methods),
            )
        ]
        size = max(map(len, head + rows))
        columns[measure] = [f"{line:<{size}}" for line in head + rows]
    names = ["", ""] + [
        line
        for group, methods in groups.items()
        for line in (group, *(f"  {n}" for n in methods.values()))
    ]
    blocks: list[list[list[str]]] = []
    for lines in columns.values():
        if blocks and stub + sum(len(column[0]) for column in blocks[-1]) + len(lines[0]) <= width:
            blocks[-1].append(lines)
        else:
            blocks.append([lines])
    rendered = [
        "\n".join(
            (f"{name:<{stub}}" + "".join(parts)).rstrip()
            for name, *parts in zip(names, *block, strict=True)
        )
        for block in blocks
    ]
    return "\n\n".join(rendered) + "\n"


def printed(n: int, mean: float, std: float, shown: Measure) -> str:
    """Return a cell of n repetitions as printed, without marks; one repetition has no deviation."""
    if n == 0:
        return ABSENT
    values = [mean] if np.isnan(std) else [mean, std]
    return " ± ".join(f"{value * shown.scale:.{shown.digits}f}" for value in values)


def escape(plain: str) -> str:
    """Return plain text as LaTeX text."""
    special = {c: "\\" + c for c in "&%$#_{}"} | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\^{}",
    }
    special |= {"±": r"$\pm$", "τ": r"$\tau$", "λ": r"$\lambda$", "κ": r"$\kappa$"}
    return "".join(special.get(c, c) for c in plain)


def numbers(plain: str) -> str:
    """Return plain text with numbers in it as LaTeX text: a hyphen before a number is a minus."""
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", escape(plain))


def _head(measure: Measure, beside: int) -> str:
    """Return a measure's name over its columns; where more than two share a line it is broken."""
    if beside <= 2:
        return measure.tex
    return rf"\parbox[b]{{{0.8 / beside:.2f}\textwidth}}{{\centering {measure.tex}}}"


def _datasets(cells: pd.DataFrame) -> dict[str, str]:
    """Return id -> label, in order."""
    return dict(zip(cells["dataset"], cells["dataset_label"], strict=True))


def _groups(cells: pd.DataFrame, name: str = "label") -> dict[str, dict[str, str]]:
    """Return group -> method id -> label, in order."""
    groups: dict[str, dict[str, str]] = {}
    for group, method, label in zip(cells["group"], cells["method"], cells[name], strict=True):
        groups.setdefault(group, {})[method] = label
    return groups


class _Printed(NamedTuple):
    """A cell as printed; the deviation is empty for one repetition."""

    mean: str
    deviation: str
    best: bool
    underlined: bool

    def marked(self, bold: str, underline: str) -> str:
        """Return the mean in its marks; each is a text with a pair of braces."""
        shown = bold.format(self.mean) if self.best else self.mean
        return underline.format(shown) if self.underlined else shown


def _numbers(
    cells: pd.DataFrame, method: str, measure: str, dataset: str, shown: Measure
) -> _Printed:
    """Return one cell as it is printed."""
    cell = cells[
        (cells["method"] == method) & (cells["measure"] == measure) & (cells["dataset"] == dataset)
    ]
    if len(cell) == 1 and cell["n"].iloc[0] == 0:
        return _Printed(ABSENT, "", False, False)
    if len(cell) != 1 or not np.isfinite(cell["mean"].iloc[0]):
        raise InputError(
            f"table cell without a source: {method}, {measure}, data set {dataset} has {len(cell)} value(s)"
        )
    n, mean, std, *marks = (cell[column].iloc[0] for column in ("n", "mean", "std", *MARKS))
    value, _, deviation = printed(n, mean, std, shown).partition(" ± ")
    return _Printed(value, deviation, *map(bool, marks))


def _cell(
    cells: pd.DataFrame,
    method: str,
    measure: str,
    dataset: str,
    shown: Measure,
    bold: str,
    underline: str,
) -> str:
    """One cell of plain text."""
    cell = _numbers(cells, method, measure, dataset, shown)
    return cell.marked(bold, underline) + (f" ± {cell.deviation}" if cell.deviation else "")


def _padded(cells: pd.DataFrame, measure: str, dataset: str, shown: Measure) -> dict[str, str]:
    """One column of LaTeX cells by method, of equal width on each side of the sign."""
    methods = [m for group in _groups(cells).values() for m in group]
    numbers = {m: _numbers(cells, m, measure, dataset, shown) for m in methods}
    widest = max(len(cell.deviation) for cell in numbers.values())
    column = {}
    for method, cell in numbers.items():
        zeros = "0" * (widest - len(cell.deviation))
        pad = rf"\phantom{{{zeros}}}" if zeros else ""
        spread = rf" {{\scriptsize$\pm$\,{pad}{cell.deviation}}}" if cell.deviation else ""
        column[method] = cell.marked(r"\textbf{{{}}}", r"\underline{{{}}}") + spread
    return column


def _joined(row: Sequence[str]) -> str:
    """Cells of LaTeX side by side; neighbours without a value share one, since eight would not fit the page."""
    parts: list[str] = []
    for text, run in groupby(row):
        same = list(run)
        parts += [rf"\multicolumn{{{len(same)}}}{{c}}{{{text}}}"] if text == ABSENT else same
    return " & ".join(parts)
