"""Learners with a linear head that grows by a block of rows per session."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from study.trained import losses
from study.trained.learner import Batch, Rows, Trained
from study.trained.phase import Phase

# weight decay from the second session on, in units of the first's (PILOT: 2e-4, 5e-4)
LATER_DECAY = 0.4


def linear(
    width: int, classes: int, generator: torch.Generator, start: str = "kaiming"
) -> nn.Linear:
    """Return a linear layer whose weights have the deviation that ``start`` names, D the width.

    ``kaiming``: uniform, D^(-1/2), PILOT's own head; ``normal``: normal, 0.02, cut at 2, timm's head; both with bias 0;
    ``torch``: weights and bias uniform, (3 D)^(-1/2).
    """
    layer = skip_init(nn.Linear, width, classes)  # draws nothing itself
    nn.init.zeros_(layer.bias)
    if start == "kaiming":
        nn.init.kaiming_uniform_(layer.weight, nonlinearity="linear", generator=generator)
    elif start == "normal":
        nn.init.trunc_normal_(layer.weight, std=0.02, generator=generator)
    else:
        for parameter in (layer.weight, layer.bias):
            nn.init.uniform_(parameter, -(width**-0.5), width**-0.5, generator=generator)
    return layer


class Heads(nn.ModuleList):
    """One linear layer a session; their logits side by side are those of all classes seen."""

    def forward(self, features: Tensor) -> Tensor:
        """Return logits (b, c) of features (b, d)."""
        return torch.cat([head(features) for head in self], dim=1)


class Growing(Trained):
    """Network and ``head``, one block of rows per session, each drawn as ``start`` says."""

    start: ClassVar[str] = "kaiming"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.head = Heads()

    def grow(self, new: int) -> None:
        """Add the rows of new classes to the head."""
        self.head.append(linear(self.d, new, self.torch_rng("head"), self.start))

    def predict(self, x: Tensor) -> Tensor:
        """Return logits (b, c)."""
        return self.head(self.network(x))

    def cross_entropy(self, batch: Batch, first: int = 0) -> Tensor:
        """Return the cross-entropy of a batch over the columns from ``first`` on."""
        return losses.cross_entropy(self.head(self.network(batch.x)), batch.y, first)

    def everything(self) -> list[dict[str, Any]]:
        """Return the parameter groups of head and network, with less weight decay from the second session on."""
        return self.two_rates(self.head, LATER_DECAY if self.number > 1 else 1.0)


class Prompted(Growing):
    """A frozen transformer, whose class token without prompts is the query; a subclass says its ``loss``.

    Trained are prompts for it, and the head's rows of the session's classes.
    """

    start: ClassVar[str] = "normal"
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
