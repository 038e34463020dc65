"""A network with a linear head that grows: what most trained methods start from."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from study.trained.heads import Heads, kaiming_linear
from study.trained.learner import Trained
from study.trained.phase import Training
from study.trained.setup import Setup

LATER_DECAY = (
    0.4  # weight decay from the second session on, in units of the first's (PILOT: 2e-4, 5e-4)
)


class Growing(Trained):
    """Network and ``head``, one block of rows a session."""

    def __init__(self, setup: Setup, settings: Training, seed: int) -> None:
        super().__init__(setup, settings, seed)
        self.head = Heads()

    def grow(self, new: int) -> None:
        """Add the rows of new classes to the head."""
        self.head.append(kaiming_linear(self.width, new, self.torch_rng("head")))

    def predict(self, x: Tensor) -> Tensor:
        """Return logits (b, c)."""
        return self.head(self.network(x))

    def everything(self) -> dict[str, Any]:
        """Return the parameter group of network and head."""
        decay = LATER_DECAY if self.number > 1 else 1.0
        return self.settings.group(self.network, self.head, decay=decay)
