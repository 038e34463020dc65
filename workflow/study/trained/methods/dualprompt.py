"""DualPrompt: prefixes for all sessions in early blocks, and of each session in later ones.

G-prefixes belong to all images (blocks 1-2), E-prefixes to a session (blocks 3-5); prefixes are rows
beside the projected keys and values, and the class token is the feature.  A session t has two phases:
1. G, slot t, which every image uses, and the head's new rows: CE over the session's columns.
2. The key k_t: -mean cos(q, k_t), q the class token without prefixes, of the plain images.
At test each image takes the slot whose key has the largest cosine with its q.  Slot t + 1 starts as a
copy of slot t, its key at random.
Source: DualPrompt (ECCV 2022); ``models/dualprompt.py`` of LAMDA-PILOT, commit 2647455, whose settings
for CIFAR-100 are the defaults: Adam, rate 0.001, batches of 24, 5 epochs (ImageNet-R: 10), 5 rows of
keys and 5 of values in every prefix, one loss CE - 0.1 cos(q, k_t).  The official JAX code on ImageNet-R:
rate 0.005 batch / 256, 50 epochs, 20 rows in E, CE - cos(q, k_t), clipping at 1.

Differences: the two terms of that loss share no parameter, so that each has a phase; q is computed once a
session, and the key has its own rate, which few updates need.  Slots come with their sessions, so that keys of
sessions to come do not compete at test.  Keys are chosen image by image, where the codes let a sorted
batch vote (see `l2p`).  Ports to torch reshape (2, batch) into (batch, 2) without moving the axes, which
hands half of the batch keys as both keys and values (JH-LEE-KR/dualprompt-pytorch, issue 8); here keys are keys.
Cost: 2 forward passes an image and epoch, and one an image.  Trains D (4 L_g + T (6 L_e + 1)) + (D + 1) K
parameters in T sessions; keeps no images.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from study.trained import losses
from study.trained.growing import Prompted
from study.trained.learner import Batch, Others, Phases, Rows
from study.trained.phase import Phase
from study.trained.tokens import admit_prefixes, check_blocks, prefixed


@dataclass(eq=False, repr=False)
class Dualprompt(Prompted):
    """``general`` (G, 2, L_g, D); ``slots``: one (E, 2, L_e, D) a session; ``keys``: one (D,) a session.

    Parameters
    ----------
    general_blocks, expert_blocks : blocks (from 1) with G- and with E-prefixes
    general_length, expert_length : rows of keys, and as many of values, in a prefix
    key_rate : rate of the key
    clip : largest norm of the gradient; 0 for no clipping
    """

    rate: float = 1e-3
    epochs: int = 5
    batch: int = 24
    general_blocks: Sequence[int] = (1, 2)
    expert_blocks: Sequence[int] = (3, 4, 5)
    general_length: int = 5
    expert_length: int = 5
    key_rate: float = 1e-3
    clip: float = 0.0
    seed: int = 0
    name = "dualprompt"

    def __post_init__(self) -> None:
        check_blocks(self, "general_blocks", "expert_blocks")
        super().__post_init__()
        admit_prefixes(self.network, (*self.general_blocks, *self.expert_blocks))
        self.above_zero("key_rate")
        self.from_zero("clip")
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
        """Train G, the new slot and the head's new rows; then the slot's key, on queries computed once."""
        yield self.prompt_phase(rows, [self.general, self.slots[-1]], clip=self.clip)
        queries, key = self.train_scan(self.query, rows).to(self.setup.device), self.keys[-1]

        def batches(epoch: int) -> Iterator[tuple[Tensor]]:
            order = torch.from_numpy(self.rng("queries", epoch).permutation(len(rows)))
            return ((queries[part],) for part in order.split(self.batch))

        group = {"params": [key], "lr": self.key_rate, "weight_decay": 0.0}
        yield Phase(
            "key",
            batches,
            len(rows),
            [group],
            lambda batch: -losses.pull(batch[0], key[None]),
            self.epochs,
            "adam",
        )

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
        """Return the cross-entropy of a batch, all of whose images use the newest slot."""
        newest = batch.y.new_full((len(batch.y),), self.number - 1)
        logits = self.head(self.features(batch.x, newest))
        return losses.cross_entropy(logits, batch.y, self.first)

    def predict(self, x: Tensor) -> Tensor:
        """Return logits (b, c), with the slot of the nearest key."""
        return self.head(self.features(x, self.nearness(x).argmax(1)))

    def nearness(self, x: Tensor) -> Tensor:
        """Return the cosines (b, t) of queries and keys."""
        return losses.cosine(self.query(x), torch.stack(list(self.keys)))

    def others(self) -> Others:
        """Return the choice of a slot, which is right where it is that of the class's session."""
        return {"slot": (self.nearness, np.repeat(np.arange(self.number), self.sizes))}

    def _uniform(self, name: str, *shape: int) -> nn.Parameter:
        return nn.Parameter(2 * torch.rand(shape, generator=self.torch_rng(name)) - 1)


build = Dualprompt
