"""Learners with a linear head that grows by a block of rows a session."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from study.trained.learner import Batch, Rows, Trained
from study.trained.phase import Phase

# weight decay from the second session on, in units of the first's (PILOT: 2e-4, 5e-4)
LATER_DECAY = 0.4


def kaiming_linear(width: int, classes: int, generator: torch.Generator) -> nn.Linear:
    """Return a linear layer with Kaiming-uniform weights of gain 1 and bias 0 (PILOT's head)."""
    layer = skip_init(nn.Linear, width, classes)  # draws nothing itself
    nn.init.kaiming_uniform_(layer.weight, nonlinearity="linear", generator=generator)
    nn.init.zeros_(layer.bias)
    return layer


class Heads(nn.ModuleList):
    """One linear layer a session; their logits side by side are those of all classes seen."""

    def forward(self, features: Tensor) -> Tensor:
        """Return logits (b, c) of features (b, d)."""
        return torch.cat([head(features) for head in self], dim=1)


class Growing(Trained):
    """Network and ``head``, one block of rows a session."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.head = Heads()

    def grow(self, new: int) -> None:
        """Add the rows of new classes to the head."""
        self.head.append(kaiming_linear(self.d, new, self.torch_rng("head")))

    def predict(self, x: Tensor) -> Tensor:
        """Return logits (b, c)."""
        return self.head(self.network(x))

    def everything(self) -> dict[str, Any]:
        """Return the parameter group of network and head."""
        decay = LATER_DECAY if self.number > 1 else 1.0
        return self.group(self.network, self.head, decay=decay)


class Prompted(Growing):
    """A frozen transformer, whose class token without prompts is the query; a subclass says its ``loss``.

    Trained are prompts for it, and the head's rows of the session's classes.
    """

    trains_network = False

    def query(self, x: Tensor) -> Tensor:
        """Return q (b, D), without gradient."""
        with torch.no_grad():
            return self.network(x).float()

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of a batch."""

    def prompt_phase(self, rows: Rows, prompts: Sequence[nn.Parameter], **more: Any) -> Phase:
        """Return the phase that trains ``prompts`` and the head's new rows by Adam."""
        group = self.group(self.head[-1])
        group["params"] += prompts
        return self.phase(rows, self.loss, group, optimiser="adam", **more)
