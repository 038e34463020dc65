"""What one method adds to others: paired differences, over orders and over test samples."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures.frames import label, origin, require, select
from figures.tables import ORIGIN, escape, numbers

SHOWN = {"A_bar": "average accuracy", "A_last": "last accuracy", "forgetting": "forgetting"}


def rows(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the comparisons of the suite with names of methods and data sets.

    ``printed`` and ``sampled`` are the two kinds of cells, each of one row of the summary: ``file``,
    ``row`` and ``column``, the first of difference, low, high (sample_low, sample_high).

    Parameters
    ----------
    frames : mapping
        ``comparisons``: one row a data set, opponent and measure.

    Raises
    ------
    InputError
        A data set is missing, or a difference is empty.
    """
    cells = select(frames, "comparisons", options, ["method", "against", "measure", "difference"])
    require(cells, "comparisons", ["difference"])
    cells["dataset_label"] = [label(options, "datasets", name) for name in cells["dataset"]]
    for column in ("method", "against"):
        cells[f"{column}_label"] = [label(options, "methods", name) for name in cells[column]]
    ranks = {kind: {n: i for i, n in enumerate(options[kind])} for kind in ("methods", "datasets")}
    position = [cells["against"].map(ranks["methods"]), cells["dataset"].map(ranks["datasets"])]
    order = pd.DataFrame(dict(enumerate(position))).sort_values([0, 1], kind="stable").index
    cells = cells.loc[order].reset_index(drop=True)
    cells["printed"] = [_interval(row, "low", "high") for _, row in cells.iterrows()]
    cells["sampled"] = [
        _interval(row, "sample_low", "sample_high") if row["measure"] == "A_last" else ""
        for _, row in cells.iterrows()
    ]
    keys = ["backbone", "dataset", "method", "against", "measure"]
    origins = [
        origin(options, "comparisons", "difference", **row)
        for row in cells[keys].to_dict("records")
    ]
    return cells.join(pd.DataFrame(origins, columns=ORIGIN))


def texts(cells: pd.DataFrame, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix; ``caption`` as in the main table."""
    caption = options["caption"].format(
        suite=cells["suite"].iloc[0],
        method=cells["method_label"].iloc[0],
        orders=cells["orders"].max(),
        sessions=options["sessions"],
    )
    heads = ["against", "data set", *SHOWN.values(), "last accuracy, over test samples"]
    table = [_line(group) for _, group in cells.groupby(["against", "dataset"], sort=False)]
    markdown = [caption, "", "| " + " | ".join(heads) + " |", "|---|---|" + "--:|" * 4]
    markdown += ["| " + " | ".join(line) + " |" for line in table]
    latex = [
        r"\begin{table*}[t]",
        r"\centering",
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{tab:{options.get('id', 'increments')}}}",
        r"\smallskip",
        r"\scriptsize",
        r"\setlength{\tabcolsep}{4pt}",
        r"\begin{tabular}{llrrrr}",
        r"\toprule",
        " & ".join(heads) + r" \\",
    ]
    previous = None
    for line in table:
        if line[0] != previous:
            latex.append(r"\midrule")
        shown = ["" if line[0] == previous else line[0], *line[1:]]
        latex.append(" & ".join(map(numbers, shown)) + r" \\")
        previous = line[0]
    latex += [r"\bottomrule", r"\end{tabular}", r"\end{table*}"]
    return {
        ".tex": "\n".join(latex) + "\n",
        ".md": "\n".join(markdown) + "\n",
        ".csv": cells.to_csv(index=False, float_format="%.6g", lineterminator="\n"),
    }


def _line(group: pd.DataFrame) -> list[str]:
    by_measure = group.set_index("measure")
    cells = [by_measure.loc[name, "printed"] for name in SHOWN]
    sampled = by_measure.loc["A_last", "sampled"]
    return [group["against_label"].iloc[0], group["dataset_label"].iloc[0], *cells, sampled]


def _interval(row: pd.Series, low: str, high: str) -> str:
    mean = f"{row['difference']:+.2f}"
    if pd.isna(row[low]):
        return mean
    return f"{mean} [{row[low]:+.2f}, {row[high]:+.2f}]"
