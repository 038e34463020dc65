"""What one training is: data, parameters, loss, optimiser and schedule, without the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from sparcl.base.checks import check_int, check_positive
from sparcl.base.errors import InputError

LARGEST = 1e30  # of a rate or a decay: torch multiplies them in float32


def check_from_zero(name: str, value: Any) -> float:
    """Return ``value`` if it is a finite number of at least zero, else raise InputError."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 <= value < np.inf:
        raise InputError(f"{name} = {value!r}: it must be a finite number of at least 0.")
    return value


@dataclass(frozen=True)
class Training:
    """Learning rate, epochs, batch size and weight decay of a method's training."""

    rate: float
    epochs: int
    batch: int
    decay: float = 0.0

    def __post_init__(self) -> None:
        check_positive("rate", self.rate)
        check_int("epochs", self.epochs, least=1)
        check_int("batch", self.batch, least=1)
        check_from_zero("decay", self.decay)
        if max(self.rate, self.decay) > LARGEST:
            raise InputError(
                f"rate = {self.rate!r}, decay = {self.decay!r}: neither may be above {LARGEST:g}."
            )

    def group(self, *modules: nn.Module, share: float = 1.0, decay: float = 1.0) -> dict[str, Any]:
        """Return the parameter group of modules, at ``share`` of the rate and ``decay`` of the weight decay."""
        parameters = [parameter for module in modules for parameter in module.parameters()]
        return {"params": parameters, "lr": share * self.rate, "weight_decay": decay * self.decay}


def constant(epoch: int, epochs: int) -> float:
    """Return 1: the rate stays."""
    return 1.0


def cosine(epoch: int, epochs: int) -> float:
    """Return (1 + cos(pi epoch / epochs)) / 2, from 1 towards 0."""
    return float(1 + np.cos(np.pi * epoch / epochs)) / 2


@dataclass
class Phase:
    """One training: what is trained, on what, how.

    Attributes
    ----------
    name : for messages
    batches : epoch (from 0) to batches of any kind that ``loss`` takes
    images : images, or draws, of an epoch
    groups : parameter groups of the optimiser: ``params``, ``lr`` and ``weight_decay``; all other
        tensors stay as they are
    loss : batch to scalar
    epochs, optimiser : number; ``sgd`` (momentum 0.9) or ``adam``
    schedule : (epoch, epochs) to the factor of every rate
    clip : largest norm of the gradient; 0 for no clipping
    training : modules in training mode, which counts for dropout and BatchNorm
    after_step : called with each batch after its step
    """

    name: str
    batches: Callable[[int], Iterable[Any]]
    images: int
    groups: list[dict[str, Any]]
    loss: Callable[[Any], Tensor]
    epochs: int
    optimiser: str = "sgd"
    schedule: Callable[[int, int], float] = constant
    clip: float = 0.0
    training: tuple[nn.Module, ...] = ()
    after_step: Callable[[Any], None] | None = None

    def __post_init__(self) -> None:
        self.groups = [group | {"params": list(group["params"])} for group in self.groups]
        self.groups = [group for group in self.groups if group["params"]]

    @property
    def parameters(self) -> list[nn.Parameter]:
        """All that is trained."""
        return [parameter for group in self.groups for parameter in group["params"]]
