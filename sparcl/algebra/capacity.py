"""Whether what a learner keeps fits into the memory of its device, asked before work starts."""

from collections.abc import Callable
from dataclasses import dataclass

from sparcl.algebra.backend import Backend
from sparcl.algebra.tiles import TILE
from sparcl.base.errors import InputError


def check_fit(on: Backend, need: Callable[[int], int], width: int) -> None:
    """Raise InputError where ``need(width)`` bytes are not free; it names need, free and the largest width.

    ``need`` grows with the width.  A backend that does not know what is free refuses nothing here.
    """
    free = on.free()
    if free is None or need(width) <= free:
        return
    fits, fails = 0, width
    while fails - fits > 1:
        middle = (fits + fails) // 2
        fits, fails = (middle, fails) if need(middle) <= free else (fits, middle)
    raise InputError(
        f"{width:,} coordinates need {need(width) / 2**30:,.1f} GiB on {on.name}, and {free / 2**30:,.1f} GiB are "
        f"free: at most {fits:,} fit. Lower width, use dtype float32 (half of it), or device cpu."
    )


@dataclass(frozen=True)
class Session:
    """The memory of the first session of a learner of sums on its device, as a function of the width.

    Attributes
    ----------
    d, classes : features and class columns; rows : mapped at once
    size : bytes of a number
    matrices : R that are kept; squares : matrices (n, n) that choosing takes besides, n the smaller of rows and
        width
    """

    d: int
    rows: int
    classes: int
    size: int
    matrices: int = 1
    squares: int = 0

    def __call__(self, width: int) -> int:
        """Return the bytes: R, the map as drawn and as used, mapped rows, and a factor's copies and columns.

        A column is in C, in W before and after, and once more on the way; float32 is refined in float64, a
        tile of R and five more columns at a time.
        """
        numbers = self.matrices * width + self.d + 2 * self.rows + TILE + 4 * self.classes
        wide = self.d + (TILE + 5 * self.classes if self.size == 4 else 0)
        chosen = self.size * self.squares * min(self.rows, width) ** 2
        return width * (self.size * numbers + 8 * wide) + 8 * self.rows * self.d + chosen
