"""Checkpoints: tensors out of a file, without running any code in it, and into a network."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from sparcl.base.errors import WeightsError
from sparcl.extraction.keymaps import KEYMAPS

READABLE = (".pth", ".pt", ".bin", ".safetensors", ".npz", ".onnx")


def read_tensors(name: str, content: bytes) -> dict[str, Any]:
    """Return the tensors of a checkpoint by name, in stored order, without running any code in it.

    Pickles go through torch's restricted unpickler (``weights_only=True``), ONNX never follows references to
    other files, npz is read without pickle.

    Raises
    ------
    WeightsError : unknown suffix, damaged file, a pickle that wants to run code, or no tensors
    """
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in READABLE:
        raise WeightsError(f"{name}: cannot read {suffix!r} files; allowed: {', '.join(READABLE)}.")
    reader = {
        ".safetensors": _read_safetensors,
        ".npz": _read_npz,
        ".onnx": _read_onnx,
    }.get(suffix, _read_torch)
    try:
        tensors = reader(content)
    except Exception as error:  # every parser has its own exceptions, all with one remedy
        raise WeightsError(
            f"{name}: refused or unreadable as {suffix} ({type(error).__name__}: {str(error).split(chr(10))[0]}). "
            "The file is damaged, or a pickle that holds code instead of tensors, which is never loaded: "
            "save the plain state dict, best as .safetensors."
        ) from error
    if not tensors:
        raise WeightsError(f"{name}: holds no tensors; expected a state dict.")
    return tensors


def _read_torch(content: bytes) -> dict[str, Any]:
    import torch

    loaded = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    for wrapper in ("state_dict", "model"):  # the names under which training scripts save a model
        if isinstance(loaded, dict) and isinstance(loaded.get(wrapper), dict):
            loaded = loaded[wrapper]
    if not isinstance(loaded, dict):
        raise TypeError(f"expected a state dict, found {type(loaded).__name__}")
    return {key: value for key, value in loaded.items() if isinstance(value, torch.Tensor)}


def _read_safetensors(content: bytes) -> dict[str, Any]:
    from safetensors.torch import load

    return load(content)


def _read_npz(content: bytes) -> dict[str, Any]:
    import numpy as np
    import torch

    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {key: torch.from_numpy(arrays[key]) for key in arrays.files}


def _read_onnx(content: bytes) -> dict[str, Any]:
    """Read initializers by name; anonymous ones (``onnx::...``) are named after the node that uses them."""
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
        tensors[name] = torch.from_numpy(numpy_helper.to_array(initializer).copy())
    return tensors


def load_into(model: Any, name: str, content: bytes, keys: str) -> None:
    """Load weights strictly: every tensor of the model is set, and only a classifier may be left over.

    Parameters
    ----------
    model : timm model
    name, content : of the checkpoint; the suffix of its name says how to read it
    keys : one of `keymaps.KEYMAPS`

    Raises
    ------
    WeightsError : `read_tensors` refuses the file, or its tensors do not fit the network
    """
    tensors = read_tensors(name, content)
    if name.endswith(".npz") and all("/" in key or key == "cls" for key in tensors):
        _load_jax(model, name, content)
        return
    heads = model.pretrained_cfg.get("classifier") or ()
    heads = (heads,) if isinstance(heads, str) else tuple(heads)
    # timm's own conversion for this family, if it has one: older names, positions of another image size.
    convert = getattr(sys.modules[type(model).__module__], "checkpoint_filter_fn", None)
    try:
        state = KEYMAPS[keys](tensors, model)
        if convert is not None:
            state = convert(state, model)
        state = {key: value for key, value in state.items() if key.rpartition(".")[0] not in heads}
        model.load_state_dict(state, strict=True)
    except (KeyError, RuntimeError) as error:
        raise WeightsError(
            f"{name}: tensors do not fit the network ({' '.join(str(error).split())[:600]}). "
            "The checkpoint is of another network, or `keys` in the backbone's `weights` names the wrong map."
        ) from error


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
