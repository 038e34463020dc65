"""Methods that leave a transformer frozen and train prompts for it, with the head of the session's classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from study.trained.feed import Batch
from study.trained.growing import Growing
from study.trained.phase import Phase


class Prompted(Growing):
    """A frozen network, whose class token without prompts is the query; a subclass says its ``loss``."""

    trains_network = False

    def query(self, x: Tensor) -> Tensor:
        """Return q (b, D), without gradient."""
        with torch.no_grad():
            return self.network(x).float()

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of a batch."""

    def prompt_phase(
        self, rows: NDArray[np.int64], prompts: Sequence[nn.Parameter], **more: Any
    ) -> Phase:
        """Return the phase that trains ``prompts`` and the head's new rows by Adam."""
        group = self.settings.group(self.head[-1])
        group["params"] += prompts
        return self.phase(rows, self.loss, group, optimiser="adam", **more)
