"""Ways into a timm vision transformer: prompts among its tokens, prefixes of its keys, adapters beside its MLPs.

All three leave the network's tensors alone, and the network as it was when the block ends.  Networks are timm's,
whose attributes carry no types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from sparcl.base.errors import InputError


def check_tokens(method: str, network: nn.Module, blocks: int = 1) -> None:
    """Raise InputError unless ``network`` is a transformer with a class token and so many blocks."""
    depth = len(getattr(network, "blocks", ()))
    if getattr(network, "cls_token", None) is None or not depth:
        raise InputError(
            f"{method}: {type(network).__name__} has no class token, which the method needs. Choose a vision "
            "transformer of timm, for example vit_base_patch16_224, or a method that trains any network "
            "(finetune, icarl, derpp, slca, foster)."
        )
    if depth < blocks:
        raise InputError(
            f"{method}: the network has {depth} blocks and the method adds to block {blocks}. Name other blocks "
            "or choose a deeper network."
        )


def check_blocks(learner: Any, *names: str) -> None:
    """Raise InputError unless the blocks in the settings ``names`` differ, count from 1, and exist."""
    given = {name: tuple(getattr(learner, name)) for name in names}
    blocks = [number for numbers in given.values() for number in numbers]
    if not blocks or min(blocks) < 1 or len(set(blocks)) < len(blocks):
        said = " and ".join(f"{name} {list(numbers)}" for name, numbers in given.items())
        raise InputError(
            f"{learner.name}: {said} must be different numbers from 1: a block has one prefix."
        )
    check_tokens(learner.name, learner.setup.network, max(blocks))


class PrefixAttention(nn.Module):
    """Attention of timm that may be given extra rows of keys and values.

    Attributes
    ----------
    prefix : keys and values, each (b, L, D), that every token attends to beside its own; None for none
    """

    def __init__(self, attention: Any) -> None:
        super().__init__()
        if getattr(attention, "gate", None) is not None or not hasattr(attention, "qkv"):
            raise InputError(
                f"{type(attention).__name__}: prefixes need timm's plain attention with one qkv layer. Choose "
                "another vision transformer, for example vit_base_patch16_224."
            )
        self.attention = attention
        self.prefix: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor, **options: Any) -> Tensor:
        """Return the attention's output (b, n, D) for tokens x (b, n, D); with prefixes there is no mask."""
        if self.prefix is None:
            return self.attention(x, **options)
        inner: Any = self.attention
        b, n, _ = x.shape
        heads = (b, -1, inner.num_heads, inner.head_dim)
        q, k, v = inner.qkv(x).reshape(b, n, 3, inner.num_heads, inner.head_dim).unbind(2)
        keys, values = (rows.to(q.dtype).reshape(heads) for rows in self.prefix)
        q, k = inner.q_norm(q), torch.cat([keys, inner.k_norm(k)], dim=1)
        v = torch.cat([values, v], dim=1)
        out = functional.scaled_dot_product_attention(
            q.transpose(1, 2),
            k.transpose(1, 2),
            v.transpose(1, 2),
            dropout_p=inner.attn_drop.p if inner.training else 0.0,
        )
        out = getattr(inner, "norm", nn.Identity())(out.transpose(1, 2).reshape(b, n, -1))
        return inner.proj_drop(inner.proj(out))


def admit_prefixes(network: Any, blocks: Sequence[int]) -> None:
    """Replace the attention of ``blocks`` (from 1), so that :func:`prefixed` can reach it."""
    for number in blocks:
        block = network.blocks[number - 1]
        block.attn = PrefixAttention(block.attn)


@contextmanager
def prefixed(network: Any, prefixes: Mapping[int, tuple[Tensor, Tensor]]) -> Iterator[None]:
    """Prefix the keys and values of blocks (from 1) with rows, each (b, L, D)."""
    slots = {number: network.blocks[number - 1].attn for number in prefixes}
    try:
        for number, slot in slots.items():
            slot.prefix = prefixes[number]
        yield
    finally:
        for slot in slots.values():
            slot.prefix = None


@contextmanager
def inserted(network: Any, prompts: Tensor) -> Iterator[None]:
    """Insert prompts (b, L, D) before block 1, behind class and register tokens, without positions."""
    front = network.num_prefix_tokens

    def insert(_: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        x, *rest = arguments
        return torch.cat([x[:, :front], prompts.to(x.dtype), x[:, front:]], dim=1), *rest

    handle = network.blocks[0].register_forward_pre_hook(insert)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def adapted(network: Any, adapters: Sequence[nn.Module]) -> Iterator[None]:
    """Add to the output of each block its adapter's, whose input is the residual stream before norm2."""
    with ExitStack() as stack:
        for block, adapter in zip(network.blocks, adapters, strict=True):
            for handle in _beside_mlp(block, adapter):
                stack.callback(handle.remove)
        yield


def _beside_mlp(block: Any, adapter: nn.Module) -> list[torch.utils.hooks.RemovableHandle]:
    streams: list[Tensor] = []
    return [
        block.norm2.register_forward_pre_hook(lambda _, arguments: streams.append(arguments[0])),
        block.register_forward_hook(lambda _, __, output: output + adapter(streams.pop())),
    ]
