"""The committed feature files are what their manifests, cards and params.yaml say."""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml
from copies import loaded

from sparcl.features import manifest, store
from study import pairs
from study.images.readers.published import photo_id
from study.pipeline import croissant

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = ROOT / "data" / "features"
PARAMS = loaded()
BUNDLED = sorted(k for k, block in PARAMS["datasets"].items() if block["features"] == "bundle")
WIDTHS = {"efficientnet-lite0": 1280, "vit-s14-focus": 384}
PLACES = [(name, "efficientnet-lite0") for name in BUNDLED]
PLACES += [(name, "vit-s14-focus") for name in ("cub-50", "sketchy-125")]
FILES = [(*place, split) for place in PLACES for split in ("train", "test")]
FILES_WITH_BLOCKS = [file for file in FILES if PARAMS["backbones"][file[1]]["blocks"]]


def file_of(dataset, backbone, split):
    return BUNDLE / dataset / backbone / f"{split}.h5"


@cache
def data_of(dataset, backbone, split):
    """A bundled file, read once for all tests."""
    return store.read(file_of(dataset, backbone, split))


@pytest.mark.parametrize(("dataset", "name", "split"), FILES)
def test_file_manifest_and_params_agree(dataset, name, split):
    text = file_of(dataset, name, split).with_suffix(".json").read_text(encoding="utf-8")
    assert not re.search(r'"/|[A-Za-z]:\\\\', text), "an absolute path"
    manifest = json.loads(text)
    block, backbone = PARAMS["datasets"][dataset], PARAMS["backbones"][name]
    assert (manifest["dataset"], manifest["split"], manifest["backbone"]) == (dataset, split, name)
    assert manifest["n"] == block["counts"][split] and manifest["classes"] == block["classes"]
    assert (manifest["d"], manifest["dtype"]) == (WIDTHS[name], "float16")
    assert manifest.get("block_indices", []) == backbone["blocks"]
    assert manifest["timm_id"] == backbone["timm_id"]
    assert manifest["weights_sha256"] == backbone["weights"]["sha256"]
    assert manifest["preprocessing"] == {
        "crop": block["crop"],
        **{key: backbone[key] for key in ("size", "interpolation", "mean", "std")},
    }
    data = data_of(dataset, name, split)
    assert not [i for i in data.ids if i.startswith(b"/") or b".." in i]
    assert np.bincount(data.labels, minlength=block["classes"]).min() > 0
    if name == "efficientnet-lite0":
        assert (data.features >= 0).all() and data.features.max() <= 6, "pooled ReLU6 outputs"
        assert data.blocks is data.blocks_mean is None


@pytest.mark.parametrize(("dataset", "name", "split"), FILES_WITH_BLOCKS)
def test_blocks(dataset, name, split):
    """Four blocks, the last of them the features; the mean is none of them, nor their mean after the norm."""
    data = data_of(dataset, name, split)
    n, d = data.features.shape
    assert data.blocks.shape == (n, 4, d) and data.blocks_mean.shape == (n, d)
    np.testing.assert_array_equal(data.blocks[:, 3], data.features)
    blocks, mean = data.blocks.astype(float), data.blocks_mean.astype(float)
    for other in (*blocks.transpose(1, 0, 2), blocks.mean(axis=1)):
        assert np.linalg.norm(mean - other) > 0.05 * np.linalg.norm(other)


@pytest.mark.parametrize(("dataset", "name"), PLACES)
def test_samples_are_those_of_the_first_backbone_and_none_is_in_both_splits(dataset, name):
    """In the same order: class orders and splits mean the same images."""
    train, test = (data_of(dataset, name, split) for split in ("train", "test"))
    for this in (train, test):
        first = data_of(dataset, "efficientnet-lite0", this.meta["split"])
        np.testing.assert_array_equal(first.ids, this.ids)
        np.testing.assert_array_equal(first.labels, this.labels)
    assert train.class_names == test.class_names
    assert not set(train.ids) & set(test.ids)
    both = np.concatenate([train.features, test.features])
    assert len(np.unique(train.features, axis=0)) > 0.99 * len(train.features)
    assert np.isfinite(both).all()


@pytest.mark.parametrize("dataset", BUNDLED)
def test_the_card_states_the_duplicates(dataset):
    """Whatever the backbone, the same images have the same features."""
    card = (BUNDLE / dataset / "README.md").read_text(encoding="utf-8")
    for name in (backbone for of, backbone in PLACES if of == dataset):
        train, test = (data_of(dataset, name, split) for split in ("train", "test"))
        rows = [manifest.row_hashes(data.features) for data in (train, test)]
        inside = [len(of_split) - len(set(of_split)) for of_split in rows]
        across = pairs.copies(train, test)
        counts = " | ".join(map(str, (*inside, len(across))))
        assert f"\n| {counts} |\n" in card, counts
        assert all(f"`{own}`" in card and f"`{learned}`" in card for own, learned in across)


def test_no_photo_of_sketchy_is_in_both_splits():
    photos = []
    for split in ("train", "test"):
        data = data_of("sketchy-125", "efficientnet-lite0", split)
        ids = [i.decode() for i in data.ids]
        photos.append({photo_id(i) for i in ids})
        assert len({i.split("/")[0] for i in ids}) == 125
    assert not photos[0] & photos[1]
    assert len(photos[0] | photos[1]) == 578


def test_nothing_but_features_manifests_cards_and_croissants():
    found = {p.relative_to(BUNDLE).as_posix() for p in BUNDLE.rglob("*") if p.is_file()}
    assert BUNDLED == ["cifar-100-150", "cub-50", "grocery-81", "sketchy-125"]
    expected = {f"{name}/{file}" for name in BUNDLED for file in ("README.md", "croissant.json")}
    expected |= {f"{n}/{b}/{s}.{end}" for n, b, s in FILES for end in ("h5", "json")}
    assert {name for name in found if not Path(name).name.startswith(".")} == expected
    assert sum((BUNDLE / name).stat().st_size for name in expected) < 100e6
    assert max((BUNDLE / name).stat().st_size for name in expected) < 50e6


@pytest.mark.parametrize("dataset", BUNDLED)
def test_card(dataset):
    """Each card states the counts that are true and the sections a reader looks for."""
    text = (BUNDLE / dataset / "README.md").read_text(encoding="utf-8")
    for word in ("Source", "Licence", "Intended use", "Counts", "Split", "Made by", "SPARCL_DATA"):
        assert word in text, word
    block = PARAMS["datasets"][dataset]
    for number in (block["classes"], *block["counts"].values()):
        assert re.search(rf"\b{number:,}\b", text), number
    for name, backbone in PARAMS["backbones"].items():
        kept = (dataset, name) in PLACES
        assert (f"/{name}" in text) == kept, name
        if kept:
            pins = backbone["weights"]
            assert f"{pins['package']}` {pins['version']}" in text and pins["sha256"] in text


@pytest.mark.parametrize("dataset", BUNDLED)
def test_croissant(dataset):
    """Version 1.1, valid but for the day of a release; made from the card and the manifests as they are."""
    import mlcroissant  # which takes long to load

    path = BUNDLE / dataset / "croissant.json"
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content == croissant.described(path.parent, citation), (
        "python -m study.pipeline.croissant"
    )
    read = mlcroissant.Dataset(path)
    assert read.metadata.ctx.is_v1_1() and not read.metadata.ctx.issues.errors
    warnings = read.metadata.ctx.issues.warnings
    assert len(warnings) == ("date-released" not in citation)
    assert all("datePublished" in warning for warning in warnings)
    train = data_of(dataset, "efficientnet-lite0", "train")
    classes = [record["classes/name"] for record in read.records("classes")]
    assert classes == train.class_names
    fields = {record_set.id: record_set.fields for record_set in read.metadata.record_sets}
    features = {field.name: field for field in fields["efficientnet-lite0/train"]}["features"]
    assert features.array_shape == str(train.features.shape[1])
    assert features.source.file_object == "efficientnet-lite0/train.h5"
    assert len(fields) == 1 + 2 * sum(of == dataset for of, _ in PLACES)
