"""Measured numbers of a suite beside published ones, which are greyed and in columns of their own."""

import pandas as pd

from figures import grid, main_table
from figures.frames import PUBLISHED, Frames, Options, fill, label, origin
from figures.grid import Cell, Origin
from sparcl.base.errors import InputError
from study.places import where

MEASURE = "A_bar"
SAID = {True: "published, comparable", False: "published, not comparable"}


def texts(frames: Frames, options: Options) -> dict[str, str]:
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
    own = {(r["method"], r["dataset"]): r for r in found.to_dict("records") if r["n"]}
    lines = [("", label(options, "methods", m, short=True), m, name) for m, name in names.items()]
    lines += [(title, name, "", name) for name, title in only.items()]
    cells = []
    for title, row, method, name in lines:
        place = {"group": title, "label": row}
        for dataset in options["datasets"]:
            run, head = own.get((method, dataset)), label(options, "datasets", dataset)
            source = Origin(run["file"], run["row"], run["column"]) if run else grid.NOWHERE
            shown = run["printed"] if run else grid.NOTHING
            cells.append(Cell(shown, over="measured", head=head, origin=source, **place))
        of_name = printed[printed["method"] == name]
        numbers = zip(comparable(of_name, options), of_name.to_dict("records"), strict=True)
        for same, number in numbers:
            place |= {"over": SAID[same], "head": number["dataset"]}
            source = origin(options, PUBLISHED, "value", id=number["id"])
            cells.append(Cell(number["printed"], quoted=True, origin=source, **place))
    caption = fill(options, found, orders=found["n"].max(), sessions=options["sessions"])
    return grid.texts(cells, caption, options["id"], needs="booktabs and xcolor")


def comparable(published: pd.DataFrame, options: Options) -> pd.Series:
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
