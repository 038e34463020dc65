"""Images to feature files: one frozen backbone over one split of one data set."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import ConfigError
from sparcl.base.files import write_text
from sparcl.extraction import backbones, datasets, pipeline
from sparcl.extraction.resume import WorkFile
from sparcl.features import layout, shards, store

logger = logging.getLogger(__name__)

# Their text decides what the chunks of a work file hold.
CODE = (
    "backbones.py",
    "datasets.py",
    "extract.py",
    "keymaps.py",
    "pipeline.py",
    "sources.py",
    "splits.py",
    "weights.py",
)


def extract_split(
    path: str | os.PathLike[str],
    dataset: str,
    dataset_block: dict[str, Any],
    backbone: str,
    backbone_block: dict[str, Any],
    split: str,
    extraction: dict[str, Any],
    split_list: str | os.PathLike[str] = "",
    shard: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """Extract one split, or a shard of it, and write its feature file and manifest.

    Finished batches are kept in a work file beside `path`: after an interruption (kill -9 included) the same call
    goes on there, and the bytes of the feature file are those of an uninterrupted call. On a CPU they depend on the
    kind of machine, the library versions and the parameters alone: every forward pass has exactly ``batch_size``
    images (the last batch is filled up by repeating its last image) and runs on one core.

    Parameters
    ----------
    path : of the HDF5 file
    dataset, backbone, split : ids
    dataset_block, backbone_block, extraction : their blocks of params.yaml
    split_list : file that says which image is in which split, see `datasets.open_split`
    shard : (k, n) for the k-th of n shards, counted from 1 (see `shards`); by default all images

    Returns
    -------
    dict : the manifest

    Raises
    ------
    DatasetError, WeightsError, ConfigError : see `datasets.open_split` and `backbones.build`
    FeatureFileError : the features are not finite (see `store.write`)

    Notes
    -----
    With ``on_bad_image: skip`` an image that cannot be read is left out. What was left out, and files that are no
    images, are listed beside `path` in ``<split>.skipped.txt``, one a line with the reason.
    """
    import torch

    path = Path(path)
    images = datasets.open_split(
        dataset,
        dataset_block,
        split,
        extraction["image_root"],
        extraction["cache"],
        split_list,
    )
    device = _device(extraction["device"])
    if extraction["dtype"] not in layout.FEATURE_DTYPES:
        raise ConfigError(
            f"extraction.dtype {extraction['dtype']!r} is unknown; allowed: {', '.join(layout.FEATURE_DTYPES)}."
        )
    prefix = "gpu_" if device == "cuda" else ""
    settings = {key: extraction[prefix + key] for key in ("precision", "batch_size")}
    preprocessing = backbones.preprocessing_of(backbone_block, dataset_block)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    network = backbones.build(
        backbone_block, preprocessing, device, settings["precision"], extraction["cache"]
    )
    meta = {
        "dataset": dataset,
        "split": split,
        "backbone": backbone,
        "timm_id": network.timm_id,
        "weights_sha256": network.weights_sha256,
        "preprocessing": preprocessing,
        "extraction": settings | {"device": device},
        **_versions(),
    }
    if network.block_indices:
        meta["block_indices"] = network.block_indices
    if images.split_sha256:
        meta["split_sha256"] = images.split_sha256
    if shard:
        part = shards.describe(images.ids, settings["batch_size"], *shard)
        meta["shard"] = part
        images = _cut(images, part["first"], part["stop"])
    dtype = np.dtype(extraction["dtype"])
    skip = dataset_block.get("on_bad_image", "fail") == "skip"
    parts = [meta, backbone_block, str(dtype), skip]
    work = WorkFile(path.with_name(f".{path.stem}.work"), _fingerprint(images, parts))
    n = len(images.ids)
    batch_size = settings["batch_size"]
    batches = pipeline.Batches(
        images,
        network,
        range(len(work.chunks) * batch_size, n, batch_size),
        batch_size,
        tolerant=skip,
        small=device == "cuda",
    )
    if device == "cuda":
        chunks = pipeline.by_processes(batches, extraction["workers"], dtype)
    else:
        chunks = pipeline.by_threads(batches, extraction["threads"], dtype)
    done = False
    try:
        _run(chunks, work, min(len(work.chunks) * batch_size, n), n, f"{dataset} {split}")
        # the blocks and, behind them, their mean
        levels = len(network.block_indices) + 1 if network.block_indices else 0
        width = 0 if n else _width(network)
        features, tokens = _join(work.chunks, n, levels, dtype, width)
        faults = _faults(images, features) if skip else {}
        kept = [row for row in range(n) if row not in faults]
        if shard and faults:
            meta["shard"]["left_out"] = [[part["first"] + i, images.ids[i]] for i in sorted(faults)]
        manifest = store.write(
            path,
            features[kept],
            images.labels[kept],
            [images.ids[row] for row in kept],
            images.class_names,
            meta,
            *(() if tokens is None else (tokens[kept, :-1], tokens[kept, -1])),
        )
        skipped = images.skipped | {images.files[row]: why for row, why in faults.items()}
        _list_skipped(path.with_name(f"{path.stem}.skipped.txt"), skipped)
        done = True
    finally:
        work.close(remove=done)
    return manifest


def _cut(images: datasets.ImageSplit, first: int, stop: int) -> datasets.ImageSplit:
    return replace(
        images,
        ids=images.ids[first:stop],
        files=images.files[first:stop],
        labels=images.labels[first:stop],
    )


def _width(network: backbones.Backbone) -> int:
    """Return the number of features, for a shard without images."""
    size = network.preprocessing["size"]
    return network(np.zeros((1, size, size, 3), dtype=np.uint8))[0].shape[1]


def _faults(images: datasets.ImageSplit, features: np.ndarray) -> dict[int, str]:
    """Return row and reason of the images that could not be read: their features are all NaN."""
    rows = np.flatnonzero(np.isnan(features).all(axis=1))
    return {int(row): why for row in rows if (why := images.fault(int(row)))}


def _list_skipped(path: Path, skipped: dict[str, str]) -> None:
    if not skipped:
        path.unlink(missing_ok=True)
        return
    logger.warning("%d files were left out: see %s.", len(skipped), path)
    write_text(path, "".join(f"{name}\t{skipped[name]}\n" for name in sorted(skipped)))


def _device(wanted: str) -> str:
    import torch

    if wanted not in ("auto", "cpu", "cuda"):
        raise ConfigError(f"extraction.device {wanted!r} is unknown; allowed: auto, cpu, cuda.")
    if wanted == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            "extraction.device is cuda, but torch sees no CUDA device; set it to auto or cpu."
        )
    return "cuda" if wanted != "cpu" and torch.cuda.is_available() else "cpu"


def _versions() -> dict[str, str]:
    import timm
    import torch

    return {"torch_version": str(torch.__version__), "timm_version": timm.__version__}


def _fingerprint(images: datasets.ImageSplit, settings: list[Any]) -> str:
    """Hash of all that decides the chunks: images, settings, library versions and this package's code."""
    import PIL

    parts = {
        "settings": settings,
        "pillow": PIL.__version__,
        "images": [images.class_names, images.ids, images.labels.tolist(), images.stamps()],
        "code": [(Path(__file__).parent / name).read_text(encoding="utf-8") for name in CODE],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _run(
    chunks: Iterator[tuple[bytes, int]], work: WorkFile, resumed: int, n: int, title: str
) -> None:
    """Append the missing chunks to the work file."""
    from tqdm import tqdm

    if resumed:
        logger.info("%s: %d of %d images were done before; going on.", title, resumed, n)
    began = time.monotonic()
    # The terminal, also where a workflow script sends stderr to its log.
    bar = tqdm(
        total=n, initial=resumed, desc=title, unit="img", mininterval=1.0, file=sys.__stderr__
    )
    with bar:
        for chunk, used in chunks:
            work.append(chunk)
            bar.update(used)
    seconds = time.monotonic() - began
    logger.info(
        "%s: %d images in %.1f s, %.1f images/s.",
        title,
        n - resumed,
        seconds,
        (n - resumed) / seconds,
    )


def _join(
    chunks: list[bytes], n: int, levels: int, dtype: np.dtype, width: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Features (n, d) and tokens (n, levels, d) or None out of the chunks; without rows, d is `width`."""
    columns = -1 if n else width * (1 + levels)
    rows = np.frombuffer(b"".join(chunks), dtype=dtype).reshape(n, columns)
    d = rows.shape[1] // (1 + levels)
    return rows[:, :d], rows[:, d:].reshape(n, levels, d) if levels else None
