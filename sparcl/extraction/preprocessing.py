"""From an image to the pixels that a backbone takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sparcl.base.errors import ConfigError

if TYPE_CHECKING:
    from PIL import Image

UNIT_RANGE = {
    "size": 224,
    "crop": 0.875,
    "interpolation": "bicubic",
    "mean": [0.0, 0.0, 0.0],
    "std": [1.0, 1.0, 1.0],
}
CROP = (
    0.875  # where neither data set nor backbone states one: 256 to 224 px, the field's usual choice
)
PRESETS = ("timm", "unit-range", "resize-256-crop")
FILTERS = ("bicubic", "bilinear")
EXPLICIT = ("size", "crop", "interpolation", "mean", "std")


def preprocessing_of(
    backbone_block: dict[str, Any], dataset_block: dict[str, Any]
) -> dict[str, Any]:
    """Return the preprocessing for a backbone on a data set.

    `preprocessing` of the backbone's block is one of

    - ``timm`` (default): what timm states for the checkpoint;
    - ``unit-range``: pixels in [0, 1], not normalised, 256 to 224 px (RanPAC, NeurIPS 2023);
    - ``resize-256-crop``: the same, and images that fill their frame are cut too (PILOT, 2023: CIFAR loses 6% a side);
    - a mapping with the keys `EXPLICIT`, which may also stand in the block itself.

    `crop` of the data set's block overrides all but ``resize-256-crop`` and a mapping with a crop of its own; where
    neither states one it is `CROP`. The result of a preset carries its name.

    Returns
    -------
    dict : size (px), crop (fraction of the short side), interpolation, mean and std (of [0, 1] RGB)

    Raises
    ------
    ConfigError : unknown preset, values missing, or timm states nothing that can be done here
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
            f"Preprocessing of {backbone_block['timm_id']}: {', '.join(missing)} missing. State it among the "
            f"backbone's settings, or choose one of {', '.join(PRESETS)}."
        )
    return result | ({"preset": name} if name else {})


def _stated_by_timm(block: dict[str, Any]) -> dict[str, Any]:
    import timm

    stated = timm.models.get_pretrained_cfg(block["timm_id"])
    if stated is None or stated.interpolation not in FILTERS or stated.crop_mode != "center":
        raise ConfigError(
            f"timm states no preprocessing for {block['timm_id']} that can be done here; write size, crop, "
            "interpolation, mean and std into the backbone's settings."
        )
    return {
        "size": block.get("timm_args", {}).get("img_size", stated.input_size[-1]),
        "crop": stated.crop_pct,
        "interpolation": stated.interpolation,
        "mean": list(stated.mean),
        "std": list(stated.std),
    }


def preprocess(image: Image.Image, preprocessing: dict[str, Any]) -> np.ndarray:
    """Resize the short side to floor(size / crop) and cut the centre square.

    Parameters
    ----------
    image : any mode; converted to RGB
    preprocessing : see `preprocessing_of`

    Returns
    -------
    (size, size, 3) uint8
    """
    from PIL import Image

    size = preprocessing["size"]
    image = image.convert("RGB")
    width, height, left, top = resized(*image.size, preprocessing)
    if (width, height) != image.size:
        filters = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}
        if preprocessing["interpolation"] not in filters:
            raise ConfigError(
                f"Interpolation {preprocessing['interpolation']!r} is unknown; allowed: {', '.join(FILTERS)}."
            )
        image = image.resize((width, height), filters[preprocessing["interpolation"]])
    return np.array(image.crop((left, top, left + size, top + size)), dtype=np.uint8)


def resized(width: int, height: int, preprocessing: dict[str, Any]) -> tuple[int, int, int, int]:
    """Return width and height of a resized image, and left and top of its centre square, in px."""
    size = preprocessing["size"]
    short = int(size / preprocessing["crop"])
    scale = short / min(width, height)
    width, height = (max(short, round(side * scale)) for side in (width, height))
    return width, height, (width - size) // 2, (height - size) // 2
