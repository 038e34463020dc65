"""Splits that no publisher made, drawn at random, and alike on every machine."""

from __future__ import annotations

import hashlib

from sparcl.base.errors import DatasetError

# Names of folders, in lower case, to what they hold.
ROLES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "val"),
    **dict.fromkeys(("test", "testing"), "test"),
}


def allocate(sizes: list[int], total: int) -> list[int]:
    """Share `total` test images out over classes by largest remainder.

    The quota of a class is n_c * total / n, rounded down; what remains goes to the classes that are furthest below
    theirs (ties: the first). A class of two or more has at least one image on either side, a class of one is for
    training.

    Parameters
    ----------
    sizes : images of each class
    total : test images of all classes together

    Returns
    -------
    list of int : test images of each class; their sum is `total`

    Raises
    ------
    DatasetError : no such allocation exists
    """
    n = sum(sizes)
    low = [1 if size > 1 else 0 for size in sizes]
    high = [max(size - 1, 0) for size in sizes]
    if not sum(low) <= total <= sum(high):
        raise DatasetError(
            f"{total} test images cannot be drawn from {n} images in {len(sizes)} classes: with one on either side in "
            f"every class of two or more, {sum(low)} to {sum(high)} are possible. Correct `counts` or "
            "`test_share` of the data set."
        )
    test = [min(max(size * total // n, a), b) for size, a, b in zip(sizes, low, high, strict=True)]
    while (missing := total - sum(test)) != 0:
        step = 1 if missing > 0 else -1
        # n times the distance to the quota, in whole numbers, so that rounding decides no tie
        short = [step * (size * total - t * n) for size, t in zip(sizes, test, strict=True)]
        free = [c for c, t in enumerate(test) if low[c] <= t + step <= high[c]]
        test[max(free, key=short.__getitem__)] += step
    return test


def draw(classes: list[list[str]], total: int) -> dict[str, str]:
    """Draw the test images of each class.

    Parameters
    ----------
    classes : ids of the images of each class
    total : test images of all classes together

    Returns
    -------
    dict : id to ``train`` or ``test``. Within a class the ids with the smallest sha256 are for testing: as good as
        random (names are often sorted by style or origin), and the same on every machine.
    """
    split: dict[str, str] = {}
    counts = allocate([len(ids) for ids in classes], total)
    for ids, count in zip(classes, counts, strict=True):
        shuffled = sorted(ids, key=lambda i: hashlib.sha256(i.encode("utf-8")).digest())
        split |= {identifier: "test" for identifier in shuffled[:count]}
        split |= {identifier: "train" for identifier in shuffled[count:]}
    return split
