"""FOSTER: a second network that corrects the first, and both compressed into one.

First session: CE.  Later ones, on the session's images and the exemplars:
1. Boosting.  f_o and its head stay; f_n starts as a copy of f_o.  A head on both, 2 D to all columns
   (its block for old classes on f_o copied, the rest random, all trained), and an auxiliary head on f_n:
   loss = CE(z / w) + CE(z_aux) + distillation KD(z_old, z_o),
   w_c proportional to (1 - b) / (1 - b^n_c), mean 1, for n_c images of class c in this session and b = beta_1.
2. Compression.  A student starts from f_o and its head, with random rows for new classes, and learns the
   pair's probabilities at temperature 2, times w(beta_2) and normalised again; no labels, no weight decay.
The student predicts and begins the next session.  Exemplars are herded on the pair's 2 D features.
Source: FOSTER (ECCV 2022), official code and ``models/foster.py`` of LAMDA-PILOT, commit 2647455, whose
settings are the defaults: SGD with momentum 0.9, rate 0.001 with cosine schedule, weight decay 5e-4,
batches of 32, 20 and 20 epochs, beta 0.96 and 0.97, 20 exemplars per class.  Official, for a ResNet-32
from scratch: rate 0.1, 200, 170 and 130 epochs; its beta_1 falls from 0.98 to 0.94 over the sessions.

Differences.  PILOT evaluates the pair, which is not compressed; here the student is the method, and the
pair is reported as ``pair``.  n_c counts images, where PILOT sums their indices.  Weight alignment,
which is off in PILOT, is left out.  BatchNorm keeps its pretrained statistics, as in `finetune`.
Cost: 4 forward passes an image and epoch of boosting, 5 of compression.  Trains P + (3 D + 2) K
parameters, then P + (D + 1) K; holds 3 P from the second session on, and the exemplars.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sparcl.base.checks import check_fraction
from study.trained import losses
from study.trained.growing import Heads, linear
from study.trained.learner import Batch, Others, Phases, Rows
from study.trained.phase import Phase, cosine
from study.trained.rehearsal import Rehearsal


class Pair(nn.Module):
    """f_o, frozen, and f_n side by side, with a head on both and an auxiliary one on f_n."""

    def __init__(
        self, network: nn.Module, old: Heads, classes: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        weight, bias = (torch.cat([getattr(h, n) for h in old]).cpu() for n in ("weight", "bias"))
        seen, D = weight.shape
        self.old, self.new = copy.deepcopy(network), copy.deepcopy(network)
        self.old_head = copy.deepcopy(old)
        self.head = linear(2 * D, classes, generator)
        with torch.no_grad():
            self.head.weight[:seen, :D] = weight
            self.head.bias[:seen] = bias
        self.auxiliary = linear(D, classes, generator)
        self.requires_grad_(False).eval()

    def features(self, x: Tensor) -> Tensor:
        """Return features (b, 2 D) of both networks, without gradient to f_o."""
        with torch.no_grad():
            old = self.old(x)
        return torch.cat([old, self.new(x)], dim=1)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (b, c)."""
        return self.head(self.features(x))

    def loss(self, batch: Batch, weights: Tensor, distillation: float) -> Tensor:
        """Return the loss of boosting, with class weights w (c,)."""
        features = self.features(batch.x)
        old, new = features.chunk(2, dim=1)
        logits, before = self.head(features), self.old_head(old)
        fit = losses.cross_entropy(logits / weights, batch.y)
        auxiliary = losses.cross_entropy(self.auxiliary(new), batch.y)
        kept = losses.distillation(logits[:, : before.shape[1]], before)
        return fit + auxiliary + distillation * kept


@dataclass(eq=False, repr=False)
class Foster(Rehearsal):
    """The student: network and linear head; ``kept`` holds ``exemplars`` (c, m).

    Parameters
    ----------
    rate, epochs, batch, decay : of the first session and of boosting
    compression : epochs of it, at the same rate
    beta1, beta2 : of the class weights in boosting and in compression
    distillation : weight of KD in boosting
    memory, per_class : exemplars in all; or, if above 0, of each class
    """

    rate: float = 1e-3
    epochs: int = 20
    batch: int = 32
    decay: float = 5e-4
    compression: int = 20
    beta1: float = 0.96
    beta2: float = 0.97
    distillation: float = 1.0
    memory: int = 0
    per_class: int = 20
    seed: int = 0
    name = "foster"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least(1, "compression")
        check_fraction("beta1", self.beta1), check_fraction("beta2", self.beta2)
        self.from_zero("distillation")
        self._others: Others = {}

    def session(self, rows: Rows) -> Phases:
        """Train, or boost and compress; then choose exemplars."""
        self._others = {}  # frees the pair before, so that three networks are held and not five
        if self.number == 1:
            modules = self.network, self.head
            yield self._phase("training", rows, self.cross_entropy, *modules)
            self.renew_exemplars(self.network, rows)
            return
        replayed = self.with_exemplars(rows)
        boosting, compression = (
            self.class_weights(replayed, beta) for beta in (self.beta1, self.beta2)
        )
        pair = self.pair()
        yield self._phase(
            "boosting",
            replayed,
            lambda batch: pair.loss(batch, boosting, self.distillation),
            *(pair.new, pair.head, pair.auxiliary),
        )
        yield self._phase(
            "compression",
            replayed,
            lambda batch: self.compression_loss(batch, pair, compression),
            *(self.network, self.head),
            decay=0.0,
            epochs=self.compression,
        )
        self.renew_exemplars(pair.features, rows)
        self._others = {"pair": (pair.forward, np.arange(len(self.classes)))}

    def pair(self) -> Pair:
        """Return f_o, which is the student so far, with a copy of itself to be trained."""
        old = Heads(self.head[:-1])
        pair = Pair(self.network, old, len(self.classes), self.torch_rng("pair"))
        return pair.to(self.setup.device)

    def class_weights(self, rows: Rows, beta: float) -> Tensor:
        """Return w (c,) for the counts of images in ``rows``, columns ascending."""
        counts = np.bincount(self.columns(rows), minlength=len(self.classes))
        w = (1 - beta) / (1 - beta**counts)
        return torch.from_numpy(w / w.mean()).float().to(self.setup.device)

    def compression_loss(self, batch: Batch, pair: Pair, weights: Tensor) -> Tensor:
        """Return the distance of the student from the pair's weighted probabilities."""
        with torch.no_grad():
            targets = (pair(batch.x).float() / losses.TEMPERATURE).softmax(1) * weights
            targets = targets / targets.sum(1, keepdim=True)
        return losses.soft_cross_entropy(self.predict(batch.x), targets)

    def others(self) -> Others:
        """Return the pair of the newest session, which is not compressed; none before the second."""
        return self._others

    def _phase(
        self,
        name: str,
        rows: Rows,
        loss: Callable[[Batch], Tensor],
        *modules: nn.Module,
        decay: float = 1.0,
        **more: Any,
    ) -> Phase:
        more |= {"name": name, "views": name, "schedule": cosine}
        return self.phase(rows, loss, self.group(*modules, decay=decay), **more)


build = Foster
