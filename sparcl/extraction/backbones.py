"""Frozen backbones: a timm model with pinned weights, and the preprocessing that belongs to it."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sparcl.base.checks import unusable
from sparcl.base.errors import ConfigError, WeightsError
from sparcl.extraction import checkpoints, weights

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

# import name to what pip installs
LIBRARIES = {"torch": "torch", "timm": "timm", "PIL": "pillow", "tqdm": "tqdm"}
PRECISIONS = ("float32", "float16", "bfloat16")
# Arguments of timm.create_model that load weights, or that are stated here.
TIMM_TAKEN = (
    *("pretrained", "pretrained_cfg", "pretrained_cfg_overlay", "checkpoint_path", "cache_dir"),
    *("num_classes", "model_name"),
)


@dataclass
class Backbone:
    """A frozen network and everything that determines its output.

    Attributes
    ----------
    model : timm model without classifier, in evaluation mode, on `device`
    timm_id, weights_sha256 : the network and its weights
    preprocessing : see `preprocessing.preprocess`
    block_indices : transformer blocks (counted from 1) whose CLS token is kept; empty for none
    device : cpu or cuda
    precision : float32, or the type of autocast
    at_once : images that fit into the GPU's memory together; 0 until it has run out
    """

    model: Any
    timm_id: str
    weights_sha256: str
    preprocessing: dict[str, Any]
    block_indices: list[int]
    device: str
    precision: str
    at_once: int = 0

    def __call__(self, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the features of a batch.

        Parameters
        ----------
        pixels : (b, size, size, 3) uint8, from `preprocessing.preprocess`

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
        """Return what `__call__` does, for a tensor on the device; features stay there.

        When the GPU's memory is too small, this and all later batches go through in halves.

        Raises
        ------
        ConfigError : one image alone is too large
        """
        import torch

        while True:
            size = min(self.at_once or len(pixels), len(pixels))
            try:
                parts = [self._forward(part) for part in pixels.split(size)]
                break
            except torch.OutOfMemoryError as error:
                if size == 1:
                    raise ConfigError(
                        f"{self.timm_id}: the GPU's memory is too small for one image ({error}). End what else uses "
                        "it, or set extraction.device to cpu."
                    ) from error
            # Outside the handler, whose error holds the tensors to be freed.
            self.at_once = (size + 1) // 2
            logger.warning("Out of GPU memory: continuing with %d images at once.", self.at_once)
            torch.cuda.empty_cache()
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


def check_installed(who: str) -> None:
    """Raise ConfigError where a library is missing, as in the environment of `make results`, which holds no networks.

    Parameters
    ----------
    who : begins the message
    """
    for module, name in LIBRARIES.items():
        if why := unusable(module):
            raise ConfigError(
                f"{who}: features of images need {name}, which {why}. `make features` installs everything "
                "(PyTorch, about 6 GB), and so does `pip install -e '.[extract]'`; then run the same command again."
            )


def device_of(wanted: str) -> str:
    """Return cpu or cuda for one of these or auto, which is cuda where there is a card; ConfigError without one."""
    import torch

    if wanted == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            "The device is cuda, but torch sees no CUDA device; set it (extraction.device, --device) to auto or cpu."
        )
    return "cuda" if wanted != "cpu" and torch.cuda.is_available() else "cpu"


def build(
    block: dict[str, Any],
    preprocessing: dict[str, Any],
    device: str = "cpu",
    precision: str = "float32",
    cache: str = "",
) -> Backbone:
    """Build a frozen backbone from its settings.

    Parameters
    ----------
    block : dict with timm_id; weights (default: timm's), blocks (list of int from 1), timm_args (of timm.create_model)
    preprocessing : see `preprocessing.preprocess`
    device, precision : cpu or cuda; float32, float16 or bfloat16 (mixed precision)
    cache : folder of fetched weights, see `weights.cache_folder`

    Raises
    ------
    ConfigError : unknown timm id, precision or block
    WeightsError : weights missing, unsafe, with another hash, or of another network
    """
    import timm
    import torch

    timm_id, pins = block["timm_id"], block.get("weights", {"source": "timm"})
    if precision not in PRECISIONS:
        raise ConfigError(f"Precision {precision!r} is unknown; allowed: {', '.join(PRECISIONS)}.")
    if timm_id not in timm.list_models() and timm_id not in timm.list_models(pretrained=True):
        raise ConfigError(
            f"timm {timm.__version__} has no model {timm_id!r}; correct `timm_id` of the backbone."
        )
    arguments = block.get("timm_args", {})
    if taken := [name for name in arguments if name in TIMM_TAKEN]:
        raise WeightsError(
            f"timm_args of {timm_id} state {', '.join(taken)}: weights come from `weights` alone, pinned and read "
            "without running code. Write a checkpoint there: source file, path and sha256."
        )
    try:
        model: Any = timm.create_model(timm_id, pretrained=False, num_classes=0, **arguments)
    except (TypeError, ValueError, RuntimeError, AssertionError) as error:
        raise ConfigError(
            f"timm cannot build {timm_id} with timm_args {arguments} ({error}). Correct `timm_args` of the backbone."
        ) from error
    indices = list(block.get("blocks", []))
    depth = len(getattr(model, "blocks", ())) if getattr(model, "num_prefix_tokens", 0) else 0
    if sorted(set(indices)) != indices or any(not 1 <= i <= depth for i in indices):
        raise ConfigError(
            f"blocks {indices} of {timm_id}: expected increasing numbers within 1..{depth} "
            "(a network without class token has none)."
        )
    name, content = weights.fetch(pins, timm_id, cache)
    checkpoints.load_into(model, name, content, pins)
    model = model.eval().requires_grad_(False).to(device, memory_format=torch.channels_last)
    digest = hashlib.sha256(content).hexdigest()
    return Backbone(model, timm_id, digest, preprocessing, indices, device, precision)
