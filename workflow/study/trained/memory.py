"""What methods with a memory keep: which rows of the training images."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from sparcl.methods.icarl_nme import herded


def quota(memory: int, per_class: int, classes: int, method: str) -> int:
    """Return the exemplars m of each class: ``per_class`` if above 0, else floor(memory / classes).

    Raises
    ------
    InputError
        The memory does not hold one exemplar of each class.
    """
    m = per_class or memory // classes
    if m < 1:
        raise InputError(
            f"{method}: a memory of {memory} exemplars is too small for {classes} classes, each needs one. "
            f"Raise `memory` to {classes} or more, or set `per_class`."
        )
    return m


def renewed(
    kept: Tensor, features: NDArray[np.floating], labels: NDArray[np.integer], rows: Tensor, m: int
) -> Tensor:
    """Return exemplars (c, m) of old and new classes, as rows of the training images; -1 fills short lists.

    Old lists ``kept`` (c_old, m_old) are cut to m.  New classes, one a distinct label in ascending
    order, are herded on unit features (n, d): exemplar k minimises |mu - (sum of the first k) / k|
    (iCaRL, CVPR 2017, algorithm 4).
    """
    lists = [row[:m] for row in kept]
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        lists.append(rows[own[herded(unit(features[own]), m)]])
    result = torch.full((len(lists), m), -1, dtype=torch.int64)
    for position, chosen in enumerate(lists):
        result[position, : len(chosen)] = chosen
    return result


def flat(exemplars: Tensor) -> NDArray[np.int64]:
    """Return the rows (n,) of exemplar lists (c, m), class after class."""
    return exemplars[exemplars >= 0].cpu().numpy()


def reservoir_slots(
    seen: int, arrivals: int, capacity: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the slot (arrivals,) of a buffer that each arrival takes, -1 for none (Vitter, 1985).

    Arrival number i (from 0, ``seen`` before these) takes slot i while there is room, then a
    uniform number in 0..i if it is below ``capacity``.
    """
    numbers = np.arange(seen, seen + arrivals)
    drawn = rng.integers(0, numbers + 1)
    slots = np.where(numbers < capacity, numbers, drawn)
    return np.where(slots < capacity, slots, -1)
