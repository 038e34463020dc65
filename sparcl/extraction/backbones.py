"""Frozen backbones: a timm model with pinned weights, and the preprocessing that belongs to it."""

from __future__ import annotations

import hashlib
import logging
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sparcl.base.errors import ConfigError, WeightsError
from sparcl.extraction import weights
from sparcl.extraction.keymaps import KEYMAPS

if TYPE_CHECKING:
    import torch
    from PIL import Image

logger = logging.getLogger(__name__)

UNIT_RANGE = {
    "size": 224,
    "crop": 0.875,
    "interpolation": "bicubic",
    "mean": [0.0, 0.0, 0.0],
    "std": [1.0, 1.0, 1.0],
}
CROP = 0.875  # where neither data set nor backbone says: 256 to 224 px, the field's usual choice
PRESETS = ("timm", "unit-range", "resize-256-crop")
FILTERS = ("bicubic", "bilinear")
EXPLICIT = ("size", "crop", "interpolation", "mean", "std")
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
    at_once : images that fit into the GPU's memory together, 0 until it has been too small
    """

    model: torch.nn.Module
    timm_id: str
    weights_sha256: str
    preprocessing: dict[str, Any]
    block_indices: list[int]
    device: str
    precision: str
    at_once: int = 0

    def __call__(self, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Features of a batch.

        Parameters
        ----------
        pixels : (b, size, size, 3) uint8, from `preprocess`

        Returns
        -------
        features : (b, d) float32
        blocks : (b, L + 1, d) float32: CLS tokens of the L blocks through the final norm, then the mean over these
            blocks of the CLS token *before* the norm, through it: F-OAL's fusion (NeurIPS 2024, code 73e4ac1,
            models/pretrained.py), over the blocks kept where F-OAL takes all twelve. None without `block_indices`
        """
        import torch

        features, blocks = self.forward(torch.from_numpy(pixels).to(self.device))
        return features.cpu().numpy(), None if blocks is None else blocks.cpu().numpy()

    def forward(self, pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return `__call__` for a tensor on the device; features stay there.

        When the GPU's memory is too small, the batch goes through in halves, from then on.

        Raises
        ------
        ConfigError : one image alone is too large
        """
        import torch

        parts: list[tuple[torch.Tensor, torch.Tensor | None]] = []
        first = 0
        while first < len(pixels):
            count = min(self.at_once or len(pixels), len(pixels) - first)
            try:
                parts.append(self._forward(pixels[first : first + count]))
                first += count
                continue
            except torch.OutOfMemoryError as error:
                if count == 1:
                    raise ConfigError(
                        f"{self.timm_id}: the GPU's memory is too small for one image ({error}). End what else uses "
                        "it, or set extraction.device to cpu."
                    ) from error
            # Only now: the error held the tensors that were to be freed.
            self.at_once = (count + 1) // 2
            logger.warning("Out of GPU memory: going on with %d images at once.", self.at_once)
            torch.cuda.empty_cache()
        if len(parts) == 1:
            return parts[0]
        features, blocks = zip(*parts, strict=True)
        return torch.cat(features), None if blocks[0] is None else torch.cat(blocks)

    def _forward(self, pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        import torch

        # NHWC memory seen as NCHW is torch's channels_last, the fast layout of convolutions on CPU and GPU.
        batch = pixels.permute(0, 3, 1, 2).float()
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
                return self.model(batch).float(), None
            final, found = self.model.forward_intermediates(
                batch,
                indices=[block - 1 for block in self.block_indices],
                return_prefix_tokens=True,
                output_fmt="NLC",
            )
            features = self.model.forward_head(final)
            tokens = torch.stack([prefix[:, 0] for _, prefix in found], dim=1)
            tokens = torch.cat([tokens, tokens.mean(dim=1, keepdim=True)], dim=1)
            return features.float(), self.model.norm(tokens).float()


def preprocessing_of(
    backbone_block: dict[str, Any], dataset_block: dict[str, Any]
) -> dict[str, Any]:
    """Return size, crop, interpolation, mean and std for a backbone on a data set.

    `preprocessing` of the backbone's block is one of

    - ``timm`` (default): what timm states for the checkpoint;
    - ``unit-range``: pixels in [0, 1], not normalised, 256 to 224 px (RanPAC, NeurIPS 2023);
    - ``resize-256-crop``: the same, and images that fill their frame are cut too (PILOT, 2023: CIFAR loses 6% a side);
    - a mapping of `EXPLICIT`, which may also stand in the block itself.

    `crop` of the data set's block wins, but for ``resize-256-crop`` and a mapping with a crop of its own; where
    nobody states one it is `CROP`. The result of a preset carries its name.

    Raises
    ------
    ConfigError : unknown preset, values missing, or a network of which timm states nothing that can be done here
    """
    own = {key: backbone_block[key] for key in EXPLICIT if key in backbone_block}
    chosen = backbone_block.get("preprocessing", own or "timm")
    name = chosen if isinstance(chosen, str) else ""
    crop = {key: dataset_block[key] for key in ("crop",) if key in dataset_block}
    if chosen == "timm":
        result = _stated_by_timm(backbone_block) | crop
    elif chosen == "unit-range":
        result = UNIT_RANGE | crop
    elif chosen == "resize-256-crop":
        result = dict(UNIT_RANGE)
    elif name:
        raise ConfigError(f"Preprocessing {name!r} is unknown; allowed: {', '.join(PRESETS)}.")
    else:
        result = {"crop": CROP} | crop | chosen
    if missing := [key for key in EXPLICIT if key not in result]:
        raise ConfigError(
            f"Preprocessing of {backbone_block['timm_id']}: {', '.join(missing)} missing. State it in the "
            f"backbone's block of params.yaml, or choose one of {', '.join(PRESETS)}."
        )
    return result | ({"preset": name} if name else {})


def _stated_by_timm(block: dict[str, Any]) -> dict[str, Any]:
    import timm

    stated = timm.models.get_pretrained_cfg(block["timm_id"])
    if stated is None or stated.interpolation not in FILTERS or stated.crop_mode != "center":
        raise ConfigError(
            f"timm states no preprocessing for {block['timm_id']} that can be done here; write size, crop, "
            "interpolation, mean and std into its block of params.yaml."
        )
    return {
        "size": block.get("timm_args", {}).get("img_size", stated.input_size[-1]),
        "crop": stated.crop_pct,
        "interpolation": stated.interpolation,
        "mean": list(stated.mean),
        "std": list(stated.std),
    }


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
    block : dict with timm_id; weights (default: timm's), blocks (list of int from 1), timm_args (of timm.create_model)
    preprocessing : see `Backbone`
    device, precision : cpu or cuda; float32, float16 or bfloat16 (mixed precision)
    cache : folder of fetched weights, see `sparcl.extraction.weights.cache_folder`

    Raises
    ------
    ConfigError : unknown timm id, key map, precision or block
    WeightsError : weights missing, unsafe, with another hash, or of another network
    """
    import timm
    import torch

    timm_id, pins = block["timm_id"], block.get("weights", {"source": "timm"})
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
    digest = hashlib.sha256(content).hexdigest()
    return Backbone(model, timm_id, digest, preprocessing, indices, device, precision)


def _load(model: torch.nn.Module, name: str, content: bytes, keys: str) -> None:
    """Load weights strictly: every tensor of the model is set, and only the classifier may be left over."""
    tensors = weights.read_tensors(name, content)
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
            "The checkpoint is of another network, or `keys` in params.yaml names the wrong map."
        ) from error


def _load_jax(model: torch.nn.Module, name: str, content: bytes) -> None:
    """Weights of the original JAX models, by timm's own reader; every tensor must have been set by it.

    `weights.read_tensors` has read the file before and refused object arrays.
    """
    import tempfile
    from pathlib import Path

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


def _target(width: int, height: int, preprocessing: dict[str, Any]) -> tuple[int, int, int, int]:
    """Return width and height after resizing, and left and top of the centre square."""
    size = preprocessing["size"]
    short = int(size / preprocessing["crop"])
    scale = short / min(width, height)
    width, height = (max(short, round(side * scale)) for side in (width, height))
    return width, height, (width - size) // 2, (height - size) // 2


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
    image = image.convert("RGB")
    width, height, left, top = _target(*image.size, preprocessing)
    if (width, height) != image.size:
        filters = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}
        if preprocessing["interpolation"] not in filters:
            raise ConfigError(
                f"Interpolation {preprocessing['interpolation']!r} is unknown; allowed: {', '.join(FILTERS)}."
            )
        image = image.resize((width, height), filters[preprocessing["interpolation"]])
    return np.array(image.crop((left, top, left + size, top + size)), dtype=np.uint8)


def enlarge(pixels: torch.Tensor, preprocessing: dict[str, Any]) -> torch.Tensor:
    """Return `preprocess` of a batch on its device, bit for bit.

    Parameters
    ----------
    pixels : (b, h, w, 3) uint8; returned as they are if h = w = size

    Returns
    -------
    (b, size, size, 3) uint8
    """
    import torch

    size = preprocessing["size"]
    height, width = pixels.shape[1:3]
    if (height, width) == (size, size):
        return pixels
    wide, high, left, top = _target(width, height, preprocessing)
    # Pillow resizes along rows, rounds to 8 bits, then along columns. Sums of whole numbers are exact in float64.
    batch = pixels.permute(0, 3, 1, 2).double()
    for length, target, start in ((width, wide, left), (height, high, top)):
        if length != target:
            matrix = resampling(length, target, preprocessing["interpolation"])
            matrix = torch.from_numpy(matrix[start : start + size]).to(batch.device)
            batch = (batch @ matrix.T + 0.5).floor_().clamp_(0, 255)
        else:
            batch = batch[..., start : start + size]
        batch = batch.transpose(2, 3)
    return batch.permute(0, 2, 3, 1).to(torch.uint8)


@cache
def resampling(length: int, target: int, interpolation: str) -> np.ndarray:
    """Return the (target, length) matrix of Pillow's 8-bit resize: antialiased, in steps of 2^-22.

    Row i holds f((j + 1/2 - c) / s) over j, normalised, with c = (i + 1/2) length / target, s = max(length / target, 1)
    and f the triangle, or the cubic with a = -1/2.
    """
    scale = length / target
    stretch = max(scale, 1.0)
    support = {"bilinear": 1.0, "bicubic": 2.0}[interpolation] * stretch
    centre = (np.arange(target) + 0.5) * scale
    first = np.maximum((centre - support + 0.5).astype(int), 0)[:, None]
    last = np.minimum((centre + support + 0.5).astype(int), length)[:, None]
    j = np.arange(length)
    x = np.abs((j + 0.5 - centre[:, None]) / stretch)
    if interpolation == "bilinear":
        weights = np.where(x < 1, 1 - x, 0)
    else:
        near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
        weights = np.where(x < 1, near, np.where(x < 2, far, 0))
    weights = np.where((first <= j) & (j < last), weights, 0)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.trunc(weights * 2**22 + np.copysign(0.5, weights)) / 2**22
