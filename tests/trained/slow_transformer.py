"""A vision transformer written out for one image, token by token and head by head, in float64."""

import copy
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn


def tokens(
    network: nn.Module,
    image: Tensor,
    prompts: Tensor | None = None,
    prefixes: Mapping[int, tuple[Tensor, Tensor]] | None = None,
    adapters: Sequence[Callable[[Tensor], Tensor]] = (),
) -> Tensor:
    """Return the tokens (n, D) after the last norm.

    Parameters
    ----------
    image : (3, s, s); prompts : (L, D), behind the class token
    prefixes : block (from 1) to keys and values, (L, D) each
    adapters : one a block, beside its MLP: vector to vector
    """
    network = copy.deepcopy(network).double().eval()
    with torch.no_grad():
        x = network._pos_embed(network.patch_embed(image[None].double()))[0]
        if prompts is not None:
            x = torch.cat([x[:1], prompts.double(), x[1:]])
        for number, block in enumerate(network.blocks, 1):
            attention = getattr(block.attn, "attention", block.attn)
            K, V = (prefixes or {}).get(number, (x[:0], x[:0]))
            x = x + _attention(attention, block.norm1(x), K.double(), V.double())
            beside = [adapters[number - 1](row) for row in x] if adapters else [0 * x[0]] * len(x)
            x = x + block.mlp(block.norm2(x)) + torch.stack(beside)
        return network.norm(x)


def _attention(attention: nn.Module, x: Tensor, K: Tensor, V: Tensor) -> Tensor:
    D, heads = x.shape[1], attention.num_heads
    q, k, v = (attention.qkv(x)[:, part * D : (part + 1) * D] for part in range(3))
    k, v = torch.cat([K, k]), torch.cat([V, v])
    out = torch.zeros_like(x)
    for head in range(heads):
        own = slice(head * D // heads, (head + 1) * D // heads)
        for i in range(len(x)):
            weights = torch.exp(
                torch.stack([q[i, own] @ row[own] for row in k]) / (D / heads) ** 0.5
            )
            out[i, own] = (weights[:, None] * v[:, own]).sum(0) / weights.sum()
    return attention.proj(out)
