"""Reading the CSV files that this project writes: a name stays the text that it is."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# Columns of names, hashes and printed cells. A reader of CSV files takes 2019, 1e3 and nan for numbers.
IDS = ("suite", "dataset", "backbone", "method", "against", "learner", "id", "stress")
HASHES = ("weights_sha256", "train_sha256", "test_sha256", "order_sha256")
SHOWN = ("dataset_label", "method_label", "against_label", "group", "label", "short", "printed")


def read_csv(path: str | Path) -> "pd.DataFrame":
    """Return a summary or table with its names as text, empty where a cell is; other columns as pandas takes them.

    Raises
    ------
    FileNotFoundError, pandas.errors.EmptyDataError
        As :func:`pandas.read_csv`.
    """
    import pandas as pd

    text = (*IDS, *HASHES, *SHOWN)
    numbers = [column for column in pd.read_csv(path, nrows=0).columns if column not in text]
    # `nan` and `null` are names too; only an empty cell of another column is none
    return pd.read_csv(
        path,
        dtype=dict.fromkeys(text, str),
        keep_default_na=False,
        na_values={column: [""] for column in numbers},
    )
