"""CIFAR-100, whose pickles are read without running any code in them."""

from __future__ import annotations

import io
import pickle
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from sparcl.extraction.readers.folders import read_folders
from sparcl.extraction.readers.listing import Listing, Sample
from sparcl.extraction.splits import SPLITS
from sparcl.extraction.storage.arrays import ArrayStorage
from sparcl.extraction.storage.protocol import Storage

CIFAR_GLOBALS = {
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


class _CifarUnpickler(pickle.Unpickler):
    """Admits Python's plain types and numpy arrays, which are all that CIFAR-100's files hold."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in CIFAR_GLOBALS:
            raise pickle.UnpicklingError(f"the pickle asks for {module}.{name}; refused")
        return CIFAR_GLOBALS[module, name]


def read_cifar100(storage: Storage, block: dict[str, Any]) -> Listing:
    """CIFAR-100 as published (pickles ``train``, ``test``, ``meta``), or as PNG in ``{train,test}/<class>/``.

    Ids are ``<split>/<class>/<file>`` with the file names that the pickles hold, sorted. A name that a class has
    twice gets ``~2``, ``~3``, ... before its suffix.
    """
    if "meta" not in storage.names():
        return read_folders(storage, block)

    def load(name: str) -> dict[bytes, Any]:
        content = _CifarUnpickler(io.BytesIO(storage.read(name)), encoding="bytes").load()
        if not isinstance(content, dict):
            raise ValueError(f"{name} holds no dictionary")
        return content

    classes = [name.decode("utf-8") for name in load("meta")[b"fine_label_names"]]
    pixels: dict[str, np.ndarray] = {}
    samples = []
    for split in SPLITS:
        content = load(split)
        labels, files = content[b"fine_labels"], content[b"filenames"]
        data = np.asarray(content[b"data"])
        if data.dtype != np.uint8 or data.shape != (len(labels), 3072) or len(files) != len(labels):
            raise ValueError(f"{split}: pixels {data.dtype} {data.shape} for {len(labels)} labels")
        images = data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        for image, label, file in zip(images, labels, files, strict=True):
            base = PurePosixPath(split, classes[label], file.decode("utf-8"))
            name, number = base.as_posix(), 2
            while name in pixels:
                name, number = f"{base.with_suffix('')}~{number}{base.suffix}", number + 1
            pixels[name] = image
            samples.append(Sample(name, name, label, split))
    order = sorted(samples, key=lambda s: (s.split == "test", s.id))
    return Listing(classes, order, storage=ArrayStorage(pixels))
