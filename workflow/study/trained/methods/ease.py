"""EASE: adapters of each session beside the MLPs of a frozen transformer, classified by prototypes.

Adapter of a block: s W_up ReLU(W_down x), x the residual stream before norm2, W_up = 0 at the start.
A session trains a new set, with a cosine head of learned scale and CE over its classes; then the head
is dropped and the set frozen.  p_cj, the mean feature of class c under set j, is measured for the
classes of a session under all sets so far.  A prototype that cannot be measured (class c of session i, set j > i)
is made from the classes c' of sessions j and later: softmax over c' of cos(p_ci, p_c'i), times p_c'j.
score_c(x) = cos_i + alpha / (t - 1) sum_{j != i} cos_j (+ beta cos without adapters), cos_j the cosine
of x's feature under set j with p_cj, i the session of c, t the number of sets.
Source: EASE (CVPR 2024), official code and ``models/ease.py`` of LAMDA-PILOT, commit 2647455, whose
settings for CIFAR-100 are the defaults: SGD with momentum 0.9, rate 0.025 with cosine schedule, weight
decay 5e-4, batches of 48, 20 epochs, width 64, s 0.1, dropout 0.1, alpha 0.1.  ImageNet-R: rate 0.05, decay
5e-3, batches of 16.  Official for CUB: rate 0.005, batches of 16, alpha 0.005, beta 1.

Differences.  The paper makes prototypes from the newest session's classes and normalises over the old
ones; the codes and this file do as above, in every session anew.  alpha is divided by t - 1 as in
the codes, not in the paper.  Prototypes are means of plain images.
Cost: 2.1 forward passes an image and epoch; at test one for each set.  Trains T L (2 D r + r + D) parameters in T
sessions; keeps T K D floats of prototypes and no images.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import skip_init

from sparcl.base.checks import check_positive
from sparcl.base.errors import InputError
from study.trained import losses
from study.trained.learner import Batch, Phases, Rows, Trained
from study.trained.phase import cosine
from study.trained.tokens import adapted, check_tokens


class Adapter(nn.Module):
    """s W_up dropout(ReLU(W_down x)) for x (..., D), zero at the start."""

    def __init__(
        self, width: int, inner: int, scale: float, dropout: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.scale, self.dropout = scale, nn.Dropout(dropout)
        self.down = skip_init(nn.Linear, width, inner)
        self.up = skip_init(nn.Linear, inner, width)
        nn.init.kaiming_uniform_(self.down.weight, a=5**0.5, generator=generator)
        for zero in (self.down.bias, self.up.weight, self.up.bias):
            nn.init.zeros_(zero)

    def forward(self, x: Tensor) -> Tensor:
        """Return what is added to the residual stream."""
        return self.scale * self.up(self.dropout(torch.relu(self.down(x))))


class CosineHead(nn.Module):
    """sigma cos(x, w_c) for features x (b, D), sigma learned from 1."""

    def __init__(self, width: int, classes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(classes, width))
        nn.init.kaiming_uniform_(self.weight, a=5**0.5, generator=generator)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (b, c)."""
        return self.scale * losses.cosine(x, self.weight)


@dataclass(eq=False, repr=False)
class Ease(Trained):
    """One set of ``adapters`` a session; ``kept`` holds ``measured`` and ``prototypes``, (K, T + 1, D) both.

    Space 0 is the network without adapters, space j that of session j's set.  Of ``measured``, nan
    stands where a prototype cannot be measured.

    Parameters
    ----------
    width, scale, dropout : of the adapters: r, s, and the share of inner units dropped in training
    alpha, beta : weights of the other sets' cosines, and of those without adapters
    """

    rate: float = 0.025
    epochs: int = 20
    batch: int = 48
    decay: float = 5e-4
    width: int = 64
    scale: float = 0.1
    dropout: float = 0.1
    alpha: float = 0.1
    beta: float = 0.0
    seed: int = 0
    name = "ease"
    trains_network = False

    def __post_init__(self) -> None:
        network: Any = self.setup.network
        check_tokens(self.name, network)
        if not hasattr(network.blocks[0], "norm2"):
            raise InputError(
                f"{self.name}: the blocks of {type(network).__name__} have no norm2 before an MLP. Choose "
                "a plain vision transformer, for example vit_base_patch16_224."
            )
        super().__post_init__()
        self.at_least(1, "width")
        check_positive("scale", self.scale)
        self.from_zero("dropout", "alpha", "beta")
        if self.dropout >= 1:
            raise InputError(
                f"dropout = {self.dropout}: it is a share of units and must be below 1."
            )
        self.least = 0 if self.beta else 1  # first space in use
        self.adapters = nn.ModuleList()
        self.kept["measured"] = torch.zeros((0, 1, self.d), device=self.setup.device)
        self.kept["prototypes"] = self.kept["measured"]

    def grow(self, new: int) -> None:
        """Add a set of adapters."""
        rng = self.torch_rng("adapters")
        self.adapters.append(
            nn.ModuleList(
                Adapter(self.d, self.width, self.scale, self.dropout, rng)
                for _ in self.network.blocks
            )
        )

    def session(self, rows: Rows) -> Phases:
        """Train the new set, measure prototypes of the new classes, make the missing ones."""
        adapters, new = self.adapters[-1], self.sizes[-1]
        head = CosineHead(self.d, new, self.torch_rng("head")).to(self.setup.device)

        def loss(batch: Batch) -> Tensor:
            features = self.features(batch.x, self.number)
            return losses.cross_entropy(head(features), batch.y - self.first)

        group = self.group(adapters, head)
        yield self.phase(rows, loss, group, schedule=cosine, training=(adapters,))
        features = self.train_scan(self.all_features, rows)
        columns = torch.from_numpy(self.columns(rows))
        means = [features[columns == c].mean(0) for c in range(self.first, self.first + new)]
        old = self.kept["measured"].cpu()
        unknown = torch.full((len(old), 1, self.d), torch.nan)
        measured = torch.cat([torch.cat([old, unknown], dim=1), torch.stack(means)])
        self.kept["measured"] = measured.to(self.setup.device)
        self.kept["prototypes"] = complemented(measured, self.sizes).to(self.setup.device)

    def features(self, x: Tensor, space: int) -> Tensor:
        """Return features (b, D) under the set of session ``space``; without adapters for 0."""
        if not space:
            return self.network(x)
        adapters: Any = self.adapters[space - 1]
        with adapted(self.network, adapters):
            return self.network(x)

    def all_features(self, x: Tensor, first: int = 0) -> Tensor:
        """Return features (b, T + 1 - first, D) in every space so far, from space ``first`` on."""
        spaces = range(first, self.number + 1)
        return torch.stack([self.features(x, space) for space in spaces], dim=1)

    def predict(self, x: Tensor) -> Tensor:
        """Return scores (b, c)."""
        return self.classify(self.all_features(x, self.least))

    def classify(self, features: Tensor) -> Tensor:
        """Return scores (b, c) from features (b, t, D) of the spaces in use."""
        prototypes = self.kept["prototypes"][:, self.least :].to(features.device)
        unit, units = functional.normalize(features, dim=2), functional.normalize(prototypes, dim=2)
        cosines = torch.einsum("btd,ctd->bct", unit, units)
        return (cosines * self.weights()[:, self.least :].to(cosines.device)).sum(2)

    def weights(self) -> Tensor:
        """Return the weight (c, T + 1) of each class's cosine in each space."""
        sets = self.number
        own = torch.repeat_interleave(torch.arange(1, sets + 1), torch.tensor(self.sizes))
        weights = torch.full((len(own), sets + 1), self.alpha / max(sets - 1, 1))
        weights[:, 0] = self.beta
        weights[torch.arange(len(own)), own] = 1.0
        return weights


def complemented(measured: Tensor, sizes: list[int]) -> Tensor:
    """Return prototypes (K, T + 1, D) whose missing ones are made from measured ones.

    Class c of session i in space j > i: softmax over the classes c' of sessions from j on of
    cos(p_ci, p_c'i), times p_c'j, all of which are measured.
    """
    result, ends = measured.clone(), np.cumsum([0, *sizes])
    for i in range(1, len(sizes) + 1):
        old = slice(ends[i - 1], ends[i])
        for j in range(i + 1, len(sizes) + 1):
            later = slice(ends[j - 1], None)
            alike = losses.cosine(measured[old, i], measured[later, i]).softmax(1)
            result[old, j] = alike @ measured[later, j]
    return result


build = Ease
