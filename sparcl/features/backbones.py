"""Frozen backbones: a timm model with pinned weights, and the preprocessing that belongs to it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sparcl.errors import ConfigError, WeightsError
from sparcl.features import weights
from sparcl.features.keymaps import KEYMAPS

if TYPE_CHECKING:
    import torch
    from PIL import Image

PRECISIONS = ("float32", "float16", "bfloat16")


@dataclass
class Backbone:
    """A frozen network with everything that determines its output.

    Attributes
    ----------
    model : timm model without classifier, in evaluation mode, on `device`
    timm_id, weights_sha256 : what it is
    preprocessing : dict with size (px), crop (share of the short side), interpolation, mean, std (of [0, 1] RGB)
    block_indices : transformer blocks (counted from 1) whose CLS token is kept; empty for none
    device : cpu or cuda
    precision : float32, or the type of autocast
    """

    model: torch.nn.Module
    timm_id: str
    weights_sha256: str
    preprocessing: dict[str, Any]
    block_indices: list[int]
    device: str
    precision: str

    def __call__(self, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Features of a batch.

        Parameters
        ----------
        pixels : (b, size, size, 3) uint8, from `preprocess`

        Returns
        -------
        features : (b, d) float32
        blocks : (b, L, d) float32, CLS tokens through the final norm; None without `block_indices`
        """
        import torch

        # NHWC memory seen as NCHW is torch's channels_last, the fast layout of convolutions on CPU and GPU.
        batch = torch.from_numpy(pixels).to(self.device).permute(0, 3, 1, 2).float()
        mean, std = (
            255 * torch.tensor(self.preprocessing[key], device=self.device).view(3, 1, 1)
            for key in ("mean", "std")
        )
        mixed = self.precision != "float32"
        with (
            torch.inference_mode(),
            torch.autocast(self.device, dtype=getattr(torch, self.precision), enabled=mixed),
        ):
            batch = (batch - mean) / std
            if not self.block_indices:
                return self.model(batch).float().cpu().numpy(), None
            final, found = self.model.forward_intermediates(
                batch,
                indices=[block - 1 for block in self.block_indices],
                return_prefix_tokens=True,
                norm=True,
                output_fmt="NLC",
            )
            features = self.model.forward_head(final)
            blocks = torch.stack([prefix[:, 0] for _, prefix in found], dim=1)
            return features.float().cpu().numpy(), blocks.float().cpu().numpy()


def build(
    block: dict[str, Any],
    preprocessing: dict[str, Any],
    device: str = "cpu",
    precision: str = "float32",
    cache: str = "",
) -> Backbone:
    """Build a frozen backbone from its block in params.yaml.

    Parameters
    ----------
    block : dict with timm_id, weights, blocks (list of int from 1), timm_args (passed to timm.create_model)
    preprocessing : see `Backbone`
    device, precision : cpu or cuda; float32, float16 or bfloat16 (mixed precision)
    cache : folder of fetched weights, see `sparcl.features.weights.cache_folder`

    Raises
    ------
    ConfigError : unknown timm id, key map, precision or block
    WeightsError : weights missing, unsafe, with another hash, or of another network
    """
    import timm
    import torch

    timm_id, pins = block["timm_id"], block["weights"]
    if precision not in PRECISIONS:
        raise ConfigError(f"Precision {precision!r} is unknown; allowed: {', '.join(PRECISIONS)}.")
    if timm_id not in timm.list_models() and timm_id not in timm.list_models(pretrained=True):
        raise ConfigError(
            f"timm {timm.__version__} has no model {timm_id!r}; correct timm_id in params.yaml."
        )
    keys = pins.get("keys", "name")
    if keys not in KEYMAPS:
        raise ConfigError(
            f"Key map {keys!r} of {timm_id} is unknown; allowed: {', '.join(KEYMAPS)}."
        )
    model = timm.create_model(
        timm_id, pretrained=False, num_classes=0, **block.get("timm_args", {})
    )
    indices = list(block.get("blocks", []))
    depth = len(getattr(model, "blocks", ())) if getattr(model, "num_prefix_tokens", 0) else 0
    if sorted(set(indices)) != indices or any(not 1 <= i <= depth for i in indices):
        raise ConfigError(
            f"blocks {indices} of {timm_id}: expected increasing numbers within 1..{depth} "
            "(a network without class token has none)."
        )
    name, content = weights.fetch(pins, timm_id, cache)
    _load(model, name, content, keys)
    model = model.eval().requires_grad_(False).to(device, memory_format=torch.channels_last)
    return Backbone(model, timm_id, pins["sha256"], preprocessing, indices, device, precision)


def _load(model: torch.nn.Module, name: str, content: bytes, keys: str) -> None:
    """Load weights strictly: every tensor of the model is set, and only the classifier may be left over."""
    if name.endswith(".npz"):
        _load_npz(model, name, content)
        return
    tensors = weights.read_tensors(name, content)
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
            "The checkpoint is of another network, or `keys` in params.yaml names the wrong map."
        ) from error


def _load_npz(model: torch.nn.Module, name: str, content: bytes) -> None:
    """Weights of the original JAX models, by timm's own reader; every tensor must have been set by it."""
    import tempfile
    from pathlib import Path

    import torch

    weights.read_tensors(name, content)  # refuses object arrays before timm opens the file
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


def preprocess(image: Image.Image, preprocessing: dict[str, Any]) -> np.ndarray:
    """Resize the short side to floor(size / crop), cut the centre square.

    Parameters
    ----------
    image : any mode; converted to RGB
    preprocessing : see `Backbone`

    Returns
    -------
    (size, size, 3) uint8
    """
    from PIL import Image

    size = preprocessing["size"]
    short = int(size / preprocessing["crop"])
    image = image.convert("RGB")
    scale = short / min(image.size)
    width, height = (max(short, round(side * scale)) for side in image.size)
    if (width, height) != image.size:
        filters = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}
        if preprocessing["interpolation"] not in filters:
            raise ConfigError(
                f"Interpolation {preprocessing['interpolation']!r} is unknown; allowed: {', '.join(filters)}."
            )
        image = image.resize((width, height), filters[preprocessing["interpolation"]])
    left, top = (width - size) // 2, (height - size) // 2
    return np.array(image.crop((left, top, left + size, top + size)), dtype=np.uint8)
