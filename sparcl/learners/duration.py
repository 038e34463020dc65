"""A word before a session that takes long."""

import logging

logger = logging.getLogger(__name__)
LONG = 10.0  # seconds; a session that is thought to take more is said before it starts
SPEED = 2e10  # flops a second: an estimate, of dense float64 products on two cores


def announce(name: str, n: int, flops: float) -> bool:
    """Log a warning before n rows, 0 where they came in parts, that take many operations; return whether it did."""
    seconds = flops / SPEED
    if seconds <= LONG:
        return False
    logger.warning(
        "%s: a session %s takes about %.0f s here, to an order of magnitude. A smaller width, fewer "
        "candidates or float32 take less.",
        name,
        f"of {n} rows" if n else "in parts",
        seconds,
    )
    return True
