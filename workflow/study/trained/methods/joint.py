"""Joint fine-tuning: in every session the pretrained network anew, on the images of all classes seen.

Not incremental, and no method: the upper reference of those that train the network.  It keeps all
images.  Where only the accuracy after the last session counts, one session with all classes gives it
at a fraction of the cost.  Loss, optimiser and settings are those of `finetune` in a first session.
Cost: 3 forward passes for every image seen so far and epoch.
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from study.trained.heads import Heads, kaiming_linear
from study.trained.methods.finetune import Finetune
from study.trained.phase import Phase, Training
from study.trained.setup import Setup


class Joint(Finetune):
    """`Finetune` from the start in each session, on all images so far."""

    name = "joint"

    def grow(self, new: int) -> None:
        """Replace the head by a new one for all classes."""
        self.head = Heads()
        self.head.append(kaiming_linear(self.width, sum(self.sizes), self.torch_rng("head")))

    def session(self, rows: NDArray[np.int64]) -> Iterator[Phase]:
        """Start from the pretrained network and train on all images so far."""
        earlier = self.kept.get("rows", torch.zeros(0, dtype=torch.int64)).cpu().numpy()
        rows = np.concatenate([earlier, rows])
        self.kept["rows"] = torch.from_numpy(rows)
        self.network.load_state_dict(self.setup.network.state_dict())
        network = (self.network,) if self.trains_network else ()
        group = self.settings.group(*network, self.head)
        yield self.phase(rows, self.loss, group, training=network)

    def exemplars(self) -> int:
        """Return the number of images seen: all are kept."""
        return len(self.kept["rows"])


def build(
    setup: Setup,
    *,
    rate: float = 1e-3,
    epochs: int = 20,
    batch: int = 128,
    decay: float = 5e-4,
    seed: int = 0,
) -> Joint:
    """Build the learner.

    Parameters
    ----------
    setup : network, images and device
    rate, epochs, batch, decay : of the training
    seed : of head, batches and views
    """
    return Joint(setup, Training(rate, epochs, batch, decay), "seen", seed)
