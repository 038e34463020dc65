"""iCaRL: replay of exemplars, distillation from the previous network, nearest mean of exemplars.

Each session trains network and head on its images and the exemplars:
``softmax``: loss = CE over all columns seen + KD(old logits, those of the network before the session),
``sigmoid``: binary cross-entropy of every column, whose targets at old columns are the sigmoids of
the network before.  Then each class keeps m = floor(memory / classes) exemplars (or ``per_class``):
old lists are cut, new classes herded on unit features of plain images.  An image goes to the class
whose mean of exemplars, renormalised and under the current network, is nearest (largest cosine).
Source: iCaRL (CVPR 2017), whose loss is ``sigmoid``; ``models/icarl.py`` of LAMDA-PILOT, commit
2647455, whose loss is ``softmax``.  Settings there: those of `finetune`, memory 2,000 on CIFAR-100,
20 a class in batches of 32 on ImageNet-R.  PILOT's milestones lie beyond its epochs: constant rate.

Differences: rates and BatchNorm, as in `finetune`.  The accuracy of the head, which PILOT logs too, is
reported as ``head``.
Cost: 4 forward passes an image and epoch.  Trains P + (D + 1) K parameters; keeps the exemplars, and
P more during a session.
"""

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sparcl.base.checks import check_choice
from study.trained import losses
from study.trained.growing import Heads
from study.trained.learner import Batch, Others, Phases, Rows
from study.trained.rehearsal import Rehearsal, flat


@dataclass(eq=False, repr=False)
class Icarl(Rehearsal):
    """Network and head with exemplars; ``kept`` holds ``exemplars`` (c, m) and their ``means`` (c, D).

    Parameters
    ----------
    memory, per_class : exemplars in all; or, if above 0, of each class
    distillation : "softmax" or "sigmoid", see above
    """

    rate: float = 0.01
    epochs: int = 20
    batch: int = 128
    decay: float = 5e-4
    slow: float = 0.01
    memory: int = 2000
    per_class: int = 0
    distillation: str = "softmax"
    seed: int = 0
    name = "icarl"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("distillation", self.distillation, ("softmax", "sigmoid"))

    def session(self, rows: Rows) -> Phases:
        """Train on images and exemplars, then choose exemplars and their means."""
        teacher = self.teacher() if self.number > 1 else None
        yield self.phase(
            self.with_exemplars(rows),
            lambda batch: self.loss(batch, teacher),
            *self.everything(),
        )
        self.renew_exemplars(self.network, rows)
        self.kept["means"] = self.means().to(self.setup.device)

    def teacher(self) -> nn.Module:
        """Return a frozen copy of the network and of the old rows of the head."""
        old = nn.Sequential(self.network, Heads(self.head[:-1]))
        return copy.deepcopy(old).requires_grad_(False).eval()

    def loss(self, batch: Batch, teacher: nn.Module | None) -> Tensor:
        """Return the loss of a batch; without teacher there are no old columns."""
        logits = self.head(self.network(batch.x))
        with torch.no_grad():
            old = teacher(batch.x) if teacher is not None else logits[:, :0]
        if self.distillation == "sigmoid":
            targets = functional.one_hot(batch.y, logits.shape[1]).to(logits.dtype)
            targets[:, : old.shape[1]] = old.sigmoid()
            return functional.binary_cross_entropy_with_logits(logits, targets)
        loss = losses.cross_entropy(logits, batch.y)
        if teacher is not None:
            loss = loss + losses.distillation(logits[:, : old.shape[1]], old)
        return loss

    def means(self) -> Tensor:
        """Return the mean unit feature (c, D) of each class's exemplars under the current network."""
        lists = self.kept["exemplars"]
        features = functional.normalize(self.train_scan(self.network, flat(lists)), dim=1)
        return torch.stack([part.mean(0) for part in features.split((lists >= 0).sum(1).tolist())])

    def predict(self, x: Tensor) -> Tensor:
        """Return cosines (b, c) with the means of exemplars."""
        return losses.cosine(self.network(x).float(), self.kept["means"])

    def others(self) -> Others:
        """Return the head, which iCaRL trains and does not predict with."""
        return {"head": (lambda x: self.head(self.network(x)), np.arange(len(self.classes)))}


build = Icarl
