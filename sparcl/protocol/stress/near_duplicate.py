"""New classes that nearly repeat old ones."""

from collections.abc import Sequence

import numpy as np

from sparcl.base.types import Ints
from sparcl.protocol.experiment import Split


def near_duplicate(sessions: Sequence[Ints], parts: list[Split], *, move: float) -> list[Split]:
    """Move the second half's classes onto those of the first half, ``move`` of the way (0 to 1).

    Class means are those of training rows; test rows of a class move as its training rows do.
    """
    order, train = np.concatenate(sessions), parts[0]
    half = len(order) // 2
    shift = np.zeros((int(order.max()) + 1, train.features.shape[1]))
    for old, new in zip(order[:half], order[half:], strict=False):
        means = [train.features[train.labels == label].mean(axis=0) for label in (old, new)]
        shift[new] = move * (means[0] - means[1])
    return [Split(part.features + shift[part.labels], part.labels) for part in parts]
