"""Images to feature files: one frozen backbone over one split of one data set."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import DatasetError
from sparcl.base.files import write_text
from sparcl.base.terminal import printable
from sparcl.extraction import backbones, passes
from sparcl.extraction.images import ImageSplit
from sparcl.features import store
from study.images import datasets, shards
from study.images.preprocessing import preprocessing_of
from study.images.work_file import WorkFile

logger = logging.getLogger(__name__)

SHOWN = 8  # images that cannot be read, in an error; the log names all


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
    resumes, and the bytes of the feature file are those of an uninterrupted call. On a CPU they depend on the
    kind of machine, the library versions and the parameters alone: every forward pass has exactly ``batch_size``
    images (the last batch is filled up by repeating its last image) and runs on one core.

    Parameters
    ----------
    path : of the HDF5 file
    dataset, backbone, split : ids
    dataset_block, backbone_block, extraction : their settings
    split_list : file that says which image is in which split, see `datasets.open_split`
    shard : (k, n) for the k-th of n shards, counted from 1 (see `shards`); by default all images

    Returns
    -------
    dict : the manifest

    Raises
    ------
    DatasetError, WeightsError, ConfigError : see `datasets.open_split` and `backbones.build`
    ConfigError : a library that reads images or runs networks is not installed
    DatasetError : images cannot be read; all of them are named at once, finished batches stay
    FeatureFileError : the features are not finite (see `store.write`)

    Notes
    -----
    With ``on_bad_image: skip`` an image that cannot be read is left out. Images left out, and files that are no
    images, are listed beside `path` in ``<split>.skipped.txt``, each with the reason. The batches are those of
    ``fail``: after a change of this setting the call resumes at the image that stopped it.
    """
    backbones.check_installed(dataset)
    import timm
    import torch

    path = Path(path)
    cache = extraction["cache"]
    images = datasets.open_split(
        dataset, dataset_block, split, extraction["image_root"], cache, split_list
    )
    device = backbones.device_of(extraction["device"])
    dtype = np.dtype(extraction["dtype"])
    prefix = "gpu_" if device == "cuda" else ""
    settings = {key: extraction[prefix + key] for key in ("precision", "batch_size")}
    preprocessing = preprocessing_of(backbone_block, dataset_block)
    network = backbones.build(backbone_block, preprocessing, device, settings["precision"], cache)
    meta: dict[str, Any] = {
        "dataset": dataset,
        "split": split,
        "backbone": backbone,
        "timm_id": network.timm_id,
        "weights_sha256": network.weights_sha256,
        "preprocessing": preprocessing,
        "extraction": settings | {"device": device, "network": recorded(backbone_block)},
        "torch_version": str(torch.__version__),
        "timm_version": timm.__version__,
    }
    if network.block_indices:
        meta["block_indices"] = network.block_indices
    if images.split_sha256:
        meta["split_sha256"] = images.split_sha256
    if shard:
        meta["shard"] = shards.describe(images.ids, settings["batch_size"], *shard)
        part = slice(meta["shard"]["first"], meta["shard"]["stop"])
        images = replace(
            images, ids=images.ids[part], files=images.files[part], labels=images.labels[part]
        )
    skip = dataset_block.get("on_bad_image", "fail") == "skip"
    fingerprint = _fingerprint(images, [meta, backbone_block, str(dtype)])
    with closing(WorkFile(path.with_name(f".{path.stem}.work"), fingerprint)) as work:
        size = settings["batch_size"]
        missing = range(len(work.chunks) * size, len(images.ids))
        batches = passes.Batches(images, network, missing[::size], size, tolerant=skip)
        chunks = passes.chunks(batches, extraction["threads"], extraction["workers"], dtype)
        done = len(images.ids) - len(missing)
        try:
            _run(chunks, work, done, len(images.ids), f"{dataset} {split}")
        except DatasetError as error:
            rows = range(len(work.chunks) * size, len(images.ids))
            if faults := {images.files[row]: why for row in rows if (why := images.fault(row))}:
                raise _bad_images(f"{dataset}, {split}", faults) from error
            raise
        features, tokens = _join(work.chunks, network, len(images.ids), dtype)
        manifest = _write(path, images, features, tokens, meta, skip)
        work.remove()
    return manifest


def _write(
    path: Path,
    images: ImageSplit,
    features: np.ndarray,
    tokens: np.ndarray | None,
    meta: dict[str, Any],
    skip: bool,
) -> dict[str, Any]:
    """Write the feature file without the images that could not be read, and the list of what was left out."""
    faults = _faults(images, features)
    if faults and not skip:  # an earlier call skipped them
        named = {images.files[row]: why for row, why in faults.items()}
        raise _bad_images(f"{images.dataset}, {images.split}", named)
    kept = [row for row in range(len(images.ids)) if row not in faults]
    if faults and "shard" in meta:
        first = meta["shard"]["first"]
        left_out = [[first + row, images.ids[row]] for row in sorted(faults)]
        meta = meta | {"shard": meta["shard"] | {"left_out": left_out}}
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
    listed = path.with_name(f"{path.stem}.skipped.txt")
    if skipped:
        logger.warning("%d files were left out: see %s.", len(skipped), listed)
        write_text(listed, "".join(f"{name}\t{skipped[name]}\n" for name in sorted(skipped)))
    else:
        listed.unlink(missing_ok=True)
    return manifest


def _faults(images: ImageSplit, features: np.ndarray) -> dict[int, str]:
    """Return row and reason of the images that could not be read: their features are all NaN."""
    rows = np.flatnonzero(np.isnan(features).all(axis=1))
    return {int(row): why for row in rows if (why := images.fault(int(row)))}


def _bad_images(where: str, faults: dict[str, str]) -> DatasetError:
    """Return one error for all images (name to reason) that cannot be read; the log names each."""
    lines = [printable(f"  {name}: {why}") for name, why in faults.items()]
    for line in lines:
        logger.error("%s, image that cannot be read: %s", where, line.strip())
    if len(lines) > SHOWN:
        lines[SHOWN:] = [f"  and {len(lines) - SHOWN} more; the log names all"]
    return DatasetError(
        f"{where}: {len(faults)} image(s) cannot be read. Fetch a damaged copy again, remove or replace the files, or "
        "set `on_bad_image: skip`, which leaves them out and continues.\n" + "\n".join(lines)
    )


def _fingerprint(images: ImageSplit, settings: list[Any]) -> str:
    """Return a hash of all that decides the chunks: images, settings, library versions and the code of this folder."""
    import PIL

    folder = Path(__file__).parent
    parts = {
        "settings": settings,
        "pillow": PIL.__version__,
        "images": [images.class_names, images.ids, images.labels.tolist(), images.stamps()],
        "code": {
            file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
            for file in folder.rglob("*.py")
        },
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _run(
    chunks: Iterator[tuple[bytes, int]], work: WorkFile, resumed: int, n: int, title: str
) -> None:
    """Append the missing chunks to the work file."""
    from tqdm import tqdm

    if resumed:
        logger.info("%s: %d of %d images were done before; continuing.", title, resumed, n)
    began = time.monotonic()
    # The terminal, also where a workflow script sends stderr to its log.
    bar = tqdm(
        total=n, initial=resumed, desc=title, unit="img", mininterval=1.0, file=sys.__stderr__
    )
    with bar:
        for chunk, used in chunks:
            work.append(chunk)
            bar.update(used)
    done, seconds = n - resumed, time.monotonic() - began
    logger.info("%s: %d images in %.1f s, %.1f images/s.", title, done, seconds, done / seconds)


def _join(
    chunks: list[bytes], network: backbones.Backbone, n: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return features (n, d), and the tokens of L blocks with their mean (n, L + 1, d) or None, out of the chunks."""
    levels = len(network.block_indices) + 1 if network.block_indices else 0
    columns = -1
    if not n:  # a shard without images
        size = network.preprocessing["size"]
        columns = network(np.zeros((1, size, size, 3), np.uint8))[0].shape[1] * (1 + levels)
    rows = np.frombuffer(b"".join(chunks), dtype=dtype).reshape(n, columns)
    d = rows.shape[1] // (1 + levels)
    return rows[:, :d], rows[:, d:].reshape(n, levels, d) if levels else None


def recorded(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a feature file keeps of a backbone's settings, beside its timm id and the hash of its weights.

    The path of a local checkpoint is no part of it: feature files travel, and it would name somebody's folders.
    """
    pins = block.get("weights", {"source": "timm"})
    kept = {key: value for key, value in pins.items() if key not in ("path", "sha256")}
    return {"timm_args": dict(block.get("timm_args", {})), "weights": kept}
