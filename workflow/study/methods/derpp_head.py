"""DER++ on the head alone: cross-entropy, with replay of labels and of past logits.

loss = CE(batch) + alpha MSE(logits of a draw from the buffer, those stored) + beta CE(another draw)
The buffer is a reservoir of (feature, label, logits), the logits those before the step.
A surrogate.  DER++ trains the whole network (Dark Experience, NeurIPS 2020; ``models/derpp.py`` of
aimagelab/mammoth, commit e75a491); on frozen features only its head is left, and no augmentation,
so that a number of this method is no number of that row.

Official settings: alpha 0.3, beta 0.5, rate 0.03, 500 samples for Split CIFAR-100 with a ResNet;
plain SGD, batches of 32 and draws of 32.  There is none for a ViT.  Epochs are 50 there, for a
network from scratch; 20 here, as in the other heads.  The rate is for features of that network's
scale: ``scale``.  The code gives all classes a column from the start; here columns come with their
classes, so that cross-entropy runs over the classes seen, and a stored logit of a column that did
not exist yet asks for nothing.  The squared error is a mean over 100 columns whatever their number,
since alpha was set for so many: a mean over five would weigh each twenty times as much, and a
first session of few classes would diverge.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparcl.base.checks import check_int, check_positive
from sparcl.base.randomness import generator
from sparcl.base.state import Shape
from sparcl.base.types import Array
from study import softmax

COLUMNS = 100  # of Split CIFAR-100, for which alpha was set


@dataclass(eq=False)
class DerppHead(softmax.SoftmaxHead):
    """Keeps samples, by design: 4 d c flops for each of n + 2 draws an epoch.

    Parameters
    ----------
    buffer : samples kept (official 500, beside 200 and 5,120)
    alpha, beta : weights of the replayed logits and of the replayed labels
    rate, epochs, batch : of the training; draws from the buffer are as large as a batch
    scale : features are multiplied by it; "root-d" is sqrt(d)
    seed : of the new columns, the batches, the draws and the reservoir
    """

    buffer: int = 500
    alpha: float = 0.3
    beta: float = 0.5
    rate: float = 0.03
    epochs: int = 20
    batch: int = 32
    scale: float | str = 1.0
    seed: int = 0
    posterior: ClassVar[bool] = True  # of the softmax that is trained
    keeps_samples: ClassVar[bool] = True
    kept: ClassVar[dict[str, Shape | None]] = {
        "seen": int,
        "features": ("b", "d"),
        "columns": ("b",),
        "known": ("b",),
        "stored": ("b", "c"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("buffer", self.buffer, least=1)
        for name in ("alpha", "beta"):
            check_positive(name, getattr(self, name))
        check_int("batch", self.batch, least=1)
        self.seen = 0
        self.features: Array = np.zeros((0, 0))
        self.columns = np.zeros(0, dtype=np.int64)
        self.known = np.zeros(0, dtype=np.int64)  # columns there were when the logits were stored
        self.stored: Array = np.zeros((0, 0))

    def report(self) -> dict[str, Any]:
        """Return the number of samples in the buffer."""
        return {"exemplars": min(self.seen, self.buffer)}

    def _fit(self, Phi: Array, columns: NDArray[np.integer], old: int, classes: int) -> None:
        X, d, extra = self.scaled(Phi), Phi.shape[1], classes - old
        rng = generator("derpp-head", self.seed, self.session)
        bound = 1 / np.sqrt(d)
        drawn = rng.uniform(-bound, bound, (d + 1, extra))
        W = np.hstack([self.weights.reshape(d, old), drawn[:d]])
        b = np.concatenate([self.bias, drawn[d]])
        if self.session == 0:
            self.features = np.zeros((self.buffer, d))
            self.columns = np.zeros(self.buffer, dtype=np.int64)
            self.known = np.zeros(self.buffer, dtype=np.int64)
        self.stored = np.hstack(
            [self.stored.reshape(self.buffer, old), np.zeros((self.buffer, extra))]
        )
        steps = softmax.Momentum(W, b, momentum=0.0, decay=0.0)
        for _ in range(self.epochs):
            for rows in softmax.batches(len(X), self.batch, rng):
                logits = X[rows] @ W + b
                parts = [
                    (X[rows], softmax.cross_entropy_gradient(logits, columns[rows])),
                    *self._replay(W, b, rng),
                ]
                dW = sum(features.T @ G for features, G in parts)
                db = sum(G.sum(axis=0) for _, G in parts)
                steps.step(self.rate, dW, db)
                self._keep(X[rows], columns[rows], logits, rng)
        self.weights, self.bias = softmax.finite(W, b)

    def _replay(self, W: Array, b: Array, rng: np.random.Generator) -> list[tuple[Array, Array]]:
        """Return features and logit gradients of both draws; nothing from an empty buffer."""
        filled = min(self.seen, self.buffer)
        if not filled:
            return []
        first, second = (
            rng.choice(filled, min(self.batch, filled), replace=False) for _ in range(2)
        )
        gap = self.features[first] @ W + b - self.stored[first]
        gap[np.arange(len(b)) >= self.known[first][:, None]] = 0
        again = softmax.cross_entropy_gradient(self.features[second] @ W + b, self.columns[second])
        return [
            (self.features[first], self.alpha * 2 / (len(gap) * COLUMNS) * gap),
            (self.features[second], self.beta * again),
        ]

    def _keep(
        self, X: Array, labels: NDArray[np.integer], logits: Array, rng: np.random.Generator
    ) -> None:
        """Offer a batch to the reservoir: sample number i stays with probability buffer / i."""
        slot = reservoir_slots(self.seen, len(X), self.buffer, rng)
        for row in np.flatnonzero(slot >= 0):
            self.features[slot[row]], self.columns[slot[row]] = X[row], labels[row]
            self.stored[slot[row]], self.known[slot[row]] = logits[row], logits.shape[1]
        self.seen += len(X)


def reservoir_slots(
    seen: int, arrivals: int, capacity: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the slot (arrivals,) of a buffer that each arrival takes, -1 for none (Vitter, 1985).

    Arrival number i (from 0, ``seen`` before these) takes slot i while there is room, then a
    uniform number in 0..i if it is below ``capacity``.
    """
    numbers = np.arange(seen, seen + arrivals)
    drawn = rng.integers(0, numbers + 1)
    slots = np.where(numbers < capacity, numbers, drawn)
    return np.where(slots < capacity, slots, -1)


build = DerppHead
