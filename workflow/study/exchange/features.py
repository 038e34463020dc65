"""Features as arrays that other toolboxes' data sets take."""

from pathlib import Path

import numpy as np

from sparcl.base.files import replacing
from sparcl.features import store
from study import pairs


def write(train: Path, test: Path, out: Path) -> None:
    """Write both splits of a data set into one npz file.

    ``train_data`` (n, 1, d) and ``test_data`` are float32: images of one row, which
    ``PIL.Image.fromarray`` takes as mode F, so that loaders made for images take them as they are.
    ``train_targets`` (n,) and ``test_targets`` are int64, positions in ``class_names`` (K,).
    The splits are held in memory.

    Raises
    ------
    FeatureFileError : a file is damaged, or the two are not splits of one data set by one network
    """
    data = {"train": store.read(train), "test": store.read(test)}
    pairs.check_pair(train, data["train"], test, data["test"])
    arrays: dict[str, np.ndarray] = {"class_names": np.array(data["train"].class_names)}
    for split, content in data.items():
        arrays[f"{split}_data"] = content.features.astype(np.float32)[:, None, :]
        arrays[f"{split}_targets"] = content.labels.astype(np.int64)
    with replacing(out) as temporary, open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
