"""The main table's measures of two suites side by side: mild and hard orders, or shorter and longer streams."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from figures import main_table
from figures.main_table import texts

__all__ = ["rows", "texts"]


def rows(frames: Mapping[str, pd.DataFrame], options: Mapping[str, Any]) -> pd.DataFrame:
    """Return the main table's cells, every data set once a frame; best is the best of its column.

    Parameters
    ----------
    frames : mapping
        Runs of each suite, by the names in ``columns``.
    options : mapping
        As for the main table; ``columns``: frame -> what is written after the data set's name.
        Other methods and data sets of another suite are left out.

    Raises
    ------
    InputError
        As the main table.
    """
    parts = []
    for name, words in options["columns"].items():
        files = {"runs": options.get("files", {}).get(name, name)}
        cells = main_table.rows({"runs": frames[name]}, {**options, "files": files})
        cells["position"] = cells["dataset"].map(list(options["datasets"]).index)
        cells["dataset"] += f", {words}"
        cells["dataset_label"] += f", {words}"
        parts.append(cells)
    joined = pd.concat(parts, ignore_index=True).sort_values(["position"], kind="stable")
    return joined.drop(columns="position").reset_index(drop=True)
