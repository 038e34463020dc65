"""What figures and tables of streams that go wrong share: the rows of one stream, complete."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from figures.frames import require, select

LAST, OLD = "A_last", "A_old"


def streams(frames: Mapping[str, pd.DataFrame]) -> list[tuple[str, float]]:
    """Return kind and rate of each stream of a summary, in the order of its rows."""
    found = frames["rates"][["stress", "rate"]].drop_duplicates()
    return list(found.sort_values(["stress", "rate"]).itertuples(index=False, name=None))


def of_stream(
    frames: Mapping[str, pd.DataFrame],
    options: Mapping[str, Any],
    stream: tuple[str, float],
    methods: Sequence[str],
) -> pd.DataFrame:
    """Return the rows of one stream; InputError where a data set, method, pair or number is missing."""
    table = frames["rates"]
    mine = table[(table["stress"] == stream[0]) & (table["rate"] == stream[1])]
    rows = select({"rates": mine}, "rates", options, [LAST, OLD], methods)
    require(rows, "rates", [LAST, OLD])
    return rows
