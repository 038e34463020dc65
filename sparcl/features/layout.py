"""Layout of a feature file: one HDF5 file per data set, backbone and split, with a JSON manifest beside it.

=========== ======= ===================== ==========================================================
dataset     shape   dtype                 meaning
=========== ======= ===================== ==========================================================
features    (n, d)  float16 or float32    output of the frozen backbone, not normalised
labels      (n,)    int32                 0..K-1, the position of the class in ``class_names``
ids         (n,)    fixed-length bytes    UTF-8, unique, the same at every extraction
blocks      (n,L,d) as features, optional CLS token after each of L transformer blocks
blocks_mean (n, d)  as features, optional mean of these tokens before the final norm, through it
=========== ======= ===================== ==========================================================

Arrays are contiguous, or views of the file's shards, and carry no timestamps: equal content written in the
same way, from arrays or from a `Stream`, gives equal bytes. The attributes (`TEXT_KEYS`, `JSON_KEYS`, ``class_names``)
say how to make the file again; ``class_names`` is an array of text, or one text, JSON, where there are over 4,000.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "sparcl-features-1"
MAGIC = b"\x89HDF\r\n\x1a\n"  # how an HDF5 file begins
SPLITS = ("train", "test")
TEXT_KEYS = (
    "dataset",
    "split",
    "backbone",
    "timm_id",
    "weights_sha256",
    "torch_version",
    "timm_version",
    "split_sha256",
)
JSON_KEYS = ("preprocessing", "extraction", "block_indices", "shard")
REQUIRED_KEYS = ("dataset", "split", "backbone", "timm_id", "weights_sha256", "preprocessing")
# Features that agree in these may be mixed.
SOURCE = ("backbone", "timm_id", "weights_sha256", "preprocessing")
REQUIRED_ARRAYS = ("features", "labels", "ids")
ARRAYS = (*REQUIRED_ARRAYS, "blocks", "blocks_mean")
FEATURE_DTYPES = ("float16", "float32")
# The path of a shard relative to its view; a view opens no other file.
SHARD = re.compile(r"[\w.-]+\.shards/[0-9]+-of-[0-9]+\.h5", re.ASCII)
# The features that a method may ask for, and the array that holds each.
KINDS = {"last": "features", "blocks": "blocks", "blocks-mean": "blocks_mean"}

PathLike = str | os.PathLike[str]


@dataclass
class FeatureSet:
    """The content of one feature file.

    Attributes
    ----------
    features : (n, d) float16 or float32
    labels : (n,) int32 in 0..K-1
    ids : (n,) fixed-length bytes (UTF-8)
    class_names : K names
    meta : the attributes, and ``<array>_sha256`` of the raw C-order bytes of each array
    blocks : (n, L, d) or None
    blocks_mean : (n, d) or None
    """

    features: np.ndarray
    labels: np.ndarray
    ids: np.ndarray
    class_names: list[str]
    meta: dict[str, Any] = field(default_factory=dict)
    blocks: np.ndarray | None = None
    blocks_mean: np.ndarray | None = None

    @property
    def d(self) -> int:
        """The number of features of a sample."""
        return int(self.features.shape[1])

    @property
    def dtype(self) -> str:
        """The precision in which the features are stored."""
        return str(self.features.dtype.name)


@dataclass(frozen=True)
class Header:
    """The statements of a feature file about its n samples of d features, the arrays left aside (see `FeatureSet`)."""

    n: int
    d: int
    class_names: list[str]
    meta: dict[str, Any]
    dtype: str


@dataclass(frozen=True)
class View:
    """An array that lies in shards, one after the other: the file name and the rows of each."""

    shape: tuple[int, ...]
    dtype: np.dtype
    shards: list[tuple[str, int]]


@dataclass(frozen=True)
class Stream:
    """Features that come in blocks of rows and are never in memory as a whole.

    Attributes
    ----------
    shape, dtype : of the whole array
    blocks : each call yields the blocks from the first row on; they are checked, hashed and written in a pass each
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    blocks: Callable[[], Iterator[np.ndarray]]


def manifest_path(path: PathLike) -> Path:
    """Return the path of a feature file's manifest: the same name with the suffix .json."""
    return Path(path).with_suffix(".json")


def is_hdf5(path: PathLike) -> bool:
    """Return whether a file is HDF5, as feature files are, by its first bytes."""
    if not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC
