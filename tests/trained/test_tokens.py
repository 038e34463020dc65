"""Ways into a transformer, for any of timm's that the methods admit."""

import copy

import pytest
import timm
import torch
from torch import nn
from trained.toys import transformer

from sparcl.base.errors import InputError
from study.trained.tokens import PrefixAttention, adapted, admit_prefixes, inserted

X = torch.randn(3, 3, 16, 16, generator=torch.Generator().manual_seed(0))
KINDS = {
    "plain": {},
    "layer scale": {"init_values": 0.1},
    "norms of queries and keys": {"qk_norm": True},
    "registers": {"reg_tokens": 2},
}


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


@pytest.mark.parametrize("kind", KINDS)
def test_without_additions_a_network_is_what_it_was_to_the_bit(kind: str) -> None:
    network = transformer(**KINDS[kind])
    before = network(X)
    silent = nn.Linear(16, 16)
    nn.init.zeros_(silent.weight), nn.init.zeros_(silent.bias)
    admitted = copy.deepcopy(network)
    admit_prefixes(admitted, [1, 2])
    assert torch.equal(admitted(X), before)
    with adapted(network, [silent, silent]):
        assert torch.equal(network(X), before)
    with inserted(network, rows(3, 4, 16)), torch.no_grad():
        front = network.num_prefix_tokens
        assert network.forward_features(X).shape == (3, front + 4 + 16, 16)
    with adapted(network, [nn.Identity(), nn.Identity()]):
        assert not torch.allclose(network(X), before)
    assert torch.equal(network(X), before)


@pytest.mark.parametrize("kind", KINDS)
def test_attention_with_prefixes_equals_that_over_appended_tokens(kind: str) -> None:
    """Rows whose keys and values come from tokens of their own: what they attend to is not needed."""
    attention = transformer(**KINDS[kind]).blocks[0].attn
    for parameter in attention.k_norm.parameters():
        nn.init.normal_(parameter, generator=torch.Generator().manual_seed(0))
    x, extra = rows(3, 5, 16), rows(2, 16).expand(3, 2, 16)
    with torch.no_grad():
        qkv = attention.qkv(extra).reshape(3, 2, 3, 2, 8)
        keys, values = attention.k_norm(qkv[:, :, 1]).flatten(2), qkv[:, :, 2].flatten(2)
        whole = attention(torch.cat([x, extra], 1))[:, :5]
        slot = PrefixAttention(attention)
        slot.prefix = (keys, values)
        torch.testing.assert_close(slot(x), whole, rtol=1e-4, atol=1e-5)


def test_what_cannot_be_reached_into_is_refused() -> None:
    with pytest.raises(InputError, match="one qkv layer"):
        PrefixAttention(timm.create_model("test_vit4", num_classes=0).blocks[0])
