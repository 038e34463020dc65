"""Whether what a learner keeps fits into the memory of its device, asked before work starts."""

from collections.abc import Callable

from sparcl.algebra.backend import Backend
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


def check_free(on: Backend, what: str, need: int) -> None:
    """Raise InputError where ``need`` bytes of something that has no width are not free; it names both."""
    free = on.free()
    if free is not None and need > free:
        raise InputError(
            f"{what} need {need / 2**30:,.1f} GiB on {on.name}, and {free / 2**30:,.1f} GiB are free: take device cpu, "
            "or a card with more memory."
        )
