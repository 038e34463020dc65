"""A bar on the terminal while rows or images go by."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, TypeVar

from sparcl.base.terminal import printable

Block = TypeVar("Block", bound=tuple[Any, ...])
PATIENCE = 1.0  # seconds that pass before there is a bar


def shown(blocks: Iterator[Block], n: int, title: str, unit: str = "rows") -> Iterator[Block]:
    """Yield blocks, whose first part has their length, with a bar of all n on standard error, if it is a terminal.

    There is none without tqdm, which the extras bring, nor for what takes less than a second.
    """
    if not sys.stderr.isatty() or find_spec("tqdm") is None:
        yield from blocks
        return
    from tqdm import tqdm

    with tqdm(total=n, desc=printable(title), unit=f" {unit}", delay=PATIENCE, leave=False) as bar:
        for block in blocks:
            yield block
            bar.update(len(block[0]))
