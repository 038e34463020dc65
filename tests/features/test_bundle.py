"""The committed feature files are what their manifests, cards and params.yaml say."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from sparcl.features import store
from sparcl.features.datasets import photo_id

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = ROOT / "data" / "features"
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
BUNDLED = sorted(k for k, block in PARAMS["datasets"].items() if block["features"] == "bundle")
FILES = [(name, split) for name in BUNDLED for split in ("train", "test")]
BACKBONE = "efficientnet-lite0"


def file_of(dataset, split):
    return BUNDLE / dataset / BACKBONE / f"{split}.h5"


def test_the_four_sets_of_the_default_suite_are_bundled():
    assert BUNDLED == ["cifar-100-150", "cub-50", "grocery-81", "sketchy-125"]


@pytest.mark.parametrize(("dataset", "split"), FILES)
def test_file_manifest_and_params_agree(dataset, split):
    path = file_of(dataset, split)
    manifest = store.verify(path)
    block, backbone = PARAMS["datasets"][dataset], PARAMS["backbones"][BACKBONE]
    assert (manifest["dataset"], manifest["split"], manifest["backbone"]) == (
        dataset,
        split,
        BACKBONE,
    )
    assert manifest["n"] == block["counts"][split] and manifest["classes"] == block["classes"]
    assert (manifest["d"], manifest["dtype"]) == (1280, "float16")
    assert manifest["timm_id"] == backbone["timm_id"]
    assert manifest["weights_sha256"] == backbone["weights"]["sha256"]
    assert manifest["preprocessing"] == {
        "crop": block["crop"],
        **{key: backbone[key] for key in ("size", "interpolation", "mean", "std")},
    }
    data = store.read(path)
    assert np.bincount(data.labels, minlength=block["classes"]).min() > 0
    assert (data.features >= 0).all() and data.features.max() <= 6, "pooled ReLU6 outputs"


@pytest.mark.parametrize("dataset", BUNDLED)
def test_no_sample_is_in_both_splits(dataset):
    train, test = (store.read(file_of(dataset, split)) for split in ("train", "test"))
    assert train.class_names == test.class_names
    assert not set(train.ids) & set(test.ids)
    both = np.concatenate([train.features, test.features])
    assert len(np.unique(train.features, axis=0)) > 0.99 * len(train.features)
    assert np.isfinite(both).all()


def test_no_photo_of_sketchy_is_in_both_splits():
    photos = []
    for split in ("train", "test"):
        data = store.read(file_of("sketchy-125", split))
        ids = [i.decode() for i in data.ids]
        photos.append({photo_id(i) for i in ids})
        assert len({i.split("/")[0] for i in ids}) == 125
    assert not photos[0] & photos[1]
    assert len(photos[0] | photos[1]) == 578


def test_nothing_but_features_manifests_and_cards():
    found = {p.relative_to(BUNDLE).as_posix() for p in BUNDLE.rglob("*") if p.is_file()}
    expected = {f"{name}/README.md" for name in BUNDLED}
    expected |= {f"{n}/{BACKBONE}/{s}.{end}" for n, s in FILES for end in ("h5", "json")}
    assert {name for name in found if not Path(name).name.startswith(".")} == expected
    assert sum((BUNDLE / name).stat().st_size for name in expected) < 80e6


def test_ids_and_attributes_hold_no_absolute_path():
    for dataset, split in FILES:
        path = file_of(dataset, split)
        data = store.read(path)
        assert not [i for i in data.ids if i.startswith(b"/") or b".." in i]
        assert not re.search(r'"/|[A-Za-z]:\\\\', path.with_suffix(".json").read_text())


@pytest.mark.parametrize("dataset", BUNDLED)
def test_card(dataset):
    """Each card states the counts that are true and the sections a reader looks for."""
    text = (BUNDLE / dataset / "README.md").read_text(encoding="utf-8")
    for word in ("Source", "Licence", "Intended use", "Counts", "Split", "Made by", "SPARCL_DATA"):
        assert word in text, word
    block = PARAMS["datasets"][dataset]
    for number in (block["classes"], *block["counts"].values()):
        assert re.search(rf"\b{number:,}\b", text), number
