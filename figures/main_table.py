"""The main table: accuracy, forgetting and drift of every method on every data set.

``python -m figures.main_table paper/bundled/tables/main.csv`` prints it.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from figures import tables
from figures.frames import PAIR, label, measured, origin, require, select
from figures.tables import Measure
from sparcl.base.errors import ConfigError

MEASURES = {
    "A_bar": Measure(
        r"average accuracy $\bar A$ (\%) $\uparrow$",
        "average accuracy over sessions, % (higher is better)",
        digits=1,
        higher_is_better=True,
    ),
    "A_last": Measure(
        r"accuracy after the last session (\%) $\uparrow$",
        "accuracy after the last session, % (higher is better)",
        digits=1,
        higher_is_better=True,
    ),
    "forgetting": Measure(
        r"forgetting (points) $\downarrow$",
        "forgetting, points (lower is better)",
        digits=1,
        higher_is_better=False,
    ),
    "drift_scaled": Measure(
        r"old-logit drift (\% of the logits' s.d.) $\downarrow$",
        "old-logit drift, % of the logits' s.d. (lower is better)",
        digits=1,
        higher_is_better=False,
        scale=100,
    ),
}
REST = "Other methods"


def rows(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the cells of the table, one row each.

    Parameters
    ----------
    frames : mapping
        ``runs``: one row a run.
    options : mapping
        ``datasets``, ``methods``, ``backbones``; ``groups``: title -> ids of methods, in the order of
        the rows. Methods of the suite that no group names come last; ids outside the suite are skipped.
        ``absent``: methods of the suite that the backbone has no features for; their cells have n = 0.
        ``underline``: methods whose best is marked among themselves, by the rule of the best of all.

    Returns
    -------
    DataFrame
        ``suite, backbone, sessions, dataset, dataset_label, measure, group, label, short, method`` and the
        columns of `figures.tables.compare`; ``underlined``: the best of ``underline``; ``printed``, and
        ``file, row, column`` that it comes from.

    Raises
    ------
    InputError
        A data set, method, pair or value is missing, or data sets differ in their number of sessions.
    """
    methods = list(options["methods"])
    ran = measured(options)
    runs = select(frames, "runs", options, ["sessions", *MEASURES], ran)
    require(runs, "runs", list(MEASURES))
    group_of = _ordered(methods, options.get("groups", {}))
    parts = []
    for measure, described in MEASURES.items():
        for dataset in options["datasets"]:
            of_set = runs[runs["dataset"] == dataset]
            values = of_set.pivot(index=PAIR, columns="method", values=measure)
            values = values[[method for method in group_of if method in ran]]
            part = tables.compare(values, described.higher_is_better)
            part["underlined"] = False
            if among := [m for m in values.columns if m in options.get("underline", ())]:
                of_class = tables.compare(values[among], described.higher_is_better)
                part.loc[among, "underlined"] = of_class["best"]
            part = part.reindex(list(group_of))
            part["n"] = part["n"].fillna(0).astype(int)
            part[tables.MARKS] = part[tables.MARKS].eq(True)
            part = part.reset_index(names="method")
            part.insert(0, "measure", measure)
            part.insert(0, "dataset_label", label(options, "datasets", dataset))
            part.insert(0, "dataset", dataset)
            part.insert(0, "sessions", "/".join(map(str, sorted(of_set["sessions"].unique()))))
            parts.append(part)
    cells = pd.concat(parts, ignore_index=True)
    cells.insert(0, "backbone", runs["backbone"].iloc[0])
    cells.insert(0, "suite", runs["suite"].iloc[0])
    cells.insert(6, "short", [label(options, "methods", m, short=True) for m in cells["method"]])
    cells.insert(6, "label", [label(options, "methods", m) for m in cells["method"]])
    cells.insert(6, "group", [group_of[m] for m in cells["method"]])
    cells["printed"] = [
        tables.printed(row.n, row.mean, row.std, MEASURES[row.measure])
        for row in cells.itertuples()
    ]
    origins = [
        origin(
            options,
            "runs",
            row.measure,
            backbone=row.backbone,
            dataset=row.dataset,
            method=row.method,
        )
        if row.n
        else {}
        for row in cells.itertuples()
    ]
    return cells.join(pd.DataFrame(origins, columns=tables.ORIGIN))


def texts(cells: pd.DataFrame, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix.

    Parameters
    ----------
    cells : DataFrame
        What `rows` returned.
    options : mapping
        ``caption``, with ``{suite}``, ``{backbone}``, ``{sessions}``, ``{orders}`` to be filled in;
        ``notes``: sentences behind it (``text``), each where one of its methods (``of``) has a row;
        ``blocks``: measures side by side, block under block (all, one a block, if left out);
        ``id``: of the table, for its LaTeX label.

    Raises
    ------
    ConfigError
        ``blocks`` names a measure that does not exist.
    """
    caption = options["caption"].format(
        suite=cells["suite"].iloc[0],
        backbone=label(options, "backbones", cells["backbone"].iloc[0]),
        sessions=" or ".join(dict.fromkeys(map(str, cells["sessions"]))),
        orders=cells["n"].max(),
    )
    shown = set(cells["method"])
    notes = [note["text"] for note in options.get("notes", []) if shown & set(note["of"])]
    caption = " ".join([caption, *notes])
    blocks = options.get("blocks", [[measure] for measure in MEASURES])
    if unknown := [m for block in blocks for m in block if m not in MEASURES]:
        raise ConfigError(
            f"tables.{options.get('id', 'main')}.blocks in params.yaml names {', '.join(unknown)}; "
            f"there are {', '.join(MEASURES)}"
        )
    return {
        ".tex": tables.latex(cells, blocks, MEASURES, caption, options.get("id", "main")),
        ".md": tables.markdown(cells, blocks, MEASURES, caption),
        ".csv": cells.astype(dict.fromkeys(tables.MARKS, int)).to_csv(
            index=False, float_format="%.6f", lineterminator="\n"
        ),
    }


def _ordered(methods: list[str], groups: Mapping[str, list[str]]) -> dict[str, str]:
    """Return method -> group in the order of the rows."""
    placed = {m: group for group, members in groups.items() for m in members if m in methods}
    return placed | {m: REST for m in methods if m not in placed}


def main(arguments: list[str]) -> int:
    """Print the table that a CSV file holds."""
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        print(
            "usage: python -m figures.main_table paper/<suite>/tables/main.csv (made by `snakemake tables`)",
            file=sys.stderr,
        )
        return 2
    cells = pd.read_csv(arguments[0])
    print(tables.text(cells, MEASURES))
    print(
        "* best, or not told apart from it by the 95% interval of the paired difference over orders"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
