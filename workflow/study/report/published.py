"""Numbers that others have published, one per row, as they are printed.

Tables quote them apart from measured ones and label them as published; nothing computes with them.  docs/published.md
describes the columns and the sources, and tests/report/test_published.py checks every row.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from sparcl.base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def read(path: str | Path) -> "pd.DataFrame":
    """Return the published numbers, in the order of the file, with the columns of the file and ``printed``.

    ``printed`` is the value as it stands in the file, with all its digits: what a table sets.
    ``value`` and ``spread`` are floats (``spread`` nan where none is given), ``sessions`` a nullable
    integer, all else text, empty where it does not apply.

    Raises
    ------
    InputError
        The file is missing, or is not this project's.
    """
    import pandas as pd

    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, index_col=False)
        frame.insert(frame.columns.tolist().index("value"), "printed", frame["value"])
        for column in ("value", "spread"):
            frame[column] = pd.to_numeric(frame[column]).astype(float)
        frame["sessions"] = pd.to_numeric(frame["sessions"]).astype("Int64")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: cannot be read ({error}). It is part of this project: `git checkout` brings it back."
        ) from error
    return frame
