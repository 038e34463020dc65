"""Captions that were written for several class orders, said of one."""

import re

# What captions say of several class orders, filled in with one.
ALONE = re.compile(r"(?:means?(?: ± standard deviation)? over )?\b1 class orders\b")


def one_order(caption: str) -> str:
    """Return a caption that says of one class order no plural, and no mean or deviation."""
    return ALONE.sub("one class order", caption)
