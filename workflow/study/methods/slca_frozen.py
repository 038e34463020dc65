"""SLCA with its backbone frozen: a softmax head, aligned on Gaussian samples of all classes.

1. The new columns are trained by cross-entropy on the session's samples.
2. Each class keeps mean mu_c and covariance Sigma_c + 1e-4 I of its features.
3. From the second session on, a copy of the head is trained on 256 draws per class and epoch from
   N((0.9 + 0.1 s_c / t) mu_c, Sigma_c + 1e-4 I), s_c the class's session and t this one, under
   cross-entropy of z / (0.1 N(z)), N the mean over sessions of the norm of their logits.  It
   predicts; the next session starts from the head before.
Source: SLCA (ICCV 2023), ``models/slca.py`` of LAMDA-PILOT, commit 2647455, with its own switch
``bcb_lrscale = 0``, which freezes the backbone.  Official: SGD with momentum 0.9, rate 0.01 (a
tenth from epoch 18 on), weight decay 5e-4, 20 epochs of batches of 64 on CIFAR-100 (5 epochs on
ImageNet-R), 3 epochs of alignment with a cosine rate (5 in Mammoth).

Differences.  No augmentation, which needs images.  The covariance is kept as a thin factor of rank
below n_c and drawn from as that, the same distribution.  A class of one sample has the covariance
1e-4 I (nan in the code); samples of old classes, which the code never meets, move the Gaussians
and are passed over in step 1.  The rates and 1e-4 belong to features of LayerNorm's scale:
``scale``.  Draws and batches come from named random streams.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.algebra.gaussians import Gaussians
from sparcl.base.checks import check_int
from sparcl.base.randomness import generator
from sparcl.base.state import Shape
from sparcl.base.types import Array
from study import softmax

MOMENTUM, DECAY = 0.9, 5e-4
BATCH, DROP = 64, 18  # DROP: the epoch from which the rate is a tenth
SPREAD = 0.02  # standard deviation of a new column
RIDGE = 1e-4  # added to every variance
DRAWS = 256  # of a class in an epoch of the alignment, and the size of its batches
TEMPERATURE = 0.1


@dataclass(eq=False)
class SlcaFrozen(softmax.SoftmaxHead):
    """An alignment costs 256 c (2 d r + 4 d c) flops an epoch; keeps Gaussians and two heads.

    Parameters
    ----------
    rate, epochs : of both trainings, of the first (official 0.01, and 20 or 5)
    alignment : epochs of the second (official 3); 0: none
    scale : features are multiplied by it; "root-d" (sqrt(d)) gives unit-norm features the scale
        that the official values were set for
    seed : of the new columns, the batches and the draws

    Attributes
    ----------
    weights : (d, c), bias : (c,) after the alignment; ``trained`` : (d + 1, c) before it
    """

    rate: float = 0.01
    epochs: int = 20
    alignment: int = 3
    scale: float | str = 1.0
    seed: int = 0
    kept: ClassVar[dict[str, Shape | None]] = {
        "trained": (None, "c"),
        "born": ("c",),
        "gaussians": Gaussians,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("alignment", self.alignment, least=0)
        self.trained: Array = np.zeros((0, 0))
        self.born = np.zeros(0, dtype=np.int64)  # session of each class
        self.gaussians = Gaussians(0)

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        X, d, new = self.scaled(Phi), Phi.shape[1], columns >= old
        rng = generator("slca-frozen", self.seed, self.session)
        W, b = SPREAD * rng.standard_normal((d, classes - old)), np.zeros(classes - old)
        softmax.train(
            W,
            b,
            X[new],
            columns[new] - old,
            first=0,
            rates=[self.rate * (1 if epoch < DROP else 0.1) for epoch in range(self.epochs)],
            batch=BATCH,
            momentum=MOMENTUM,
            decay=DECAY,
            rng=rng,
        )
        self.trained = np.hstack([self.trained.reshape(d + 1, old), np.vstack([W, b])])
        self.born = np.concatenate([self.born, np.full(classes - old, self.session)])
        if self.session == 0:
            self.gaussians = Gaussians(d)
        self.gaussians.add(X, columns, classes)
        W, b = self.trained[:d].copy(), self.trained[d].copy()
        if self.session:
            self._align(W, b, rng)
        self.weights, self.bias = softmax.finite(W, b)

    def _align(self, W: Array, b: Array, rng: np.random.Generator) -> None:
        """Train W (d, c) and b (c,) in place on draws from the classes' Gaussians."""
        drawn = generator("slca-draws", self.seed, self.session)
        steps = softmax.Momentum(W, b, momentum=MOMENTUM, decay=DECAY)
        targets = np.repeat(np.arange(len(b)), DRAWS)
        starts = np.unique(self.born, return_index=True)[1]
        for epoch in range(self.alignment):
            rate = self.rate * (1 + np.cos(np.pi * epoch / self.alignment)) / 2
            X = np.concatenate([self._draws(j, drawn) for j in range(len(b))])
            for rows in softmax.batches(len(X), DRAWS, rng):
                G = normalised_gradient(X[rows] @ W + b, targets[rows], starts)
                steps.step(rate, X[rows].T @ G, G.sum(axis=0))

    def _draws(self, j: int, rng: np.random.Generator) -> Array:
        """Return DRAWS samples (DRAWS, d) of class j's Gaussian: 2 DRAWS d r flops."""
        kept, shrink = self.gaussians, 0.9 + 0.1 * (self.born[j] + 1) / (self.session + 1)
        F = kept.factors[j]
        X = np.sqrt(RIDGE) * rng.standard_normal((DRAWS, kept.means.shape[1]))
        X += rng.standard_normal((DRAWS, len(F))) @ F / np.sqrt(max(kept.counts[j] - 1, 1))
        X += shrink * kept.means[j]
        return X


def normalised_gradient(
    logits: Array, targets: NDArray[np.integer], starts: NDArray[np.integer]
) -> Array:
    """Return the gradient (n, c) of the mean cross-entropy of z / (TEMPERATURE N(z)) at z (n, c).

    N(z) is the mean over sessions, whose columns begin at ``starts`` (T,), of the norm of their
    logits plus 1e-7; it has a gradient of its own, as in the official code.
    """
    norms = np.sqrt(np.add.reduceat(logits**2, starts, axis=1))
    N = norms.mean(axis=1, keepdims=True) + 1e-7
    G = softmax.cross_entropy_gradient(logits / (TEMPERATURE * N), targets) / (TEMPERATURE * N)
    widths = np.diff(np.append(starts, logits.shape[1]))
    along = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0) / len(starts)
    dN = logits * np.repeat(along, widths, axis=1)
    return G - np.sum(G * logits, axis=1, keepdims=True) / N * dN


build = SlcaFrozen
