"""Extraction for real: images through EfficientNet-Lite0 into feature files."""

import io
import multiprocessing
import os
import re
import shutil
import signal
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from copies import tree
from faults import each, failing
from own_data import pinned
from PIL import Image
from safetensors.torch import save_file

from sparcl.algebra import tensors
from sparcl.base.errors import ConfigError, FeatureFileError, OutputError, SparclError
from sparcl.extraction import arrays, backbones
from sparcl.extraction.preprocessing import preprocess
from sparcl.extraction.storage.protocol import ArrayStorage
from sparcl.features import store
from study.images import datasets, extract
from study.images.extract import extract_split
from study.images.readers.published import read_digits
from study.images.work_file import WorkFile

DIGITS = range(5)
NUMBER = {"train": 3, "test": 1}  # images of each


def test_a_library_that_cannot_be_loaded_is_not_called_missing(job, tmp_path, monkeypatch):
    def broken(name):
        raise OSError("libcudart.so.12: cannot open shared object file")

    torch.save(torch.ones(2, 3), tmp_path / "X.pt")
    calls = (
        lambda: extract_split(tmp_path / "a.h5", **job),
        lambda: arrays.read(tmp_path / "X.pt", "features"),
        lambda: tensors.named("torch-cpu"),
    )
    monkeypatch.setattr("sparcl.base.checks.import_module", broken)
    for call in calls:
        with pytest.raises(SparclError, match=r"torch, which is installed, but cannot .*libcudart"):
            call()
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"digits-40: .* need torch, which is .*`make features`"):
        calls[0]()
    with pytest.raises(SparclError, match="torch, which is not installed"):
        calls[1]()
    assert [path.name for path in tmp_path.iterdir()] == ["X.pt"]


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Some of scikit-learn's digits as image files, ``{train,test}/<digit>/<position>.png``."""
    root = tmp_path_factory.mktemp("images")
    source = read_digits(ArrayStorage({}), {}).storage
    for digit in DIGITS:
        names = [name for name in source.names() if name.startswith(f"{digit}/")]
        for split, start in (("train", 0), ("test", 100)):
            for name in names[start : start + NUMBER[split]]:
                path = root / "digits-40" / split / name
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(source.pixels[name]).save(path)
    return root


@pytest.fixture
def job(params, images):
    """The arguments of `extract_split`, but for the path."""
    block = {"reader": "folders", "folder": "digits-40", "archive": "digits-40.tar", "crop": 1.0}
    extraction = {"image_root": str(images), "device": "cpu", "batch_size": 4}
    return {
        "dataset": "digits-40",
        "dataset_block": block | {"classes": 5, "counts": {"train": 15, "test": 5}},
        "backbone": "efficientnet-lite0",
        "backbone_block": params["backbones"]["efficientnet-lite0"],
        "split": "train",
        "extraction": params["extraction"] | extraction,
    }


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """Where the uninterrupted extraction of this module lies, made by the first test that asks."""
    return tmp_path_factory.mktemp("reference") / "train.h5"


@pytest.fixture
def uninterrupted(reference, job):
    if not reference.exists():
        extract_split(reference, **job)
    return reference


def test_what_an_extraction_holds(uninterrupted, job):
    data = store.read(uninterrupted)
    assert data.features.shape == (15, 1280) and data.features.dtype == np.float16
    assert np.bincount(data.labels).tolist() == [3] * 5
    assert data.class_names == [str(i) for i in DIGITS]
    assert data.ids[0].startswith(b"train/0/")
    pins = job["backbone_block"]["weights"]
    assert data.meta["weights_sha256"] == pins["sha256"]
    assert data.meta["preprocessing"]["size"] == 224
    settings = {"precision": "float32", "batch_size": 4, "device": "cpu"}
    kept = {key: value for key, value in pins.items() if key != "sha256"}
    network = {"network": {"timm_args": {}, "weights": kept}}
    assert data.meta["extraction"] == settings | network
    assert sorted(p.name for p in uninterrupted.parent.iterdir()) == ["train.h5", "train.json"]
    text = uninterrupted.read_bytes() + uninterrupted.with_suffix(".json").read_bytes()
    assert job["extraction"]["image_root"].encode() not in text


def test_every_sample_is_its_own_forward_pass(uninterrupted, job):
    """Against one direct pass of each image, in a batch of the same size but other company."""
    preprocessing = {"crop": 1.0} | {
        key: job["backbone_block"][key] for key in ("size", "interpolation", "mean", "std")
    }
    network = backbones.build(job["backbone_block"], preprocessing)
    source = datasets.open_split(
        "digits-40", job["dataset_block"], "train", job["extraction"]["image_root"]
    )
    data = store.read(uninterrupted)
    for index in (0, 6, 14):
        alone = np.stack([preprocess(source.image(index), preprocessing)] * 4)
        features, _ = network(alone)
        np.testing.assert_allclose(data.features[index], features[0], atol=2e-3, rtol=2e-3)


def test_settings_of_an_extraction(tmp_path, uninterrupted, job):
    """Threads change no byte, batches no more than rounding, and the precision of the file nothing else."""

    def extracted(**changes):
        extract_split(tmp_path / "train.h5", **(job | {"extraction": job["extraction"] | changes}))
        return store.read(tmp_path / "train.h5").features

    expected = store.read(uninterrupted).features
    extracted(threads=3)
    assert (tmp_path / "train.h5").read_bytes() == uninterrupted.read_bytes()
    found = extracted(batch_size=32)
    np.testing.assert_allclose(found.astype(float), expected.astype(float), atol=2e-3, rtol=2e-3)
    found = extracted(dtype="float32")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.astype(np.float16), expected)


def test_blocks_of_a_vision_transformer(tmp_path, params, job):
    torch.manual_seed(0)
    path, small = tmp_path / "tiny.safetensors", {"depth": 3, "embed_dim": 48}
    save_file(timm.create_model("vit_tiny_patch16_224", **small).state_dict(), path)
    block = {"timm_id": "vit_tiny_patch16_224", "timm_args": small, "weights": pinned(path)}
    block = params["backbones"]["vit-s14-focus"] | block | {"blocks": [2, 3]}
    manifest = extract_split(
        tmp_path / "a" / "test.h5", **(job | {"backbone_block": block, "split": "test"})
    )
    data = store.read(tmp_path / "a" / "test.h5")
    assert data.blocks.shape == (5, 2, 48) and manifest["block_indices"] == [2, 3]
    assert data.blocks_mean.shape == (5, 48)
    np.testing.assert_array_equal(data.blocks[:, 1], data.features)
    assert np.abs(data.blocks[:, 0].astype(float) - data.features).max() > 0.01
    assert np.abs(data.blocks_mean.astype(float) - data.features).max() > 0.01


def test_killed_and_started_again_gives_the_same_bytes(tmp_path, uninterrupted, job, caplog):
    path = tmp_path / "out" / "train.h5"
    work = tmp_path / "out" / ".train.work"
    chunk = 4 * 1280 * 2
    job["extraction"]["threads"] = 1  # slower, so that there is something left to interrupt
    fork = multiprocessing.get_context("fork")
    first = fork.Process(target=extract_split, args=(path,), kwargs=job)
    first.start()
    deadline = time.monotonic() + 120
    while not (work.exists() and work.stat().st_size > 2 * chunk) and first.is_alive():
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(first.pid, signal.SIGKILL)
    first.join()
    assert first.exitcode == -signal.SIGKILL and not path.exists()
    with work.open("ab") as file:  # as if it had died in the middle of a chunk
        file.write(chunk.to_bytes(8, "little") + b"half a chunk")
    with caplog.at_level("INFO"):
        extract_split(path, **job)
    assert "of 15 images were done before; continuing" in caplog.text
    assert path.read_bytes() == uninterrupted.read_bytes()
    assert path.with_suffix(".json").read_bytes() == uninterrupted.with_suffix(".json").read_bytes()
    assert sorted(p.name for p in path.parent.iterdir()) == ["train.h5", "train.json"]


class Means(backbones.Backbone):
    """A network that takes no time: the colours of the upper rows of pixels."""

    def __call__(self, pixels):
        return pixels[:, :2].reshape(len(pixels), -1).astype(np.float32), None


def test_every_write_of_an_extraction_may_fail(tmp_path, images, job, monkeypatch):
    """What was there stays or is replaced whole, and the same job then succeeds, from the batches that were done."""
    root, folder = tmp_path / "images", tmp_path / "out"
    shutil.copytree(images, root)
    next((root / "digits-40/test/3").iterdir()).write_bytes(b"damaged")
    job |= {"split": "test", "extraction": job["extraction"] | {"image_root": str(root)}}
    job["dataset_block"] = job["dataset_block"] | {"on_bad_image": "skip"}

    def build(block, preprocessing, *_):
        return Means(None, "means", "0" * 64, preprocessing | {"size": 8}, [], "cpu", "float32")

    monkeypatch.setattr(backbones, "build", build)
    monkeypatch.setattr(sys, "__stderr__", io.StringIO())  # a terminal is no file
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    extract_split(folder / "test.h5", **job)
    expected = tree(folder)
    assert [Path(name).name for name in sorted(expected)] == [
        "test.h5",
        "test.json",
        "test.skipped.txt",
    ]
    with failing(folder, None) as disk:
        extract_split(folder / "test.h5", **job)
    assert disk.steps > 4 * len(expected)  # and the work file
    for fault in each(folder, disk.steps, map(len, expected.values())):
        for name in expected:
            (tmp_path / name).write_text("old")
        with fault, pytest.raises(OutputError, match=re.escape(str(folder))):
            extract_split(folder / "test.h5", **job)
        left = tree(folder)
        assert left.keys() - expected.keys() <= {"out/.test.work"}
        assert all(left[name] in (content, b"old") for name, content in expected.items())
        extract_split(folder / "test.h5", **job)
        assert tree(folder) == expected


def test_chunks_of_other_settings_are_not_used(tmp_path, job, monkeypatch):
    """A work file of float32 features must not end up in a float16 file."""
    path = tmp_path / "test.h5"
    job |= {"split": "test"}

    def full(*_, **__):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(store, "write", full)
        with pytest.raises(OSError, match="disk full"):
            extract_split(path, **(job | {"extraction": job["extraction"] | {"dtype": "float32"}}))
    assert (tmp_path / ".test.work").exists()
    extract_split(path, **job)
    assert store.read(path).features.dtype == np.float16


def test_features_that_are_not_finite_name_the_sample(tmp_path, job, monkeypatch):
    """Overflow of float16, in the second image of every batch: reported, and never skipped as a bad image."""
    real = backbones.Backbone.__call__

    def overflowing(self, pixels):
        features, blocks = real(self, pixels)
        features[1] *= 1e6
        return features, blocks

    monkeypatch.setattr(backbones.Backbone, "__call__", overflowing)
    job["dataset_block"]["on_bad_image"] = "skip"
    with pytest.raises(FeatureFileError, match=r"first row 1, sample 'test/1/\d{4}\.png'.*float32"):
        extract_split(tmp_path / "test.h5", **(job | {"split": "test"}))
    assert not (tmp_path / "test.h5").exists()


def test_settings_that_cannot_be_had(tmp_path, job):
    cases = [("precision", "int8", "allowed: float32, float16, bfloat16")]
    if not torch.cuda.is_available():
        cases.append(("device", "cuda", "torch sees no CUDA device"))
    for key, value, message in cases:
        extraction = job["extraction"] | {key: value}
        with pytest.raises(ConfigError, match=message):
            extract_split(tmp_path / "a.h5", **(job | {"extraction": extraction}))
    assert not list(tmp_path.iterdir())


def test_a_bar_counts_images_on_the_terminal_from_where_it_goes_on(tmp_path, monkeypatch):
    """On the terminal's own stderr, since a workflow script sends the other one to its log."""
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "__stderr__", terminal)
    with closing(WorkFile(tmp_path / ".train.work", "f")) as work:
        extract._run(iter([(b"a", 2), (b"b", 3)]), work, 4, 9, "birds train")
        assert work.chunks == [b"a", b"b"]
    first, *_, last = terminal.getvalue().strip("\r\n").split("\r")
    assert first.startswith("birds train:") and "4/9" in first
    assert "100%" in last and "9/9" in last and "img/s" in last


@pytest.mark.slow
def test_all_digits_are_told_apart(tmp_path, params):
    """The whole set, from scikit-learn's wheel to a ridge classifier on unit-norm features."""
    network = params["backbones"]["efficientnet-lite0"]
    job = "digits", params["datasets"]["digits"], "efficientnet-lite0", network
    parts, unit = {}, {}
    for split in ("train", "test"):
        path = tmp_path / f"{split}.h5"
        extract_split(path, *job, split, params["extraction"])
        parts[split] = store.read(path)
        features = parts[split].features.astype(float)
        unit[split] = features / np.linalg.norm(features, axis=1, keepdims=True)
    gram = unit["train"].T @ unit["train"] + 0.1 * np.eye(1280)
    solution = np.linalg.solve(gram, unit["train"].T @ np.eye(10)[parts["train"].labels])
    accuracy = ((unit["test"] @ solution).argmax(axis=1) == parts["test"].labels).mean()
    assert accuracy > 0.9, accuracy  # 0.937 when this was written; chance is 0.1
