"""Joint fine-tuning: in every session the pretrained network anew, on the images of all classes seen.

Not incremental, and no method: the upper reference of those that train the network.  It keeps all
images.  Where only the accuracy after the last session counts, one session with all classes gives it
at a fraction of the cost.  Loss, optimiser and settings are those of `finetune` in a first session.
Cost: 3 forward passes for every image seen so far and epoch.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from study.trained import losses
from study.trained.growing import Growing, Heads
from study.trained.learner import Batch, Phases, Rows


@dataclass(eq=False, repr=False)
class Joint(Growing):
    """Network and head from the start in each session, on all images so far; ``kept["rows"]`` are these."""

    rate: float = 1e-3
    epochs: int = 20
    batch: int = 128
    decay: float = 5e-4
    seed: int = 0
    name = "joint"

    def grow(self, new: int) -> None:
        """Replace the head by a new one for all classes."""
        self.head = Heads()
        super().grow(len(self.classes))

    def session(self, rows: Rows) -> Phases:
        """Start from the pretrained network and train on all images so far."""
        earlier = self.kept.get("rows", torch.zeros(0, dtype=torch.int64)).cpu().numpy()
        rows = np.concatenate([earlier, rows])
        self.kept["rows"] = torch.from_numpy(rows)
        self.network.load_state_dict(self.setup.network.state_dict())
        network = (self.network,) if self.trains_network else ()
        yield self.phase(rows, self.loss, self.group(*network, self.head), training=network)

    def loss(self, batch: Batch) -> Tensor:
        """Return the cross-entropy of a batch over all classes so far."""
        return losses.cross_entropy(self.predict(batch.x), batch.y)

    def exemplars(self) -> int:
        """Return the number of images seen: all are kept."""
        return len(self.kept["rows"])


build = Joint
