"""Linear probe: a linear head on the frozen network, trained on the images of all classes seen.

Not incremental, and no method: what gradient steps reach on features alone, with augmentation.  In every
session the head starts anew.  Loss, optimiser, epochs and weight decay are those of `finetune` in a first session.
Cost: one forward pass for every image seen so far and epoch.  Trains (D + 1) K parameters.
"""

from dataclasses import dataclass

import numpy as np
import torch

from study.trained.growing import Growing, Heads
from study.trained.learner import Phases, Rows


@dataclass(eq=False, repr=False)
class LinearProbe(Growing):
    """A head from the start in each session, on all images so far; ``kept["rows"]`` are these."""

    rate: float = 0.01
    epochs: int = 20
    batch: int = 128
    decay: float = 5e-4
    seed: int = 0
    name = "linear-probe"
    trains_network = False

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
        yield self.phase(rows, self.cross_entropy, *self.two_rates(self.head))

    def exemplars(self) -> int:
        """Return the number of images seen: all are kept."""
        return len(self.kept["rows"])


build = LinearProbe
