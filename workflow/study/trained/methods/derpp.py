"""DER++: replay of images, with the logits they had and with their labels.

loss = CE(z(x), y) + alpha mean (z(x') - stored logits)^2 + beta CE(z(x''), y'')
Each step draws x' and x'' from the buffer, independently, without replacement, and augments them
anew.  After the step every image of the batch may enter the buffer, a reservoir (Vitter, 1985), with
its label and the logits of its augmented view before the step.  An image arrives once an epoch, so
that the buffer may hold it several times.  The head has all K columns from the start and none is
masked, neither in the loss nor in the buffer; images are sorted among the classes seen.
Source: Dark Experience (NeurIPS 2020), ``models/derpp.py`` of aimagelab/mammoth, commit e75a491.
Settings there: alpha 0.3, beta 0.5, buffer 500, for a ResNet from scratch on CIFAR-100.  There is no
recipe for a transformer: rates, epochs, batch and weight decay are those of `finetune`.

Differences: rates and BatchNorm, as in `finetune`.  K is the number of classes of the data set, announced as
in the public code.
Cost: 9 forward passes an image and epoch.  Trains P + (D + 1) K parameters; keeps a buffer of images
with K logits each.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from study.methods.derpp_head import reservoir_slots
from study.trained import losses
from study.trained.growing import linear
from study.trained.learner import Batch, Phases, Rows, Trained


@dataclass(eq=False, repr=False)
class Derpp(Trained):
    """Network and full-width head; ``kept`` holds the buffer: ``rows`` (n,) and ``logits`` (n, K).

    Parameters
    ----------
    buffer : images in the reservoir
    alpha, beta : weights of the stored logits and of the stored labels
    """

    rate: float = 0.01
    epochs: int = 20
    batch: int = 128
    decay: float = 5e-4
    slow: float = 0.01
    buffer: int = 500
    alpha: float = 0.3
    beta: float = 0.5
    seed: int = 0
    name = "derpp"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.at_least(1, "buffer")
        self.from_zero("alpha", "beta")
        K = self.setup.train.classes
        self.head = linear(self.d, K, self.torch_rng("head")).to(self.setup.device)
        self.kept["rows"] = torch.zeros(0, dtype=torch.int64)
        self.kept["logits"] = torch.zeros((0, K))
        self.kept["seen"] = torch.zeros((), dtype=torch.int64)
        self._steps = 0
        self._logits = torch.zeros(0)
        self._arrivals = self.rng()

    def grow(self, new: int) -> None:
        """Add nothing: the head has all columns."""

    def session(self, rows: Rows) -> Phases:
        """Train on images and buffer; the buffer changes with every step."""
        self._steps, self._arrivals = 0, self.rng("reservoir")
        yield self.phase(rows, self.loss, *self.two_rates(self.head), after_step=self.store)

    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of a batch with two draws from the buffer, if it holds anything."""
        self._steps += 1
        logits = self.head(self.network(batch.x))
        self._logits = logits.detach().float()
        loss = losses.cross_entropy(logits, batch.y)
        if len(self.kept["rows"]):
            first, places = self.draw("logits")
            change = self.head(self.network(first.x)) - self.kept["logits"][places]
            second, _ = self.draw("labels")
            replayed = losses.cross_entropy(self.head(self.network(second.x)), second.y)
            loss = loss + self.alpha * change.square().mean() + self.beta * replayed
        return loss

    def draw(self, kind: str) -> tuple[Batch, Tensor]:
        """Return a batch from the buffer, augmented anew, and its places (b,) there."""
        kept = self.kept["rows"]
        size = min(self.batch, len(kept))
        rng = self.rng("draw", kind, self._steps)
        places = torch.from_numpy(rng.choice(len(kept), size, replace=False)).to(kept.device)
        return self.augmented(kept[places].cpu().numpy(), "draw", kind, self._steps), places

    def store(self, batch: Batch) -> None:
        """Let the images of a batch into the reservoir, with the logits they had before the step."""
        seen = int(self.kept["seen"])
        slots = reservoir_slots(seen, len(batch.rows), self.buffer, self._arrivals)
        rows, logits = self.kept["rows"], self.kept["logits"].to(self._logits.device)
        room = min(seen + len(slots), self.buffer) - len(rows)
        rows = torch.cat([rows, rows.new_zeros(room)])
        logits = torch.cat([logits, logits.new_zeros((room, logits.shape[1]))])
        for position in np.flatnonzero(slots >= 0):
            rows[slots[position]] = int(batch.rows[position])
            logits[slots[position]] = self._logits[position]
        self.kept |= {"rows": rows, "logits": logits, "seen": torch.tensor(seen + len(slots))}

    def predict(self, x: Tensor) -> Tensor:
        """Return logits (b, c) of the classes seen."""
        return self.head(self.network(x))[:, : len(self.classes)]

    def exemplars(self) -> int:
        """Return the number of images in the buffer."""
        return len(self.kept["rows"])


build = Derpp
