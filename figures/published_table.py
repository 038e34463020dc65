"""Measured numbers of a suite, and published ones beside them in columns of their own, greyed."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import grid, main_table
from figures.frames import PUBLISHED, label, origin
from figures.tables import ORIGIN
from sparcl.base.errors import InputError

MEASURE = "A_bar"


def rows(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the grid of measured and published average accuracies.

    Parameters
    ----------
    frames : mapping
        ``runs``: one row a run; ``published``: quoted numbers.
    options : mapping
        ``place``: source and place of the published numbers. ``quoted_as``: method of the suite -> its
        name there. ``quoted``: title -> names of methods there that are not run here.

    Raises
    ------
    InputError
        As the main table, or when a method that ``quoted_as`` or ``quoted`` names was not published there.
    """
    printed = _place(frames[PUBLISHED], options["place"])
    names = {m: n for m, n in options["quoted_as"].items() if m in options["methods"]}
    only = {name: title for title, members in options["quoted"].items() for name in members}
    if missing := sorted({*names.values(), *only} - set(printed["method"])):
        raise InputError(
            f"data/published.csv has no {MEASURE} of {', '.join(missing)} at {options['place']}; "
            "take them out of the table's block in params.yaml"
        )
    found = main_table.rows(frames, options)
    found = found[(found["measure"] == MEASURE) & found["method"].isin(names)]
    measured = {key: cell for key, cell in found.groupby(["method", "dataset"])}
    cells: list[dict[str, Any]] = []
    for method, name in names.items():
        row = {"group": "", "label": label(options, "methods", method, short=True)}
        for dataset in options["datasets"]:
            cell = measured[method, dataset].iloc[0]
            head = {"over": "measured", "head": label(options, "datasets", dataset)}
            shown = cell[["printed", *ORIGIN]].to_dict() if cell["n"] else {"printed": grid.NOTHING}
            cells.append(row | head | shown)
        cells += [row | cell for cell in _quoted(printed, name, options)]
    for name, title in only.items():
        row = {"group": title, "label": name}
        labels = [label(options, "datasets", dataset) for dataset in options["datasets"]]
        cells += [row | {"over": "measured", "head": h, "printed": grid.NOTHING} for h in labels]
        cells += [row | cell for cell in _quoted(printed, name, options)]
    return grid.grid(cells).assign(suite=found["suite"].iloc[0], orders=found["n"].max())


def texts(cells: pd.DataFrame, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the table by suffix; ``caption`` as in the main table."""
    (backbone,) = options["backbones"].values()
    caption = options["caption"].format(
        suite=options["suite"],
        backbone=backbone["label"],
        sessions=options["sessions"],
        orders=cells["orders"].iloc[0],
    )
    return grid.texts(cells[grid.COLUMNS], caption, options["id"], needs="booktabs and xcolor")


def comparable(published: pd.DataFrame, options: Mapping[str, Any]) -> pd.Series:
    """Return which published numbers may be compared.

    A data set's id stands for its split too; backbone, number of sessions and averaging must agree as well.
    """
    return (
        published["dataset_id"].isin(list(options["datasets"]))
        & published["backbone_id"].isin(list(options["backbones"]))
        & (published["sessions"] == options["sessions"]).fillna(False)
        & (published["averaging"] == "samples")
    ).astype(bool)


def _place(published: pd.DataFrame, place: Mapping[str, str]) -> pd.DataFrame:
    """Return the accuracies of one place of one source."""
    here = published["metric"] == MEASURE
    for key in ("source", "place"):
        here &= published[key] == place[key]
    return published[here]


def _quoted(published: pd.DataFrame, name: str, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the greyed cells of one method, a data set each."""
    of_method = published[published["method"] == name]
    said = ["published, not comparable", "published, comparable"]
    return [
        {"over": said[same], "head": cell.dataset, "printed": cell.printed, "quoted": True}
        | origin(options, PUBLISHED, "value", id=cell.id)
        for same, cell in zip(comparable(of_method, options), of_method.itertuples(), strict=True)
    ]
