"""L2P: prompts from a pool, chosen for each image by its query, before a frozen transformer.

q(x) is the class token of the network without prompts.  The N of M keys with the largest cosine to q
choose prompts of L tokens each, which go before block 1 without positions; the feature is the mean of
their outputs after the last norm.  Pool, keys and head are trained:
loss = CE over the session's columns - pull sum_{chosen} cos(q, k).
Source: L2P (CVPR 2022); ``models/l2p.py`` of LAMDA-PILOT, commit 2647455, whose settings for
CIFAR-100 are the defaults: Adam, rate 0.001875, batches of 16, 5 epochs (ImageNet-R: 32, 10), M 10,
L 5, N 5, pull 0.1, prompts and keys uniform in (-1, 1).  The official JAX code: rate 0.03 batch / 256,
clipping at 1, pull 1, start in (0, 0.01).

Differences: prompts are chosen image by image, as in the paper.  PILOT lets a batch vote, and since
test batches there are sorted by class, the vote tells the session (google-research/l2p, issue 28).
Its schedule, which sits on an optimiser that is thrown away, is left out: the rate is constant.
PILOT adds the class token's position to the prompts; the paper does not.  The paper's penalty of
frequent prompts is in neither code.
Cost: 1 + 2 r forward passes an image and epoch, r the share of tokens with prompts.  Trains
M D (L + 1) + (D + 1) K parameters; keeps no images.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sparcl.base.errors import InputError
from study.trained import losses
from study.trained.growing import Prompted
from study.trained.learner import Batch, Phases, Rows
from study.trained.tokens import check_tokens, inserted


@dataclass(eq=False, repr=False)
class L2p(Prompted):
    """Pool ``prompts`` (M, L, D) with ``keys`` (M, D) on a frozen network.

    ``kept["uses"]`` (M,) counts how often each prompt was chosen in training: a few may serve all.

    Parameters
    ----------
    pool, length, chosen : prompts M, tokens of each L, prompts of an image N
    pull : weight of the cosines between query and chosen keys
    clip : largest norm of the gradient; 0 for no clipping
    """

    rate: float = 1.875e-3
    epochs: int = 5
    batch: int = 16
    pool: int = 10
    length: int = 5
    chosen: int = 5
    pull: float = 0.1
    clip: float = 0.0
    seed: int = 0
    name = "l2p"

    def __post_init__(self) -> None:
        check_tokens(self.name, self.setup.network)
        super().__post_init__()
        self.at_least(1, "pool", "length", "chosen")
        if self.chosen > self.pool:
            raise InputError(
                f"chosen = {self.chosen} prompts out of a pool of {self.pool}: raise pool or lower it."
            )
        self.from_zero("pull", "clip")
        rng = self.torch_rng("pool")
        self.prompts = nn.Parameter(
            2 * torch.rand((self.pool, self.length, self.d), generator=rng) - 1
        )
        self.keys = nn.Parameter(2 * torch.rand((self.pool, self.d), generator=rng) - 1)
        self.kept["uses"] = torch.zeros(self.pool, dtype=torch.int64, device=self.setup.device)
        self._chosen = torch.zeros(0, dtype=torch.int64)
        self.to(self.setup.device)

    def session(self, rows: Rows) -> Phases:
        """Train pool, keys and the head's new rows."""
        prompts = [self.prompts, self.keys]
        yield self.prompt_phase(rows, prompts, clip=self.clip, after_step=self.count)

    def choose(self, query: Tensor) -> Tensor:
        """Return the indices (b, N) of the prompts nearest to q (b, D), nearest first."""
        return losses.cosine(query, self.keys).topk(self.chosen, dim=1).indices

    def features(self, x: Tensor, chosen: Tensor) -> Tensor:
        """Return the mean output (b, D) of the prompts ``chosen`` (b, N)."""
        prompts = self.prompts[chosen].flatten(1, 2)
        with inserted(self.network, prompts):
            tokens = self.network.forward_features(x)
        front = self.network.num_prefix_tokens
        return tokens[:, front : front + prompts.shape[1]].mean(1)

    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of a batch."""
        query = self.query(batch.x)
        chosen = self.choose(query)
        self._chosen = chosen
        logits = self.head(self.features(batch.x, chosen))
        entropy = losses.cross_entropy(logits, batch.y, self.first)
        return entropy - self.pull * losses.pull(query, self.keys[chosen])

    def count(self, batch: Batch) -> None:
        """Count the prompts that the batch has chosen."""
        self.kept["uses"] += torch.bincount(self._chosen.flatten(), minlength=len(self.keys))

    def predict(self, x: Tensor) -> Tensor:
        """Return logits (b, c)."""
        return self.head(self.features(x, self.choose(self.query(x))))

    def report(self) -> dict[str, object]:
        """Return the report, with how often each prompt was chosen so far."""
        return super().report() | {"prompt_uses": self.kept["uses"].tolist()}


build = L2p
