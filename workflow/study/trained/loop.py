"""The one loop that trains: epochs, steps, rates, modes, progress, and a loss that must be finite."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from sparcl.base.checks import check_choice
from sparcl.base.errors import NumericalError
from study.trained.phase import Phase

logger = logging.getLogger(__name__)

MOMENTUM = 0.9
PRECISIONS = ("float32", "bfloat16")  # float16 would need its loss scaled


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
    _set_gradients(phase, True)
    optimiser = _optimiser(phase)
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
    _set_gradients(phase, False)
    for module in phase.training:
        module.eval()
    seconds, images = time.monotonic() - began, phase.epochs * phase.images
    rate = images / max(seconds, 1e-9)
    logger.info("%s: %d images in %.1f s, %.1f images/s.", title, images, seconds, rate)
    return mean


def _set_gradients(phase: Phase, wanted: bool) -> None:
    for parameter in phase.parameters:
        parameter.requires_grad_(wanted)


def _step(phase: Phase, optimiser: torch.optim.Optimizer, loss: Any) -> None:
    optimiser.zero_grad()
    loss.backward()
    if phase.clip:
        nn.utils.clip_grad_norm_(phase.parameters, phase.clip)
    optimiser.step()


def _optimiser(phase: Phase) -> torch.optim.Optimizer:
    if check_choice("optimiser", phase.optimiser, ("sgd", "adam")) == "sgd":
        return torch.optim.SGD(phase.groups, momentum=MOMENTUM)
    return torch.optim.Adam(phase.groups)
