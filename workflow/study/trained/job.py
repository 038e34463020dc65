"""One training from the blocks of the configuration: images, network and budget in, one record out."""

from __future__ import annotations

import hashlib
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sparcl.extraction import backbones
from study.images import datasets
from study.images.preprocessing import preprocessing_of
from study.trained.images import View, decode
from study.trained.run import run
from study.trained.setup import Setup


def train(
    dataset: str,
    spec: dict[str, Any],
    block: dict[str, Any],
    places: dict[str, Any],
    sessions: list[list[int]],
    seed: int,
    split_list: str | PathLike[str] = "",
    *,
    checkpoint: str | PathLike[str] = "",
    threads: int = 1,
) -> dict[str, Any]:
    """Train a method on a data set's images and return its record (:func:`study.trained.run.run`).

    Parameters
    ----------
    dataset : its id
    spec : ``dataset`` and ``backbone``, their blocks without places; ``learner``, ``hyper``; ``device`` (auto, cpu,
        cuda), ``precision``, ``augmentation`` and ``least_area``, by default auto, float32, and a view's own
    block : the data set's block with its places
    places : ``image_root`` and ``cache``
    sessions : classes of each session
    seed : of all that the method draws
    split_list : see :func:`study.images.datasets.open_split`
    checkpoint : see :func:`study.trained.run.run`
    threads : of torch on a CPU, on which sums depend

    Returns
    -------
    The record, and ``learner``, ``train_sha256`` and ``test_sha256`` (of pixels and labels), ``test_ids_sha256``,
    ``weights_sha256``.

    Raises
    ------
    SparclError
        Images or weights are missing, or the method refuses network, settings or session.
    """
    torch.set_num_threads(threads)
    device = backbones.device_of(spec.get("device", "auto"))
    preprocessing = preprocessing_of(spec["backbone"], spec["dataset"])
    side = int(preprocessing["size"] / preprocessing["crop"])  # the short side of a plain view
    opened = {
        split: datasets.open_split(
            dataset,
            block | spec["dataset"],
            split,
            places["image_root"],
            places["cache"],
            split_list,
        )
        for split in ("train", "test")
    }
    splits = {
        name: decode(split, side, preprocessing["interpolation"]) for name, split in opened.items()
    }
    network = backbones.build(spec["backbone"], preprocessing, cache=places["cache"])
    views = {key: spec[key] for key in ("augmentation", "least_area") if key in spec}
    view = View(preprocessing, **views, side=side)
    setup = Setup(network.model, splits["train"], view, device, spec.get("precision", "float32"))
    classes: list[NDArray[np.integer]] = [np.array(s, dtype=np.int64) for s in sessions]
    hyper = spec["hyper"] | {"seed": seed}
    record = run(setup, splits["test"], classes, spec["learner"], hyper, str(checkpoint))
    hashes = {f"{split}_sha256": images.digest() for split, images in splits.items()}
    # as the manifest of features of these images hashes their ids: the samples and their order are the same
    ids = np.char.encode(opened["test"].ids, "utf-8", "surrogatepass")
    hashes["test_ids_sha256"] = hashlib.sha256(ids.tobytes()).hexdigest()
    return record | hashes | {"learner": spec["learner"], "weights_sha256": network.weights_sha256}
