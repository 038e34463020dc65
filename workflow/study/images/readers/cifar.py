"""CIFAR-100, whose pickles are read without running any code in them."""

from __future__ import annotations

import io
import pickle
import pickletools
from pathlib import PurePosixPath
from typing import Any, Literal

import numpy as np

from sparcl.extraction.storage.protocol import ArrayStorage, Storage
from study.images.readers.folders import read_folder
from study.images.readers.listing import Listing, Sample
from study.images.split_lists import SPLITS


class _Dtype:
    """Stands for numpy's dtype in a pickle; its state, the byte order, has no meaning for bytes."""

    def __init__(self, code: str | bytes, *_: object) -> None:
        if code not in ("u1", b"u1"):
            raise pickle.UnpicklingError(f"the pickle holds an array of {code!r}, expected u1")

    def __setstate__(self, state: object) -> None:
        """Take nothing over."""


class _Pixels:
    """Stands for numpy's array in a pickle: bytes in two dimensions, made of data that have that many."""

    values: np.ndarray

    def __setstate__(self, state: tuple[int, tuple[int, int], _Dtype, bool, bytes]) -> None:
        """Take over what numpy's own arrays do, which would believe any size."""
        _, (rows, columns), dtype, fortran, data = state
        if not isinstance(dtype, _Dtype) or type(data) is not bytes:
            raise pickle.UnpicklingError("the pickle holds an array of something else than bytes")
        order: Literal["F", "C"] = "F" if fortran else "C"
        self.values = np.frombuffer(data, dtype=np.uint8).reshape(rows, columns, order=order)


def _reconstruct(kind: object, shape: object, code: object) -> _Pixels:
    return _Pixels()


# No entry does anything with its arguments but look at them.
CIFAR_GLOBALS = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): "ndarray",  # named as an argument of _reconstruct, never called
    ("numpy", "dtype"): _Dtype,
}


class _CifarUnpickler(pickle.Unpickler):
    """Admits Python's plain types and arrays of bytes, which are all that CIFAR-100's files hold."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in CIFAR_GLOBALS:
            raise pickle.UnpicklingError(f"the pickle asks for {module}.{name}; refused")
        return CIFAR_GLOBALS[module, name]


def load_pickle(content: bytes) -> dict[bytes, Any]:
    """Return the dictionary of a CIFAR-100 file: lists, bytes, numbers, and (n, m) uint8 arrays.

    Raises
    ------
    pickle.UnpicklingError : the pickle is damaged, or holds or asks for anything else
    """
    try:
        for operation, argument, _ in pickletools.genops(content):
            # The unpickler makes room for as many notes as the highest number says.
            if operation.name in ("PUT", "LONG_BINPUT") and int(argument or 0) > len(content):
                raise ValueError(f"note {argument} in a pickle of {len(content)} bytes")
        found = _CifarUnpickler(io.BytesIO(content), encoding="bytes").load()
        if not isinstance(found, dict):
            raise pickle.UnpicklingError("the pickle holds no dictionary")
        return {key: v.values if isinstance(v, _Pixels) else v for key, v in found.items()}
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # opcodes on operands of the wrong kind raise anything
        raise pickle.UnpicklingError(f"damaged ({type(error).__name__}: {error})") from error


def read_cifar100(storage: Storage, block: dict[str, Any]) -> Listing:
    """CIFAR-100 as published (pickles ``train``, ``test``, ``meta``), or as PNG in ``{train,test}/<class>/``.

    Ids are ``<split>/<class>/<file>`` with the file names that the pickles hold, sorted. A name that a class has
    twice gets ``~2``, ``~3``, ... before its suffix.
    """
    if "meta" not in storage.names():
        return read_folder(storage, block)

    def load(name: str) -> dict[bytes, Any]:
        return load_pickle(storage.read(name))

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
