"""Images to feature files: one frozen backbone over one split of one data set."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.errors import ConfigError
from sparcl.features import backbones, datasets, store
from sparcl.features.resume import WorkFile

logger = logging.getLogger(__name__)

# Their text decides what the chunks of a work file hold.
CODE = ("backbones.py", "datasets.py", "extract.py", "keymaps.py", "weights.py")


def extract_split(
    path: str | os.PathLike[str],
    dataset: str,
    dataset_block: dict[str, Any],
    backbone: str,
    backbone_block: dict[str, Any],
    split: str,
    extraction: dict[str, Any],
) -> dict[str, Any]:
    """Extract one split and write its feature file and manifest.

    Finished batches are kept in a work file beside `path`: after an interruption (kill -9 included) the same call
    goes on there, and the bytes of the feature file are those of an uninterrupted call. On a CPU they depend on the
    kind of machine, the library versions and the parameters alone: every forward pass has exactly ``batch_size``
    images (the last batch is filled up by repeating its last image) and runs on one core.

    Parameters
    ----------
    path : of the HDF5 file
    dataset, backbone, split : ids
    dataset_block, backbone_block, extraction : their blocks of params.yaml

    Returns
    -------
    dict : the manifest

    Raises
    ------
    DatasetError, WeightsError, ConfigError : see `datasets.open_split` and `backbones.build`
    FeatureFileError : the features are not finite (see `store.write`)
    """
    import torch

    path = Path(path)
    images = datasets.open_split(dataset, dataset_block, split, extraction["image_root"])
    device = _device(extraction["device"])
    if extraction["dtype"] not in store.FEATURE_DTYPES:
        raise ConfigError(
            f"extraction.dtype {extraction['dtype']!r} is unknown; allowed: {', '.join(store.FEATURE_DTYPES)}."
        )
    preprocessing = {"crop": dataset_block["crop"]} | {
        key: backbone_block[key] for key in ("size", "interpolation", "mean", "std")
    }
    settings = {key: extraction[key] for key in ("precision", "batch_size")} | {"device": device}
    meta = {
        "dataset": dataset,
        "split": split,
        "backbone": backbone,
        "timm_id": backbone_block["timm_id"],
        "weights_sha256": backbone_block["weights"]["sha256"],
        "preprocessing": preprocessing,
        "extraction": settings,
        **_versions(),
    }
    if backbone_block["blocks"]:
        meta["block_indices"] = backbone_block["blocks"]
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    network = backbones.build(
        backbone_block, preprocessing, device, settings["precision"], extraction["cache"]
    )
    dtype = np.dtype(extraction["dtype"])
    work = WorkFile(
        path.with_name(f".{path.stem}.work"), _fingerprint(images, meta, backbone_block, str(dtype))
    )
    done = False
    try:
        _run(
            images,
            network,
            work,
            extraction["batch_size"],
            extraction["threads"],
            dtype,
            f"{dataset} {split}",
        )
        features, blocks = _join(work.chunks, len(images.ids), len(network.block_indices), dtype)
        manifest = store.write(
            path, features, images.labels, images.ids, images.class_names, meta, blocks
        )
        done = True
    finally:
        work.close(remove=done)
    return manifest


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


def _fingerprint(
    images: datasets.ImageSplit, meta: dict[str, Any], backbone_block: dict[str, Any], dtype: str
) -> str:
    """Hash of all that decides the chunks: images, settings, library versions and this package's code."""
    import PIL

    parts = {
        "meta": meta,
        "backbone": backbone_block,
        "dtype": dtype,
        "pillow": PIL.__version__,
        "images": [images.class_names, images.ids, images.labels.tolist(), images.stamps()],
        "code": [(Path(__file__).parent / name).read_text(encoding="utf-8") for name in CODE],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _run(
    images: datasets.ImageSplit,
    network: backbones.Backbone,
    work: WorkFile,
    batch_size: int,
    threads: int,
    dtype: np.dtype,
    title: str,
) -> None:
    """Append the missing chunks to the work file."""
    from tqdm import tqdm

    n, start = len(images.ids), len(work.chunks)
    resumed = min(start * batch_size, n)
    if resumed:
        logger.info("%s: %d of %d images were done before; going on.", title, resumed, n)
    firsts = range(start * batch_size, n, batch_size)
    began = time.monotonic()
    # The terminal, also where a workflow script sends stderr to its log.
    bar = tqdm(
        total=n, initial=resumed, desc=title, unit="img", mininterval=1.0, file=sys.__stderr__
    )
    with bar:
        for chunk, used in _chunks(images, network, firsts, batch_size, threads, dtype):
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


def _chunks(
    images: datasets.ImageSplit,
    network: backbones.Backbone,
    firsts: range,
    batch_size: int,
    threads: int,
    dtype: np.dtype,
) -> Iterator[tuple[bytes, int]]:
    """Chunk and number of images of each batch, in order.

    Each thread takes whole batches from decoding to features, on one core: no core waits for another inside a layer,
    and the number of threads has no part in the result.
    """
    import torch

    def work(first: int) -> tuple[bytes, int]:
        last = min(first + batch_size, len(images.ids))
        pixels = [
            backbones.preprocess(images.image(i), network.preprocessing) for i in range(first, last)
        ]
        pixels += [pixels[-1]] * (batch_size - len(pixels))
        features, blocks = network(np.stack(pixels))
        rows = [features] if blocks is None else [features, blocks.reshape(batch_size, -1)]
        with np.errstate(
            over="ignore"
        ):  # an overflow becomes infinite, which `store.write` reports by sample
            return np.concatenate(rows, axis=1)[: last - first].astype(
                dtype
            ).tobytes(), last - first

    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    queue: deque[Future[tuple[bytes, int]]] = deque()
    try:
        for first in firsts:
            queue.append(pool.submit(work, first))
            if len(queue) > 2 * threads:
                yield queue.popleft().result()
        while queue:
            yield queue.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _join(
    chunks: list[bytes], n: int, levels: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray | None]:
    """Features (n, d) and blocks (n, levels, d) or None out of the chunks."""
    rows = np.frombuffer(b"".join(chunks), dtype=dtype).reshape(n, -1)
    d = rows.shape[1] // (1 + levels)
    blocks = rows[:, d:].reshape(n, levels, d) if levels else None
    return rows[:, :d], blocks
