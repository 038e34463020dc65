"""Grocery Store."""

from __future__ import annotations

import csv
import io
from typing import Any

from sparcl.extraction.readers.listing import Listing, own
from sparcl.extraction.storage.protocol import Storage


def read_grocery(storage: Storage, block: dict[str, Any]) -> Listing:
    """Grocery Store with its lists: train and val are for training, the official test for testing; fine classes."""
    rows = list(csv.reader(io.StringIO(storage.read("classes.csv").decode("utf-8"))))[1:]
    names = {int(row[1]): row[0] for row in rows}
    if sorted(names) != list(range(len(names))):
        raise ValueError("classes.csv is not numbered 0, 1, 2, ...")
    present = set(storage.names())

    def samples(part: str) -> list[tuple[str, int]]:
        lines = storage.read(f"{part}.txt").decode("utf-8").splitlines()
        pairs = [
            (path.strip(), int(fine))
            for path, fine, _ in (line.split(",") for line in lines if line)
        ]
        missing = [path for path, _ in pairs if path not in present]
        if missing:
            raise ValueError(f"image {missing[0]} of {part}.txt is missing")
        return pairs

    return own(
        [names[i] for i in range(len(names))], samples("train") + samples("val"), samples("test")
    )
