"""Training and test files that do not belong together are refused, by name and value."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparcl.base.errors import FeatureFileError
from sparcl.features import store
from sparcl.features.layout import FeatureSet
from study import pairs
from study.images import shards

META = {
    "dataset": "toy",
    "backbone": "net",
    "timm_id": "net-1",
    "weights_sha256": "1" * 64,
    "preprocessing": {"size": 224, "crop": "centre"},
    "extraction": {"precision": "float32", "batch_size": 16, "device": "cpu"},
    "split_sha256": "2" * 64,
    "block_indices": [1, 2],
}
NAMES = ["ant", "bee", "cat"]
ROWS = 60


def written(folder: Path, split: str, **changes: Any) -> tuple[Path, FeatureSet]:
    """Write and read a split of invented features; ``changes`` are attributes, or arrays by name."""
    n, d = ROWS, changes.pop("d", 5)
    features = np.random.default_rng(len(split)).standard_normal((n, d)).astype(np.float16)
    features = changes.pop("features", features).astype(changes.pop("dtype", np.float16))
    ids = changes.pop("ids", [f"{split}/{i}" for i in range(n)])
    names = changes.pop("names", NAMES)
    kinds = changes.pop("kinds", True)
    blocks = (np.stack([features] * 2, axis=1), features) if kinds else (None, None)
    path = folder / f"{split}.h5"
    meta = {"split": split} | META | changes
    store.write(path, features, np.arange(n) % 3, ids, names, meta, *blocks)
    return path, store.read(path)


def test_files_of_one_extraction_belong_together(tmp_path: Path) -> None:
    """Batch size, device and library versions change last bits at most."""
    other = {"precision": "float32", "batch_size": 8, "device": "cuda"}
    test = written(tmp_path, "test", extraction=other, torch_version="9")
    pairs.check_pair(*written(tmp_path, "train"), *test)


def test_a_mismatch_is_refused_with_both_values(tmp_path: Path) -> None:
    train = written(tmp_path, "train")
    for changes, one, other in (
        ({"dataset": "other"}, "dataset is 'toy'", "'other'"),
        ({"backbone": "other"}, "backbone is 'net'", "'other'"),
        ({"timm_id": "net-2"}, "timm_id is 'net-1'", "'net-2'"),
        ({"weights_sha256": "9" * 64}, "weights_sha256 is '1111.*", "'9999"),
        ({"preprocessing": {"size": 224, "crop": "whole"}}, "crop is 'centre'", "'whole'"),
        ({"extraction": {"precision": "bfloat16"}}, "precision is 'float32'", "'bfloat16'"),
        ({"dtype": np.float32}, "dtype is 'float16'", "'float32'"),
        ({"d": 6}, "features is 5", "6"),
        ({"split_sha256": "3" * 64}, "split_sha256 is '2222.*", "'3333"),
        ({"block_indices": [1, 3]}, r"block_indices is \[1, 2\]", r"\[1, 3\]"),
        ({"kinds": False}, "arrays is .*'blocks_mean'.*", ""),
        ({"names": ["ant", "cat", "bee"]}, "class 1 is 'bee'", "'cat'"),
        ({"names": [*NAMES, "dog"]}, "number of classes is 3", "4"),
    ):
        said = (
            rf"train\.h5 and .*test\.h5 do not belong together: .*{one} in the first, but {other}"
        )
        with pytest.raises(FeatureFileError, match=rf"{said}.*extract them"):
            pairs.check_pair(*train, *written(tmp_path, "test", **changes))


def test_splits_in_each_others_place_are_refused(tmp_path: Path) -> None:
    train, test = written(tmp_path, "train"), written(tmp_path, "test")
    with pytest.raises(FeatureFileError, match=r"split of .*test\.h5 is 'test', but .* 'train'"):
        pairs.check_pair(*test, *train)
    with pytest.raises(FeatureFileError, match=r"split of .*train\.h5 is 'train', but .* 'test'"):
        pairs.check_pair(*train, *train)


def test_a_sample_in_both_is_refused_by_its_id(tmp_path: Path) -> None:
    ids = ["train/7", *(f"test/{i}" for i in range(1, ROWS))]
    pair = *written(tmp_path, "train"), *written(tmp_path, "test", ids=ids)
    with pytest.raises(FeatureFileError, match=r"share 1 samples by id \(first: 'train/7'\)"):
        pairs.check_pair(*pair)


def test_training_rows_under_other_ids_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path, train = written(tmp_path, "train")
    _, plain = written(tmp_path, "test")
    features = plain.features.copy()
    features[4] = train.features[9]
    pair = path, train, *written(tmp_path, "test", features=features)
    said = r"1 of 60 test samples have the features .*'test/4' those of 'train/9'"
    with pytest.raises(FeatureFileError, match=rf"{said}.*more than 1%"):
        pairs.check_pair(*pair)
    # a share that published sets have is logged
    monkeypatch.setattr(pairs, "TOLERATED", 1 / 60)
    pairs.check_pair(*pair)
    assert "'test/4' those of 'train/9'" in caplog.text


@pytest.mark.parametrize(
    ("key", "split"), [("dataset", "train"), ("backbone", "train"), ("split", "test")]
)
def test_a_file_under_a_foreign_path_is_refused(key: str, split: str, tmp_path: Path) -> None:
    path, data = written(tmp_path, "train")
    names = {"dataset": "toy", "backbone": "net", "order": "1"}
    pairs.check_path(path, data.meta, names, "train")
    pairs.check_path(path, data.meta, {"dataset": "toy"}, "train")
    names |= {key: "other"}
    actual, wanted = data.meta[key], "test" if key == "split" else "other"
    said = rf"train\.h5: {key} is '{actual}', but its path stands for '{wanted}'.*git checkout"
    with pytest.raises(FeatureFileError, match=said):
        pairs.check_path(path, data.meta, names, split)


def test_the_manifest_counts_duplicates(tmp_path: Path) -> None:
    """Those of bundled files count none, and are read all the same; a count that is wrong is refused."""
    features = np.random.default_rng(0).standard_normal((ROWS, 5))
    features[[3, 4, 8]] = features[[1, 1, 7]]
    path, _ = written(tmp_path, "train", features=features)
    beside = path.with_suffix(".json")
    stated = json.loads(beside.read_text(encoding="utf-8"))
    assert stated.pop("duplicates") == 3
    beside.write_text(json.dumps(stated | {"duplicates": 2}), encoding="utf-8")
    with pytest.raises(FeatureFileError, match="attribute duplicates"):
        store.read(path)
    beside.write_text(json.dumps(stated), encoding="utf-8")
    assert len(store.read(path).ids) == ROWS
    # and stays as it is where the file is cut
    shards.cut(path, path, 2)
    assert json.loads(beside.read_text(encoding="utf-8")) == stated


def test_class_counts_are_told_by_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A class without test samples is refused; one with a single training sample is named."""
    path, data = written(tmp_path, "test", names=[*NAMES, "bird, small"])
    with pytest.raises(
        FeatureFileError, match=r"1 of 4 classes have no test sample: 'bird, small'"
    ):
        pairs.check_counts(path, data)
    path, data = written(tmp_path, "train")
    pairs.check_counts(path, replace(data, labels=np.minimum(np.arange(ROWS), 2)))
    assert "2 classes have one training sample" in caplog.text and "ant, bee" in caplog.text
