"""One training: its data, parameters, loss, optimiser and schedule, and the one loop that carries it out.

The loop owns epochs, steps, rates, modes, progress, and a loss that must be finite.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from sparcl.base.errors import NumericalError

logger = logging.getLogger(__name__)

OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": partial(torch.optim.SGD, momentum=0.9),
    "adam": torch.optim.Adam,
}


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
    schedule: Callable[[int, int], float] = lambda epoch, epochs: 1.0
    clip: float = 0.0
    training: tuple[nn.Module, ...] = ()
    after_step: Callable[[Any], None] | None = None

    @property
    def parameters(self) -> list[nn.Parameter]:
        """All that is trained."""
        return [parameter for group in self.groups for parameter in group["params"]]


@contextmanager
def mixed(device: str, precision: str) -> Iterator[None]:
    """Be the context of forward passes in training: mixed precision unless ``precision`` is float32.

    On a CPU attention is computed as written: for the few tokens of an image, torch's fused kernel
    takes longer, backwards above all.
    """
    attention = sdpa_kernel(SDPBackend.MATH) if device == "cpu" else nullcontext()
    with torch.autocast(device, dtype=torch.bfloat16, enabled=precision != "float32"), attention:
        yield


def train(
    phase: Phase, learner: nn.Module, title: str, seed: int, device: str, precision: str
) -> float:
    """Carry out a phase and return the mean loss of its last epoch.

    Of ``learner`` and of the phase's own modules, what the phase declares is trained and nothing
    else; a new optimiser starts every phase.  ``seed`` decides what torch draws, dropout for instance.

    Raises
    ------
    NumericalError
        The loss is not finite; the step is not taken.
    """
    learner.requires_grad_(False)
    for parameter in phase.parameters:
        parameter.requires_grad_(True)
    optimiser = OPTIMISERS[phase.optimiser](phase.groups)
    rates = [group["lr"] for group in optimiser.param_groups]
    mean, began = float("nan"), time.monotonic()
    # The terminal, also where a workflow script sends stderr to its log.
    bar = tqdm(
        total=phase.epochs * phase.images,
        desc=title,
        unit="img",
        mininterval=1.0,
        file=sys.__stderr__,
        disable=None,
    )
    devices = [torch.cuda.current_device()] if device == "cuda" else []
    with torch.random.fork_rng(devices), bar:
        torch.manual_seed(seed)
        for epoch in range(phase.epochs):
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * phase.schedule(epoch, phase.epochs)
            losses: list[float] = []
            for batch in phase.batches(epoch):
                learner.eval()
                for module in phase.training:
                    module.train()
                with mixed(device, precision):
                    loss = phase.loss(batch)
                losses.append(float(loss.detach()))
                if not np.isfinite(losses[-1]):
                    raise NumericalError(
                        f"{title}, epoch {epoch + 1}, step {len(losses)}: the loss is {losses[-1]}. Usual "
                        f"cause: a learning rate too large for this network (`rate`, here up to {max(rates):g}); "
                        "lower it, or set precision to float32. Finished sessions are kept."
                    )
                _step(phase, optimiser, loss)
                if phase.after_step is not None:
                    phase.after_step(batch)
                bar.update(len(batch[0]))
            mean = float(np.mean(losses))
            bar.set_postfix_str(f"loss {mean:.4g}")
    optimiser.zero_grad()  # frees the gradients
    for parameter in phase.parameters:
        parameter.requires_grad_(False)
    for module in phase.training:
        module.eval()
    seconds, images = time.monotonic() - began, phase.epochs * phase.images
    rate = images / max(seconds, 1e-9)
    logger.info("%s: %d images in %.1f s, %.1f images/s.", title, images, seconds, rate)
    return mean


def _step(phase: Phase, optimiser: torch.optim.Optimizer, loss: Any) -> None:
    optimiser.zero_grad()
    loss.backward()
    if phase.clip:
        nn.utils.clip_grad_norm_(phase.parameters, phase.clip)
    optimiser.step()
