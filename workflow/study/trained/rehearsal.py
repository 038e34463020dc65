"""Methods that keep exemplars of each class and train on them again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparcl.base.checks import check_int
from study.trained import memory
from study.trained.growing import Growing
from study.trained.phase import Training
from study.trained.setup import Setup


class Rehearsal(Growing):
    """``kept["exemplars"]`` (c, m) are rows of the training images, -1 where a class has fewer.

    Attributes
    ----------
    memory, per_class : exemplars in all; or, if above 0, of each class
    """

    def __init__(
        self, setup: Setup, settings: Training, memory: int, per_class: int, seed: int
    ) -> None:
        super().__init__(setup, settings, seed)
        self.memory = check_int("memory", memory, least=0)
        self.per_class = check_int("per_class", per_class, least=0)
        self.kept["exemplars"] = torch.zeros((0, 0), dtype=torch.int64)

    def check(self, new: int) -> None:
        """Raise InputError when the memory is too small for all classes."""
        self._quota(len(self.classes) + new)

    def with_exemplars(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of a session and those of all exemplars."""
        return np.concatenate([rows, memory.flat(self.kept["exemplars"])])

    def renew_exemplars(
        self, features: Callable[[Tensor], Tensor], rows: NDArray[np.int64]
    ) -> None:
        """Cut the lists of old classes, and herd those of the session's on unit ``features`` (b, D)."""
        self.kept["exemplars"] = memory.renewed(
            self.kept["exemplars"].cpu(),
            self.scan(features, rows).double().numpy(),
            self.setup.train.labels[rows],
            torch.from_numpy(rows),
            self._quota(len(self.classes)),
        )

    def exemplars(self) -> int:
        """Return the number of exemplars."""
        return len(memory.flat(self.kept["exemplars"]))

    def _quota(self, classes: int) -> int:
        where = f"{self.name}, session {self.number + 1}"
        return memory.quota(self.memory, self.per_class, classes, where)
