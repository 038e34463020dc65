"""The preprocessing for a backbone on a data set, from their settings."""

from __future__ import annotations

from typing import Any

from sparcl.base.errors import ConfigError

UNIT_RANGE = {
    "size": 224,
    "crop": 0.875,
    "interpolation": "bicubic",
    "mean": [0.0, 0.0, 0.0],
    "std": [1.0, 1.0, 1.0],
}
CROP = 0.875  # where neither data set nor backbone states one: 256 to 224 px, the field's choice
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
    dict : see `sparcl.extraction.preprocessing.preprocess`

    Raises
    ------
    ConfigError : values missing, or timm states nothing that can be done here
    """
    own = {key: backbone_block[key] for key in EXPLICIT if key in backbone_block}
    chosen = backbone_block.get("preprocessing", own or "timm")
    crop = {key: dataset_block[key] for key in ("crop",) if key in dataset_block}
    if chosen == "timm":
        return _stated_by_timm(backbone_block) | crop | {"preset": chosen}
    if chosen == "unit-range":
        return UNIT_RANGE | crop | {"preset": chosen}
    if chosen == "resize-256-crop":
        return UNIT_RANGE | {"preset": chosen}
    result = {"crop": CROP} | crop | chosen
    if missing := [key for key in EXPLICIT if key not in result]:
        raise ConfigError(
            f"Preprocessing of {backbone_block['timm_id']}: {', '.join(missing)} missing. State it among the "
            "backbone's settings, or take out the others of them: timm's are then taken."
        )
    return result


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
