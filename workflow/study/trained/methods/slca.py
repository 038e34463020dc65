"""SLCA: a network that learns slowly, a head that learns fast, and heads aligned on Gaussians.

1. Network (at a hundredth of the head's rate) and the session's own head are trained by cross-entropy
   over the session's columns; earlier heads stay.
2. Each new class keeps mean mu_c and covariance Sigma_c + 1e-4 I of its plain images' features, which
   are never updated though the network moves on.
3. From the second session on, a copy of all heads is trained on 256 draws per class and epoch from
   N((0.9 + 0.1 s_c / t) mu_c, Sigma_c + 1e-4 I), s_c the session of the class and t this one, under
   cross-entropy of z / (0.1 N(z)), N the mean over sessions of the norm of their logits.  The copy
   predicts; the next session continues from the heads before.
Source: SLCA (ICCV 2023), official code and ``models/slca.py`` of LAMDA-PILOT, commit 2647455.  Settings
there: SGD with momentum 0.9, rate 0.01 (a tenth from epoch 18 on), weight decay 5e-4, 20 epochs of
batches of 64, 3 epochs of alignment with a cosine rate from 0.01 on (official: batches of 128, on CUB and
ImageNet-R 50 epochs with the drop at 40, 5 epochs of alignment).

Differences.  s_c is the session in which the class came, where PILOT divides by a constant size.  The
covariance is kept as a thin factor of rank below n_c, the same distribution, in float64; a class of one
image has the covariance 1e-4 I.  The last norm stays pretrained, as in PILOT; the official code starts a
new one.  BatchNorm statistics of convolutional networks are frozen, since the Gaussians rest on them.
Cost: 3 forward passes an image and epoch.  Trains P + 2 (D + 1) K parameters, the aligned copy included; keeps
a Gaussian a class, at most n_c D + D floats.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparcl.algebra.gaussians import Gaussians
from study.trained import losses
from study.trained.growing import Growing, Heads
from study.trained.learner import Phases, Rows
from study.trained.phase import Phase, cosine

RIDGE = 1e-4  # added to every variance
DRAWS = 256  # of a class in an epoch of the alignment, and the size of its batches
TEMPERATURE = 0.1


@dataclass(eq=False, repr=False)
class Slca(Growing):
    """Network, trained heads ``head`` and their aligned copy ``aligned``; ``kept`` holds the Gaussians.

    Parameters
    ----------
    rate, epochs, batch, decay : of the heads' training
    drop : epoch, from 0, from which the rate is a tenth
    slow : rate of the network in units of the heads'; 0 freezes it
    alignment, alignment_rate : epochs of the alignment, 0 for none, and its rate
    """

    rate: float = 0.01
    epochs: int = 20
    batch: int = 64
    decay: float = 5e-4
    drop: int = 18
    slow: float = 0.01
    alignment: int = 3
    alignment_rate: float = 0.01
    seed: int = 0
    name = "slca"
    start = "normal"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least(1, "drop")
        self.at_least(0, "alignment")
        self.above_zero("alignment_rate")
        self.aligned = Heads()

    def grow(self, new: int) -> None:
        """Add the heads of new classes."""
        super().grow(new)
        self.aligned.append(copy.deepcopy(self.head[-1]))

    def session(self, rows: Rows) -> Phases:
        """Train network and new head; store the Gaussians; align a copy of the heads."""
        yield self.phase(
            rows,
            lambda batch: self.cross_entropy(batch, self.first),
            *self.two_rates(self.head[-1]),
            schedule=lambda epoch, _: 1.0 if epoch < self.drop else 0.1,
        )
        gaussians = self.gaussians()
        features = self.train_scan(self.network, rows).double().numpy()
        gaussians.add(features, self.columns(rows), len(self.classes))
        arrays = {"counts": gaussians.counts, "means": gaussians.means}
        arrays |= {f"factor-{j}": F for j, F in enumerate(gaussians.factors)}
        self.kept |= {name: torch.from_numpy(array) for name, array in arrays.items()}
        self.aligned.load_state_dict(self.head.state_dict())
        if self.number > 1 and self.alignment:
            yield Phase(
                "alignment",
                self.draws(gaussians),
                DRAWS * len(self.classes),
                [self.group(self.aligned) | {"lr": self.alignment_rate}],
                lambda batch: self.alignment_loss(self.aligned(batch[0]), batch[1]),
                self.alignment,
                schedule=cosine,
            )

    def gaussians(self) -> Gaussians:
        """Return the stored Gaussians, those of no class before the first session."""
        gaussians = Gaussians(self.d)
        arrays = {name: tensor.cpu().numpy() for name, tensor in self.kept.items()}
        if arrays:
            gaussians.counts, gaussians.means = arrays["counts"].copy(), arrays["means"].copy()
            gaussians.factors = [arrays[f"factor-{j}"] for j in range(len(gaussians.counts))]
        return gaussians

    def draws(self, gaussians: Gaussians) -> Callable[[int], Iterator[tuple[Tensor, Tensor]]]:
        """Return epoch to batches of features and columns, drawn from all classes and shuffled."""
        born = np.repeat(np.arange(1, self.number + 1), self.sizes)
        shrink = 0.9 + 0.1 * born / self.number

        def batches(epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
            rng = self.rng("draws", epoch)
            X = np.concatenate([drawn(gaussians, j, s, rng) for j, s in enumerate(shrink)])
            y, order = np.repeat(np.arange(len(born)), DRAWS), rng.permutation(len(X))
            for start in range(0, len(X), DRAWS):
                rows = order[start : start + DRAWS]
                features = torch.from_numpy(X[rows]).float().to(self.setup.device)
                yield features, torch.from_numpy(y[rows]).to(self.setup.device)

        return batches

    def alignment_loss(self, logits: Tensor, columns: Tensor) -> Tensor:
        """Return the cross-entropy of z / (0.1 N(z)) for logits z (b, c); N has a gradient too."""
        norms = [part.norm(dim=1) for part in logits.split(self.sizes, dim=1)]
        N = torch.stack(norms).mean(0)[:, None] + 1e-7
        return losses.cross_entropy(logits / (TEMPERATURE * N), columns)

    def predict(self, x: Tensor) -> Tensor:
        """Return logits (b, c) of the aligned heads."""
        return self.aligned(self.network(x))


def drawn(
    gaussians: Gaussians, j: int, shrink: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return 256 draws (256, D) from N(shrink mu_j, Sigma_j + 1e-4 I)."""
    F, d = gaussians.factors[j], gaussians.means.shape[1]
    X = shrink * gaussians.means[j] + np.sqrt(RIDGE) * rng.standard_normal((DRAWS, d))
    return X + rng.standard_normal((DRAWS, len(F))) @ F / np.sqrt(max(gaussians.counts[j] - 1, 1))


build = Slca
