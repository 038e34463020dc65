"""Methods that keep exemplars of each class and train on them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparcl.base.errors import InputError
from sparcl.base.rows import unit
from study.methods.icarl_nme import herded
from study.trained.growing import Growing
from study.trained.learner import Rows


@dataclass(eq=False, repr=False)
class Rehearsal(Growing):
    """``kept["exemplars"]`` (c, m) are rows of the training images, -1 where a class has fewer.

    Parameters
    ----------
    memory, per_class : exemplars in all; or, if above 0, of each class
    """

    memory: int
    per_class: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least(0, "memory", "per_class")
        self.kept["exemplars"] = torch.zeros((0, 0), dtype=torch.int64)

    def check(self, new: int) -> None:
        """Raise InputError when the memory is too small for all classes."""
        classes = len(self.classes) + new
        if self.quota(classes) < 1:
            raise InputError(
                f"{self.name}, session {self.number + 1}: a memory of {self.memory} exemplars is too small for "
                f"{classes} classes, each needs one. Raise `memory` to {classes} or more, or set `per_class`."
            )

    def quota(self, classes: int) -> int:
        """Return the exemplars m of each class: ``per_class`` if above 0, else floor(memory / classes)."""
        return self.per_class or self.memory // classes

    def with_exemplars(self, rows: Rows) -> Rows:
        """Return the rows of a session and those of all exemplars."""
        return np.concatenate([rows, flat(self.kept["exemplars"])])

    def renew_exemplars(self, features: Callable[[Tensor], Tensor], rows: Rows) -> None:
        """Cut the lists of old classes, and herd those of the session's on unit ``features`` (b, D)."""
        self.kept["exemplars"] = renewed(
            self.kept["exemplars"].cpu(),
            self.train_scan(features, rows).double().numpy(),
            self.setup.train.labels[rows],
            torch.from_numpy(rows),
            self.quota(len(self.classes)),
        )

    def exemplars(self) -> int:
        """Return the number of exemplars."""
        return len(flat(self.kept["exemplars"]))


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
