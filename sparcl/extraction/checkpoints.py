"""Checkpoints: tensors out of a file, without running any code in it, and into a network."""

from __future__ import annotations

import argparse
import io
import logging
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from sparcl.base.errors import WeightsError

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

Tensors = dict[str, "torch.Tensor"]
READABLE = (".pth", ".pt", ".bin", ".safetensors", ".npz", ".onnx")
ENTRIES = ("state_dict", "model")  # the names under which training scripts save a model


def read_tensors(name: str, content: bytes, entry: str = "") -> dict[str, Any]:
    """Return the tensors of a checkpoint by name, in stored order, without running any code in it.

    Pickles go through torch's restricted unpickler (``weights_only=True``), ONNX never follows references to
    other files, npz is read without pickle. Floats of 8 and 16 bits become float32.

    Parameters
    ----------
    entry : the state dict to take out of a pickle that holds several, by default the first of `ENTRIES`

    Raises
    ------
    WeightsError : unknown suffix, damaged file, a pickle that wants to run code, no tensors, or several state dicts
    """
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in READABLE:
        raise WeightsError(f"{name}: cannot read {suffix!r} files; allowed: {', '.join(READABLE)}.")
    readers = {".safetensors": _read_safetensors, ".npz": _read_npz, ".onnx": _read_onnx}
    reader = readers.get(suffix)
    try:
        if entry and reader:
            raise WeightsError(f"{suffix} files have no entries; take `entry` out of `weights`.")
        tensors = reader(content) if reader else _read_torch(content, entry)
    except WeightsError as error:
        raise WeightsError(f"{name}: {error}") from error
    except Exception as error:  # every parser has its own exceptions, all with one remedy
        raise WeightsError(
            f"{name}: refused or unreadable as {suffix} ({type(error).__name__}: {str(error).split(chr(10))[0]}). "
            "The file is damaged, or a pickle that holds code instead of tensors, which is never loaded: "
            "save the plain state dict, best as .safetensors."
        ) from error
    if not tensors:
        raise WeightsError(f"{name}: holds no tensors; expected a state dict.")
    small = [k for k, t in tensors.items() if t.is_floating_point() and t.element_size() < 4]
    return tensors | {key: tensors[key].float() for key in small}


def _read_torch(content: bytes, entry: str) -> dict[str, Any]:
    import torch

    # timm's training script keeps its arguments beside the weights.
    with torch.serialization.safe_globals([argparse.Namespace]):
        loaded = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    if not isinstance(loaded, dict):
        raise TypeError(f"expected a state dict, found {type(loaded).__name__}")
    states = {"": loaded} | {key: value for key, value in loaded.items() if isinstance(value, dict)}
    found = {
        key: tensors
        for key, state in states.items()
        if (tensors := {k: v for k, v in state.items() if isinstance(v, torch.Tensor)})
    }
    wanted = [entry] if entry else [*ENTRIES, "", *(found if len(found) == 1 else ())]
    chosen = next((key for key in wanted if key in found), None)
    others = ", ".join(str(key) for key in found if key not in (chosen, ""))
    if chosen is None and (others or entry):
        raise WeightsError(
            f"no state dict {entry or ' or '.join(ENTRIES)}; there is {others or 'none by name'}. Name one in `entry` "
            "of `weights`."
        )
    if others and not entry:
        logger.warning("State dict %r is read; `entry` of `weights` chooses %s.", chosen, others)
    return found.get(chosen, {})


def _read_safetensors(content: bytes) -> dict[str, Any]:
    from safetensors.torch import load

    try:
        return load(content)
    except KeyError as error:
        raise WeightsError(
            f"a tensor has numbers of type {error}, which are read with a scale that lies elsewhere. Save the weights "
            "as float32 or bfloat16."
        ) from error


def _read_npz(content: bytes) -> dict[str, Any]:
    import numpy as np
    import torch

    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {key: torch.from_numpy(arrays[key]) for key in arrays.files}


def _read_onnx(content: bytes) -> dict[str, Any]:
    """Read initializers by name; anonymous ones (``onnx::...``) are named after the node that uses them."""
    import numpy as np
    import onnx
    import torch
    from onnx import numpy_helper

    graph = onnx.load_model_from_string(content).graph
    user = {name: node.name for node in graph.node for name in node.input}
    tensors = {}
    for initializer in graph.initializer:
        name = initializer.name
        if initializer.data_location == onnx.TensorProto.EXTERNAL:
            raise ValueError(f"tensor {name} lies in another file")
        if name.startswith("onnx::"):
            name = user[name].strip("/").replace("/", ".")
        array = numpy_helper.to_array(initializer)
        if array.dtype.kind == "V":  # bfloat16 and float8, of which numpy has none
            array = array.astype(np.float32)
        tensors[name] = torch.from_numpy(array.copy())
    return tensors


def load_into(model: Any, name: str, content: bytes, pins: dict[str, Any]) -> None:
    """Load weights strictly: every tensor of the model is set, and only a classifier may be left over.

    A prefix that all tensors share, as training in parallel and compilation leave it (``module.``, ``_orig_mod.``), is
    taken away where the tensors do not fit with it.

    Parameters
    ----------
    model : timm model
    name, content : of the checkpoint; the suffix of its name says how to read it
    pins : the ``weights`` mapping, of which are read keys (one of `KEYMAPS`, by default name), entry (see
        `read_tensors`) and prefix (tensors without it are left out)

    Raises
    ------
    WeightsError : `read_tensors` refuses the file, or its tensors do not fit the network
    """
    tensors = read_tensors(name, content, pins.get("entry", ""))
    if prefix := pins.get("prefix", ""):
        tensors = {k.removeprefix(prefix): t for k, t in tensors.items() if k.startswith(prefix)}
    if name.lower().endswith(".npz") and all("/" in key or key == "cls" for key in tensors):
        _load_jax(model, name, content)
        return
    heads = model.pretrained_cfg.get("classifier") or ()
    heads = (heads,) if isinstance(heads, str) else tuple(heads)
    # timm's own conversion for this family, if it has one: older names, positions of another image size.
    convert = getattr(sys.modules[type(model).__module__], "checkpoint_filter_fn", None)
    shared, fault = "", None
    while True:
        try:
            state = KEYMAPS[pins.get("keys", "name")](dict(tensors), model)
            if convert is not None:
                state = convert(state, model)
            state = {key: t for key, t in state.items() if key.rpartition(".")[0] not in heads}
            model.load_state_dict(state, strict=True)
            break
        except (KeyError, RuntimeError) as error:
            fault = fault or error
        first = {key.partition(".")[0] if "." in key else "" for key in tensors}
        if len(first) != 1 or "" in first:
            raise WeightsError(
                f"{name}: tensors do not fit the network ({' '.join(str(fault).split())[:600]}). The checkpoint is of "
                "another network, or `keys`, `entry` or `prefix` of `weights` names the wrong one."
            ) from fault
        shared += f"{first.pop()}."
        tensors = {key.partition(".")[2]: tensor for key, tensor in tensors.items()}
    if shared:
        logger.warning("%s: all tensors have the prefix %s, which is left out.", name, shared)


def _load_jax(model: Any, name: str, content: bytes) -> None:
    """Load weights of the original JAX models with timm's own reader, which must set every tensor.

    `read_tensors` has already refused object arrays.
    """
    import torch

    if not hasattr(model, "load_pretrained"):
        raise WeightsError(
            f"{name}: timm reads no .npz for {type(model).__name__}; convert it to .safetensors."
        )
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.fill_(float("nan")) if tensor.is_floating_point() else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.npz"
        path.write_bytes(content)
        try:
            model.load_pretrained(str(path))
        except (KeyError, ValueError, RuntimeError, AssertionError) as error:
            raise WeightsError(f"{name}: does not fit the network ({error}).") from error
    unset = [
        key for key, tensor in model.state_dict().items() if not bool(torch.isfinite(tensor).all())
    ]
    if unset:
        raise WeightsError(f"{name}: sets no value for {', '.join(unset[:5])}: another network.")


# --- names: maps from those of foreign checkpoints to timm's, chosen by ``keys`` of a weights block -------
# loading is strict, so a map that forgets or invents a tensor fails there


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
