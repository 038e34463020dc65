"""Linear heads that grow: one block of rows a session."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def kaiming_linear(width: int, classes: int, generator: torch.Generator) -> nn.Linear:
    """Return a linear layer with Kaiming-uniform weights of gain 1 and bias 0 (PILOT's head)."""
    return _linear(
        width,
        classes,
        lambda W: nn.init.kaiming_uniform_(W, nonlinearity="linear", generator=generator),
    )


def normal_linear(width: int, classes: int, generator: torch.Generator) -> nn.Linear:
    """Return a linear layer with truncated normal weights of deviation 0.02 and bias 0 (timm's head)."""
    return _linear(
        width, classes, lambda W: nn.init.trunc_normal_(W, std=0.02, generator=generator)
    )


def _linear(width: int, classes: int, initialise: Callable[[Tensor], Tensor]) -> nn.Linear:
    layer = nn.Linear(width, classes, device="meta").to_empty(device="cpu")  # draws nothing itself
    initialise(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class Heads(nn.ModuleList):
    """One linear layer a session; their logits side by side are those of all classes seen."""

    def forward(self, features: Tensor) -> Tensor:
        """Return logits (b, c) of features (b, d)."""
        return torch.cat([head(features) for head in self], dim=1)
