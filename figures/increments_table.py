"""What one method adds to others: paired differences, over class orders and over test samples."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import pandas as pd

from figures.frames import fill, label, origin, require, select
from figures.grid import NOTHING
from figures.markup import escape_numbers, latex_table, markdown, markdown_table

SHOWN = {"A_bar": "average accuracy", "A_last": "last accuracy", "forgetting": "forgetting"}
HEADS = ["against", "data set", *SHOWN.values(), "last accuracy, over test samples"]


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix.

    Parameters
    ----------
    frames : mapping
        ``comparisons``: one row per data set, opponent and measure, in points.
    options : mapping
        ``datasets``, ``methods``, ``backbones``, ``sessions``; ``caption`` with ``{suite}``,
        ``{backbone}``, ``{sessions}``, ``{orders}`` and ``{method}``; ``id``.

    Raises
    ------
    InputError
        A data set is missing, or a difference is empty.
    """
    cells = rows(frames, options)
    method, orders = cells["method_label"].iloc[0], cells["orders"].max()
    caption = fill(options, cells, method=method, orders=orders)
    lines = [_line(row) for _, row in cells.groupby(["against_label", "dataset_label"], sort=False)]
    written = [
        [markdown(opponent), markdown(dataset), *shown] for opponent, dataset, *shown in lines
    ]
    latex = [" & ".join(HEADS) + r" \\"]
    for opponent, of_opponent in groupby(lines, key=lambda line: line[0]):
        latex.append(r"\midrule")
        for number, (_, *shown) in enumerate(of_opponent):
            names = ["" if number else opponent, *shown]
            latex.append(" & ".join(map(escape_numbers, names)) + r" \\")
    return {
        ".tex": latex_table(latex, "llrrrr", caption, options["id"], size="scriptsize"),
        ".md": f"{markdown(caption)}\n\n{markdown_table(HEADS, written, names=2)}\n",
        ".csv": cells.to_csv(index=False, float_format="%.6g", lineterminator="\n"),
    }


def rows(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the comparisons with labels, texts and origins, sorted as the suite lists its members.

    ``printed`` is of the interval over class orders and ``sampled`` of that over test samples; the
    origin is that of the difference, whose row has the limits too (``low``, ``high``,
    ``sample_low``, ``sample_high``).
    """
    name = "comparisons"
    table = select(frames, name, options, ["method", "against", "measure", "difference"])
    # In a stream of one session nothing is old, and no forgetting is defined.
    alone = (table["measure"] == "forgetting") & (options["sessions"] == 1)
    require(table[~alone], name, ["difference"])
    places = {kind: list(options[kind]).index for kind in ("methods", "datasets")}
    found = []
    for row in table.to_dict("records"):
        where = {k: row[k] for k in ("backbone", "dataset", "method", "against", "measure")}
        place = places["methods"](row["against"]), places["datasets"](row["dataset"])
        told = {
            "dataset_label": label(options, "datasets", row["dataset"]),
            "method_label": label(options, "methods", row["method"]),
            "against_label": label(options, "methods", row["against"]),
            "printed": _interval(row, "low", "high"),
            "sampled": _interval(row, "sample_low", "sample_high")
            if row["measure"] == "A_last"
            else "",
        }
        found.append((place, row | told | origin(options, name, "difference", **where)._asdict()))
    return pd.DataFrame([row for _, row in sorted(found, key=lambda item: item[0])])


def _line(group: pd.DataFrame) -> list[str]:
    """Return the names and cells of one opponent and data set."""
    by_measure = group.set_index("measure")
    names = group[["against_label", "dataset_label"]].iloc[0]
    return [*names, *by_measure["printed"][list(SHOWN)], by_measure["sampled"]["A_last"]]


def _interval(row: Mapping[Any, Any], low: str, high: str) -> str:
    if pd.isna(row["difference"]):
        return NOTHING
    mean = f"{row['difference']:+.2f}"
    return mean if pd.isna(row[low]) else f"{mean} [{row[low]:+.2f}, {row[high]:+.2f}]"
