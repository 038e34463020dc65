"""The cells of a table in the making: each with its place, its marks, and where it comes from."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd

from figures import grid
from figures.frames import PAIR, Options, fill, label, measured, origin
from study.report.differences import Differences, against_best


class Sheet:
    """The cells of a table that shows one frame.

    Parameters
    ----------
    options : mapping
        What the table is told.
    name : str
        The frame.
    rows : DataFrame
        Those of it that are shown; of one backbone, if they name any.
    short : bool
        Whether methods have their short labels.
    place
        ``part``, ``label``, ``over`` or ``head`` -> the key whose value stands there (``dataset``, ``method``,
        ``session``, ``stress``, ``rate``).
    """

    def __init__(
        self,
        options: Options,
        name: str,
        rows: pd.DataFrame,
        short: bool = False,
        **place: str,
    ) -> None:
        self.options, self.name, self.rows = options, name, rows
        self.short, self.place = short, place
        self.cells: list[grid.Cell] = []

    def add(
        self,
        printed: str,
        column: str,
        keys: Mapping[str, Any],
        best: bool = False,
        tied: bool = False,
        *,
        name: str = "",
        **texts: str,
    ) -> None:
        """Add a cell, made from a column of the rows that share ``keys``; ``texts`` stand at the other places.

        ``name`` is the frame of the rows, if it is another one.
        """
        place: dict[str, Any] = texts | {at: self._text(k, keys[k]) for at, k in self.place.items()}
        source = grid.NOWHERE
        if printed != grid.NOTHING:
            of = {"backbone": self.rows["backbone"].iloc[0]} if "backbone" in self.rows else {}
            source = origin(self.options, name or self.name, column, **of, **keys)
        self.cells.append(grid.Cell(printed, best=best, tied=tied, origin=source, **place))

    def _text(self, key: str, value: Any) -> str:
        if key in ("dataset", "method"):
            return label(self.options, f"{key}s", value, short=self.short and key == "method")
        return str(value).replace("-", " ")

    def texts(self, wide: bool = True, **values: Any) -> dict[str, str]:
        """Return the files of the table by suffix; ``values`` are fields of its caption, as of `frames.fill`."""
        caption = fill(self.options, self.rows, **values)
        return grid.texts(self.cells, caption, self.options["id"], wide)


def groups(
    rows: pd.DataFrame, options: Options, *keys: str
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield keys and rows of each data set, in the order of the suite, and value of ``keys`` in it, sorted."""
    for dataset in options["datasets"]:
        of_set = rows[rows["dataset"] == dataset]
        for values, group in of_set.groupby(list(keys)) if keys else [((), of_set)]:
            yield {"dataset": dataset} | dict(zip(keys, values, strict=True)), group


def judged(
    rows: pd.DataFrame, options: Options, measure: str, pairs: Differences, keys: Mapping[str, Any]
) -> dict[str, dict[Any, Any]]:
    """Return what `study.report.differences.against_best` says of each method, in the order of the suite.

    ``keys`` tell which differences are those of these rows.
    """
    values = rows.pivot(index=PAIR, columns="method", values=measure)[measured(options)]
    found = against_best(values, True, partial(pairs.between, measure=measure, **keys))
    return {method: found.loc[method].to_dict() for method in values.columns}
