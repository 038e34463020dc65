"""CODA-Prompt: prefixes that are sums of components, weighted by attention to the query.

Each of blocks 1-5 has components P_m (L, D) with keys K_m and attention vectors A_m (D,).  For the
query q, the class token of the network without prefixes,
alpha_m = cos(q * A_m, K_m),  prefix = sum_m alpha_m P_m,
whose first half are keys, whose second half values.  Every session brings its own components; those of
earlier sessions take part frozen, those to come are absent.  The class token is the feature:
loss = CE over the session's columns + orthogonality sum_{B in P, K, A} mean (B B^T - I)^2.
New components are normal draws made orthonormal to all before them (Gram-Schmidt, P flattened).
Source: CODA-Prompt (CVPR 2023), official code and ``models/coda_prompt.py`` of LAMDA-PILOT, commit
2647455: Adam, rate 0.001 without weight decay, batches of 128, 20 epochs (ImageNet-R: 50), 100 components
in 10 sessions, L 8.  Rate of epoch e of E: cos(99 pi e / (200 (E - 1))).  The orthogonality weight is 0.1
in the first release and 0 now, since the start is orthonormal; 0 here.

Differences: incomplete batches are used, which PILOT drops; Gram-Schmidt runs in float64; with one
epoch, where the schedule divides by zero, the rate is constant.
Cost: 3 forward passes an image and epoch.  Trains 5 M D (L + 2) + (D + 1) K parameters for M components;
keeps no images.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sparcl.base.errors import InputError
from study.trained import losses
from study.trained.growing import Prompted
from study.trained.learner import Batch, Phases, Rows
from study.trained.tokens import admit_prefixes, check_blocks, prefixed


def quarter_cosine(epoch: int, epochs: int) -> float:
    """Return cos(99 pi e / (200 (E - 1))), from 1 to almost 0; 1 for a single epoch."""
    return float(np.cos(99 * np.pi * epoch / (200 * max(epochs - 1, 1))))


@dataclass(eq=False, repr=False)
class CodaPrompt(Prompted):
    """One parameter a session in each of ``prompts`` (B, m, L, D), ``keys`` and ``focus`` (B, m, D), for B blocks.

    Parameters
    ----------
    blocks : those with prefixes, from 1
    components : that each session brings to each block (official 100 / T)
    length : rows of a component, half of them keys
    orthogonality : weight of the penalty
    """

    rate: float = 1e-3
    epochs: int = 20
    batch: int = 128
    blocks: Sequence[int] = (1, 2, 3, 4, 5)
    components: int = 10
    length: int = 8
    orthogonality: float = 0.0
    seed: int = 0
    name = "coda-prompt"
    start = "torch"

    def __post_init__(self) -> None:
        check_blocks(self, "blocks")
        super().__post_init__()
        admit_prefixes(self.network, self.blocks)
        self.at_least(1, "components")
        self.at_least(2, "length")
        if self.length % 2:
            raise InputError(
                f"length = {self.length}: keys and values take half each, give an even number."
            )
        self.from_zero("orthogonality")
        self.prompts, self.keys = nn.ParameterList(), nn.ParameterList()
        self.focus = nn.ParameterList()

    def check(self, new: int) -> None:
        """Raise InputError when more components are wanted than are orthogonal in D dimensions."""
        wanted = self.components * (self.number + 1)
        if wanted > self.d:
            raise InputError(
                f"{self.name}, session {self.number + 1}: {wanted} components cannot be orthogonal in "
                f"{self.d} dimensions. Lower `components`, the number each session brings."
            )

    def grow(self, new: int) -> None:
        """Add components orthonormal to all earlier ones, and rows of the head."""
        for name, pool, shape in (
            ("prompts", self.prompts, (self.length, self.d)),
            ("keys", self.keys, (self.d,)),
            ("focus", self.focus, (self.d,)),
        ):
            draws = (len(self.blocks), self.components, int(np.prod(shape)))
            fresh = torch.randn(draws, generator=self.torch_rng(name), dtype=torch.float64)
            before = [part.detach().cpu().double().flatten(2) for part in pool]
            found = orthonormal(torch.cat([*before, fresh], dim=1), sum(p.shape[1] for p in before))
            pool.append(nn.Parameter(found.float().unflatten(2, shape)))
        super().grow(new)

    def session(self, rows: Rows) -> Phases:
        """Train the session's components and the head's new rows."""
        prompts = [self.prompts[-1], self.keys[-1], self.focus[-1]]
        yield self.prompt_phase(rows, prompts, schedule=quarter_cosine)

    def weights(self, query: Tensor) -> Tensor:
        """Return alpha (b, B, M) of queries q (b, D)."""
        K, A = torch.cat(list(self.keys), 1), torch.cat(list(self.focus), 1)
        return functional.cosine_similarity(query[:, None, None] * A, K[None], dim=3)

    def features(self, x: Tensor) -> Tensor:
        """Return the class token (b, D) with the prefixes of each image."""
        P = torch.cat(list(self.prompts), 1)
        prefix = torch.einsum("bnm,nmld->nbld", self.weights(self.query(x)), P)
        half = self.length // 2
        prefixes = {
            number: (rows[:, :half], rows[:, half:])
            for number, rows in zip(self.blocks, prefix, strict=True)
        }
        with prefixed(self.network, prefixes):
            return self.network(x)

    def loss(self, batch: Batch) -> Tensor:
        """Return the loss of a batch."""
        logits = self.head(self.features(batch.x))
        loss = losses.cross_entropy(logits, batch.y, self.first)
        if self.orthogonality:
            loss = loss + self.orthogonality * self.penalty()
        return loss

    def penalty(self) -> Tensor:
        """Return the sum over blocks and over P, K, A of mean (B B^T - I)^2."""
        total = torch.zeros((), device=self.setup.device)
        for pool in (self.prompts, self.keys, self.focus):
            B = torch.cat(list(pool), 1).flatten(2)
            eye = torch.eye(B.shape[1], device=B.device)
            total = total + (B @ B.transpose(1, 2) - eye).square().mean((1, 2)).sum()
        return total

    def predict(self, x: Tensor) -> Tensor:
        """Return logits (b, c)."""
        return self.head(self.features(x))


def orthonormal(rows: Tensor, before: int) -> Tensor:
    """Return rows (B, m, d) from number ``before`` on, made orthonormal to all that precede them.

    Gram-Schmidt, each projection twice for accuracy; earlier rows need not be orthonormal to each other:
    their span is what is left out.
    """
    earlier = rows[:, :before].transpose(1, 2)
    basis = torch.linalg.qr(earlier).Q if before else earlier
    for number in range(before, rows.shape[1]):
        row = rows[:, number, :, None]
        for _ in range(2):
            row = row - basis @ (basis.transpose(1, 2) @ row)
        basis = torch.cat([basis, row / row.norm(dim=1, keepdim=True)], dim=2)
    return basis[:, :, before:].transpose(1, 2)


build = CodaPrompt
