"""DualPrompt: prefixes for all sessions in early blocks, and of each session in later ones.

G-prefixes belong to all images (blocks 1-2), E-prefixes to a session (blocks 3-5); prefixes are rows
beside the projected keys and values, and the class token is the feature.  In session t the slot t is
used for every image:
loss = CE over the session's columns - pull cos(q, k_t), q the class token without prefixes.
At test each image takes the slot whose key has the largest cosine with its q.  Slot t + 1 starts as a
copy of slot t, its key at random.
Source: DualPrompt (ECCV 2022); ``models/dualprompt.py`` of LAMDA-PILOT, commit 2647455, whose settings
for CIFAR-100 are the defaults: Adam, rate 0.001, batches of 24, 5 epochs (ImageNet-R: 10), 5 rows of
keys and 5 of values in every prefix, pull 0.1.  The official JAX code on ImageNet-R: rate 0.005 batch /
256, 50 epochs, 20 rows in E, pull 1, clipping at 1.

What differs: slots come with their sessions, so that keys of sessions to come do not compete at test.
Keys are chosen image by image, where the codes let a sorted batch vote (see `l2p`).  Ports to torch
reshape (2, batch) into (batch, 2) without moving the axes, which hands half of the batch keys as both
keys and values (JH-LEE-KR/dualprompt-pytorch, issue 8); here keys are keys.
Cost: 3 forward passes an image and epoch.  Trains D (4 L_g + T (6 L_e + 1)) + (D + 1) K parameters in
T sessions; keeps no images.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from study.trained import losses
from study.trained.growing import Prompted
from study.trained.learner import Batch, Phases, Rows
from study.trained.tokens import admit_prefixes, check_blocks, prefixed


@dataclass(eq=False, repr=False)
class Dualprompt(Prompted):
    """``general`` (G, 2, L_g, D); ``slots``: one (E, 2, L_e, D) a session; ``keys``: one (D,) a session.

    Parameters
    ----------
    general_blocks, expert_blocks : blocks (from 1) with G- and with E-prefixes
    general_length, expert_length : rows of keys, and as many of values, in a prefix
    pull : weight of the cosine between query and key
    clip : largest norm of the gradient; 0 for no clipping
    """

    rate: float = 1e-3
    epochs: int = 5
    batch: int = 24
    general_blocks: Sequence[int] = (1, 2)
    expert_blocks: Sequence[int] = (3, 4, 5)
    general_length: int = 5
    expert_length: int = 5
    pull: float = 0.1
    clip: float = 0.0
    seed: int = 0
    name = "dualprompt"

    def __post_init__(self) -> None:
        check_blocks(self, "general_blocks", "expert_blocks")
        super().__post_init__()
        admit_prefixes(self.network, (*self.general_blocks, *self.expert_blocks))
        self.from_zero("pull", "clip")
        self.at_least(1, "general_length", "expert_length")
        blocks, rows = len(self.general_blocks), self.general_length
        self.general = self._uniform("general", blocks, 2, rows, self.d)
        self.slots, self.keys = nn.ParameterList(), nn.ParameterList()
        self.to(self.setup.device)

    def grow(self, new: int) -> None:
        """Add a slot, a copy of the one before, with a random key; and rows of the head."""
        slot = self._uniform("slot", len(self.expert_blocks), 2, self.expert_length, self.d)
        if len(self.slots):
            slot = nn.Parameter(self.slots[-1].detach().clone())
        self.slots.append(slot)
        self.keys.append(self._uniform("key", self.d))
        super().grow(new)

    def session(self, rows: Rows) -> Phases:
        """Train G, the new slot, its key and the head's new rows."""
        prompts = [self.general, self.slots[-1], self.keys[-1]]
        yield self.prompt_phase(rows, prompts, clip=self.clip)

    def features(self, x: Tensor, slot: Tensor) -> Tensor:
        """Return the class token (b, D) of images with the slots ``slot`` (b,)."""
        experts = torch.stack(list(self.slots))[slot]  # (b, E, 2, L, D)
        general = self.general.expand(len(x), *self.general.shape)
        prefixes = {
            number: (rows[:, i, 0], rows[:, i, 1])
            for blocks, rows in ((self.general_blocks, general), (self.expert_blocks, experts))
            for i, number in enumerate(blocks)
        }
        with prefixed(self.network, prefixes):
            return self.network(x)

    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of a batch, all of whose images use the newest slot."""
        newest = batch.y.new_full((len(batch.y),), self.number - 1)
        logits = self.head(self.features(batch.x, newest))
        entropy = losses.cross_entropy(logits, batch.y, self.first)
        return entropy - self.pull * losses.pull(self.query(batch.x), self.keys[-1][None])

    def predict(self, x: Tensor) -> Tensor:
        """Return logits (b, c), with the slot of the nearest key."""
        keys = torch.stack(list(self.keys))
        return self.head(self.features(x, losses.cosine(self.query(x), keys).argmax(1)))

    def _uniform(self, name: str, *shape: int) -> nn.Parameter:
        return nn.Parameter(2 * torch.rand(shape, generator=self.torch_rng(name)) - 1)


build = Dualprompt
