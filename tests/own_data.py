"""Own images, a tiny untrained network and a suite of both: extraction to figures in seconds."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from copies import edit_params


def draw_images(root: Path, classes: int = 6, number: int = 3) -> None:
    """Write small images of noise, ``my-data/{train,test}/<class>/<number>.png``."""
    from PIL import Image

    for label in range(classes):
        for split in ("train", "test"):
            for i in range(number):
                path = root / "my-data" / split / f"class-{label}" / f"{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                rng = np.random.default_rng([label, len(split), i])
                pixels = rng.integers(40 * label, 40 * label + 50, (16, 16, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(path)


def write_network(path: Path) -> str:
    """Write untrained weights of timm's smallest network and return their hash."""
    import timm
    import torch

    torch.manual_seed(1)
    torch.save(timm.create_model("test_efficientnet", num_classes=0).state_dict(), path)
    return pinned(path)["sha256"]


def pinned(path: Path) -> dict[str, str]:
    """Return the settings of weights that lie in a local checkpoint."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"source": "file", "path": str(path), "sha256": digest}


def add_own_data(folder: Path, place: Path) -> None:
    """Add images, a network and a suite of both to a copy: extraction takes seconds."""
    draw_images(place)
    write_network(place / "network.pth")

    def change(params: dict[str, Any]) -> None:
        params["datasets"]["my-data"] = {
            "label": "My data",
            "features": "images",
            "reader": "folders",
            "folder": "my-data",
            "archive": "my-data.tar",
            "crop": 1.0,
            "classes": 6,
            "counts": {"train": 18, "test": 18},
        }
        params["backbones"]["my-net"] = params["backbones"]["efficientnet-lite0"] | {
            "label": "My net",
            "timm_id": "test_efficientnet",
            "size": 32,
            "weights": pinned(place / "network.pth") | {"keys": "name"},
        }
        params["extraction"] |= {"image_root": str(place), "device": "cpu", "batch_size": 4}
        params["suites"]["my-suite"] = params["suites"]["toy"] | {
            "datasets": ["my-data"],
            "backbones": ["my-net"],
            "methods": ["ncm", "sparcl"],
            "sessions": 3,
            "pairs": [[1993, 0]],
        }
        params["selection"]["sub_sessions"] = 2

    edit_params(folder, change)
