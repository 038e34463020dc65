"""Measured numbers of a suite beside published ones, which are greyed and in columns of their own."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import grid, main_table
from figures.frames import PUBLISHED, fill, label, origin
from figures.grid import Cell, Origin
from sparcl.base.errors import InputError
from study.places import where

MEASURE = "A_bar"
SAID = {True: "published, comparable", False: "published, not comparable"}


def texts(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table of average accuracies, in percent, by suffix.

    Parameters
    ----------
    frames : mapping
        ``runs``: one row per run; ``published``: quoted numbers (docs/published.md).
    options : mapping
        What `figures.main_table.rows` reads. ``place``: ``source`` and ``place`` of the published
        numbers; ``quoted_as``: method of the suite -> its name there; ``quoted``: title -> names
        there of methods, where the suite does not run them; ``caption`` with ``{suite}``, ``{backbone}``,
        ``{sessions}`` and ``{orders}``; ``id``.

    Raises
    ------
    InputError
        As the main table, or a method that ``quoted_as`` or ``quoted`` names is not published there.
    """
    table = frames[PUBLISHED]
    place = options["place"]
    here = (table["source"] == place["source"]) & (table["place"] == place["place"])
    printed = table[here & (table["metric"] == MEASURE)]
    names = {m: n for m, n in options["quoted_as"].items() if m in options["methods"]}
    quoted = {name: title for title, members in options["quoted"].items() for name in members}
    only = {name: title for name, title in quoted.items() if name not in names.values()}
    if missing := sorted({*names.values(), *only} - set(printed["method"])):
        raise InputError(
            f"data/published.csv has no {MEASURE} of {', '.join(missing)} at {place}; "
            f"take them out of {where('tables', options['id'])}"
        )
    found = main_table.rows(frames, options)
    found = found[(found["measure"] == MEASURE) & found["method"].isin(names)]
    cells = []
    for method, name in names.items():
        row = label(options, "methods", method, short=True)
        cells += _measured(found[found["method"] == method], row)
        cells += _quoted(printed, name, "", row, options)
    for name, title in only.items():
        cells += [
            Cell(
                grid.NOTHING,
                group=title,
                label=name,
                over="measured",
                head=label(options, "datasets", dataset),
            )
            for dataset in options["datasets"]
        ]
        cells += _quoted(printed, name, title, name, options)
    caption = fill(options, found, orders=found["n"].max(), sessions=options["sessions"])
    return grid.texts(cells, caption, options["id"], needs="booktabs and xcolor")


def comparable(published: pd.DataFrame, options: Mapping[str, Any]) -> pd.Series:
    """Return which published numbers may be compared with those of the suite.

    Data set, backbone, number of sessions and averaging must agree; the id of a data set stands
    for its split too.
    """
    return (
        published["dataset_id"].isin(list(options["datasets"]))
        & published["backbone_id"].isin(list(options["backbones"]))
        & (published["sessions"] == options["sessions"]).fillna(False)
        & (published["averaging"] == "samples")
    ).astype(bool)


def _measured(rows: pd.DataFrame, name: str) -> list[Cell]:
    """Return the cells of one method of the suite, one per data set."""
    return [
        Cell(
            row["printed"] if row["n"] else grid.NOTHING,
            label=name,
            over="measured",
            head=row["dataset_label"],
            origin=Origin(row["file"], row["row"], row["column"]) if row["n"] else None,
        )
        for row in rows.to_dict("records")
    ]


def _quoted(
    published: pd.DataFrame, name: str, group: str, row: str, options: Mapping[str, Any]
) -> list[Cell]:
    """Return the greyed cells of the method that is published as ``name``, one per data set."""
    of_method = published[published["method"] == name]
    return [
        Cell(
            number["printed"],
            group=group,
            label=row,
            over=SAID[same],
            head=number["dataset"],
            quoted=True,
            origin=origin(options, PUBLISHED, "value", id=number["id"]),
        )
        for same, number in zip(
            comparable(of_method, options), of_method.to_dict("records"), strict=True
        )
    ]
