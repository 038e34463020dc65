"""Maps from the tensor names of foreign checkpoints to those of timm models, chosen by ``keys`` in a weights block.

A map takes the stored tensors and the model, and returns a state dict. Loading it is strict, so a map that forgets or
invents a tensor fails there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sparcl.base.errors import WeightsError

if TYPE_CHECKING:
    import torch

Tensors = dict[str, "torch.Tensor"]


def by_name(tensors: Tensors, model: Any) -> Tensors:
    """Keep the names, which are timm's own."""
    return tensors


def by_order(tensors: Tensors, model: Any) -> Tensors:
    """Match tensors by position, for the same network written by someone else.

    Kind (the last part of the name) and shape of every pair must agree. A classifier at the end may be left over.
    """
    own = model.state_dict()
    stored = list(tensors.items())
    head = len(stored) - len(own)
    if head not in (0, 2):  # a linear classifier is a weight and a bias
        raise WeightsError(
            f"The checkpoint has {len(stored)} tensors, the model {len(own)}: another network."
        )
    for (name, value), (target, place) in zip(stored, own.items(), strict=False):
        if name.rpartition(".")[2] != target.rpartition(".")[2] or value.shape != place.shape:
            raise WeightsError(
                f"Tensor {name} {tuple(value.shape)} does not fit {target} {tuple(place.shape)}: another network "
                "or another order of layers."
            )
    return {target: value for target, (_, value) in zip(own, stored, strict=False)}


def from_onnx_dinov2(tensors: Tensors, model: Any) -> Tensors:
    """Map a DINOv2 exported to ONNX under the module names of `transformers` to timm's transformer.

    MatMul constants are the transposed Linear weights. Patch positions are stored for the pre-training grid; the
    exported graph resamples them by plain bicubic interpolation, and so does this map (timm would low-pass them
    first, which moves the features).
    """
    import torch

    def linear(node: str) -> torch.Tensor:
        return tensors[f"{node}.MatMul"].T

    out = {
        "cls_token": tensors["backbone.embeddings.cls_token"],
        "patch_embed.proj.weight": tensors[
            "backbone.embeddings.patch_embeddings.projection.weight"
        ],
        "patch_embed.proj.bias": tensors["backbone.embeddings.patch_embeddings.projection.bias"],
        "norm.weight": tensors["backbone.layernorm.weight"],
        "norm.bias": tensors["backbone.layernorm.bias"],
    }
    patches = tensors["backbone.embeddings.Reshape_1"]  # (1, side^2, d)
    side, width = round(patches.shape[1] ** 0.5), patches.shape[2]
    grid = patches.reshape(1, side, side, width).permute(0, 3, 1, 2)
    grid = torch.nn.functional.interpolate(grid, size=model.patch_embed.grid_size, mode="bicubic")
    positions = grid.permute(0, 2, 3, 1).reshape(1, -1, width)
    out["pos_embed"] = torch.cat([tensors["backbone.embeddings.Concat_6"], positions], dim=1)
    for block in range(len(model.blocks)):
        theirs, ours = f"backbone.encoder.layer.{block}", f"blocks.{block}"
        attention = [f"{theirs}.attention.attention.{part}" for part in ("query", "key", "value")]
        out[f"{ours}.attn.qkv.weight"] = torch.cat([linear(part) for part in attention])
        out[f"{ours}.attn.qkv.bias"] = torch.cat([tensors[f"{part}.bias"] for part in attention])
        for there, here in (
            ("attention.output.dense", "attn.proj"),
            ("mlp.fc1", "mlp.fc1"),
            ("mlp.fc2", "mlp.fc2"),
        ):
            out[f"{ours}.{here}.weight"] = linear(f"{theirs}.{there}")
            out[f"{ours}.{here}.bias"] = tensors[f"{theirs}.{there}.bias"]
        for norm in ("norm1", "norm2"):
            out[f"{ours}.{norm}.weight"] = tensors[f"{theirs}.{norm}.weight"]
            out[f"{ours}.{norm}.bias"] = tensors[f"{theirs}.{norm}.bias"]
        for scale in ("1", "2"):
            out[f"{ours}.ls{scale}.gamma"] = tensors[f"{theirs}.layer_scale{scale}.lambda1"]
    return out


KEYMAPS: dict[str, Callable[[Tensors, Any], Tensors]] = {
    "name": by_name,
    "order": by_order,
    "onnx-dinov2": from_onnx_dinov2,
}
