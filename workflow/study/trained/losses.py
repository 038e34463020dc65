"""Losses that several methods share."""

import torch
from torch import Tensor
from torch.nn import functional

TEMPERATURE = 2.0  # of distillation, in the public codes of iCaRL and FOSTER


def cross_entropy(logits: Tensor, columns: Tensor, first: int = 0) -> Tensor:
    """Return the mean cross-entropy of logits (b, c), those of columns before ``first`` at minus infinity."""
    return functional.cross_entropy(logits[:, first:], columns - first)


def distillation(logits: Tensor, teacher: Tensor) -> Tensor:
    """Return KD(z, z') = -mean_i sum_c softmax(z'/2) log softmax(z/2) for z, z' (b, c); no factor 4."""
    return soft_cross_entropy(logits, (teacher / TEMPERATURE).softmax(1))


def soft_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return -mean_i sum_c p_c log softmax(z/2)_c for logits z and probabilities p (b, c)."""
    return -(targets * (logits / TEMPERATURE).log_softmax(1)).sum(1).mean()


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Return the cosines (n, m) between the rows of a (n, d) and those of b (m, d), never in mixed precision."""
    with torch.autocast(a.device.type, enabled=False):
        return functional.normalize(a.float(), dim=1) @ functional.normalize(b.float(), dim=1).T


def pull(query: Tensor, keys: Tensor) -> Tensor:
    """Return the mean over images of the summed cosines of q (b, d) with its keys, (b, N, d) or (N, d)."""
    return functional.cosine_similarity(query[:, None], keys, dim=2).sum(1).mean()
