"""A bar on the terminal while a feature file is read."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from numpy.typing import NDArray

from sparcl.base.terminal import printable
from sparcl.base.types import Array

Blocks = Iterator[tuple[Array, NDArray]]
PATIENCE = 1.0  # seconds that pass before there is a bar


def shown(blocks: Blocks, n: int, path: Path) -> Blocks:
    """Yield blocks of rows and labels, with a bar of the n rows on standard error, if it is a terminal.

    There is none without tqdm, which the extras bring, nor for a file that takes less than a second.
    """
    if not sys.stderr.isatty() or find_spec("tqdm") is None:
        yield from blocks
        return
    from tqdm import tqdm

    with tqdm(total=n, desc=printable(path.name), unit=" rows", delay=PATIENCE, leave=False) as bar:
        for Phi, y in blocks:
            yield Phi, y
            bar.update(len(y))
