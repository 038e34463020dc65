"""A bar on the terminal while a file is read: the rows go through it unchanged."""

import io
import sys

import numpy as np
import pytest

from sparcl.app import bars


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_rows_go_through_unchanged(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(bars, "PATIENCE", 0.0)
    blocks = [(np.full((3, 2), i), np.arange(3)) for i in range(4)]
    read = list(bars.shown(iter(blocks), 12, "train.h5"))
    assert all(a is c and b is d for (a, b), (c, d) in zip(read, blocks, strict=True))
    assert ("train.h5" in stream.getvalue()) is isinstance(stream, Terminal)
    assert ("12" in stream.getvalue()) is isinstance(stream, Terminal)
