"""Gain of one method over others: paired differences with their intervals, on each data set and over all."""

from itertools import groupby, product

import pandas as pd

from figures.frames import Frames, Options, differences, fill, label, of_pair, origin, select
from figures.grid import DAGGER, NOTHING
from figures.markup import escape_numbers, latex_table, markdown, markdown_table
from study.report.differences import ALL

SHOWN = {"A_bar": "average accuracy", "A_last": "last accuracy", "forgetting": "forgetting"}
HEADS = ["against", "data set", *SHOWN.values(), "last accuracy, classes drawn"]
MEAN = "mean of all"


def texts(frames: Frames, options: Options) -> dict[str, str]:
    """Return the files of the table by suffix.

    Parameters
    ----------
    frames : mapping
        ``differences``: one row per data set, pair of methods and measure, in points.
    options : mapping
        ``datasets``, ``methods``, ``backbones``, ``sessions``; ``compare``: ``of``, and the methods ``against`` which
        it is held; ``caption`` with ``{suite}``, ``{backbone}``, ``{sessions}``, ``{orders}`` and ``{method}``; ``id``.

    Raises
    ------
    InputError
        A data set or a difference is missing.
    """
    cells = rows(frames, options)
    method, orders = cells["method_label"].iloc[0], cells["orders"].max()
    caption = fill(options, cells, method=method, orders=orders)
    lines = [
        [*names, *(of["printed"] + of["tied"].map({0: "", 1: DAGGER})), max(of["classes"])]
        for names, of in cells.groupby(["against_label", "dataset_label"], sort=False)
    ]
    written = [[*map(markdown, line[:2]), *line[2:]] for line in lines]
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


def rows(frames: Frames, options: Options) -> pd.DataFrame:
    """Return the differences with labels, texts and origins, sorted as the suite lists its members.

    ``printed`` has the interval over class orders and test samples, ``classes`` that where classes are drawn too.
    """
    name, of = "differences", options["compare"]["of"]
    table = select(frames, name, options, ["method", "against", "measure", "difference"])
    pairs = differences(frames, options)
    names = [m for m in options["methods"] if m in options["compare"]["against"]]
    datasets = [*options["datasets"], *([ALL] if len(options["datasets"]) > 1 else [])]
    keys = {key: table[key].iloc[0] for key in ("suite", "backbone")}
    keys |= {"method": of, "method_label": label(options, "methods", of)}
    found = []
    for against, dataset, measure in product(names, datasets, SHOWN):
        row = keys | {"dataset": dataset, "against": against, "measure": measure}
        row["orders"] = table["orders"].max()
        row["against_label"] = label(options, "methods", against)
        row["dataset_label"] = MEAN if dataset == ALL else label(options, "datasets", dataset)
        if measure == "forgetting" and options["sessions"] == 1:  # nothing is old
            found.append(row | {"printed": NOTHING, "tied": 0, "classes": ""})
            continue
        it = pairs.between(of, against, dataset, measure)
        classes = _interval(it.difference, it.class_low, it.class_high)
        row |= {"printed": _interval(it.difference, it.low, it.high)}
        row |= {"tied": int(it.verdict == "tie"), "classes": classes if measure == "A_last" else ""}
        where = {"backbone": row["backbone"], **of_pair(dataset, measure, of, against)}
        found.append(row | origin(options, name, "difference", **where)._asdict())
    return pd.DataFrame(found)


def _interval(mean: float, low: float, high: float) -> str:
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"
