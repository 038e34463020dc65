"""What feeds the network: threads or processes, small images enlarged on the device, memory that is too small."""

import miniatures
import numpy as np
import pytest
import timm
import torch
from own_data import pinned
from PIL import Image

from sparcl.base.errors import ConfigError, DatasetError, FeatureFileError
from sparcl.extraction import backbones, passes
from sparcl.extraction.images import ImageSplit
from sparcl.extraction.passes import Batches
from sparcl.extraction.preprocessing import enlarge, preprocess
from sparcl.extraction.storage.protocol import ArrayStorage
from sparcl.features import store
from study.images import datasets
from study.images.extract import extract_split

PREPROCESSING = {
    "size": 32,
    "crop": 0.875,
    "interpolation": "bicubic",
    "mean": [0.5, 0.4, 0.3],
    "std": [0.5, 0.5, 0.6],
}
TINY = {"depth": 1, "embed_dim": 48, "num_heads": 3, "img_size": 32, "patch_size": 8}


def tiny(blocks=()):
    torch.manual_seed(0)
    model = timm.create_model("vit_tiny_patch16_224", num_classes=0, **TINY).eval()
    return backbones.Backbone(
        model, "tiny", "0" * 64, PREPROCESSING, list(blocks), "cpu", "float32"
    )


@pytest.fixture
def root(tmp_path):
    for c, name in enumerate(("ant", "bee")):
        for i in range(11):
            miniatures.unpack(
                tmp_path / "set" / name, {f"{i:02d}.jpg": miniatures.jpeg(20 * c + i)}
            )
    return tmp_path / "set"


def split_of(root, **more):
    return datasets.open_split("mine", {"reader": "folder", "root": str(root)} | more, "train")


def batches(images, network, **more):
    return Batches(images, network, range(0, len(images.ids), 4), 4, **more)


@pytest.mark.parametrize("blocks", [(), (1,)])
@pytest.mark.parametrize("workers", [0, 2])
def test_processes_give_what_threads_give(root, workers, blocks):
    images, network = split_of(root), tiny(blocks)
    dtype = np.dtype("float16")
    threads = list(passes.by_threads(batches(images, network), 2, dtype))
    torch.set_num_threads(1)
    processes = list(passes.by_processes(batches(images, network), workers, dtype))
    assert [used for _, used in threads] == [4, 4, 4, 4, 2]
    for (one, used), (two, _) in zip(threads, processes, strict=True):
        assert len(one) == used * 48 * 2 * (1 + (len(blocks) + 1 if blocks else 0))
        np.testing.assert_allclose(
            np.frombuffer(one, dtype), np.frombuffer(two, dtype), rtol=2e-3, atol=2e-3
        )


def test_an_unreadable_image_in_a_worker_is_named(root):
    images = split_of(root)
    (root / images.ids[5]).write_bytes(b"")
    with pytest.raises(DatasetError, match=rf"^mine, train: cannot decode image '{images.ids[5]}'"):
        list(passes.by_processes(batches(images, tiny()), 2, np.dtype("float16")))


@pytest.mark.parametrize("processes", [True, False])
def test_unreadable_images_become_rows_of_nan(root, processes):
    images = split_of(root)
    for i in (5, 16):
        (root / images.ids[i]).write_bytes(b"no image")
    made = batches(images, tiny(), tolerant=True, small=processes)
    run = passes.by_processes if processes else passes.by_threads
    rows = b"".join(chunk for chunk, _ in run(made, 2, np.dtype("float32")))
    missing = np.isnan(np.frombuffer(rows, np.float32).reshape(18, 48))
    assert np.flatnonzero(missing.all(axis=1)).tolist() == [5, 16]
    assert not np.delete(missing, (5, 16), axis=0).any()


@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear"])
@pytest.mark.parametrize("crop", [1.0, 0.875, 0.9])
def test_enlarging_on_the_device_is_pillows(interpolation, crop):
    """Noise is the worst case: it overshoots the 8 bits on both sides."""
    settings = PREPROCESSING | {"size": 224, "crop": crop, "interpolation": interpolation}
    rng = np.random.default_rng(0)
    for shape in ((32, 32), (20, 31), (7, 5), (150, 90), (224, 224)):
        noise = rng.integers(0, 2, (3, *shape, 3)) * 255
        smooth = rng.integers(0, 256, (3, *shape, 3))
        for pixels in (noise.astype(np.uint8), smooth.astype(np.uint8)):
            expected = np.stack([preprocess(Image.fromarray(image), settings) for image in pixels])
            found = enlarge(torch.from_numpy(pixels), settings)
            assert found.dtype == torch.uint8 and found.shape == expected.shape
            if shape != (224, 224):  # those are handed on as they are
                np.testing.assert_array_equal(found, expected)


def test_small_images_are_handed_out_as_they_are(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 20, 24, 3), dtype=np.uint8)
    names = [f"{i}.png" for i in range(5)]
    source = ArrayStorage(dict(zip(names, pixels, strict=True)))
    images = ImageSplit("s", "train", ["a"], names, names, np.zeros(5, np.int32), source)
    loaded, bad = batches(images, tiny(), small=True).load(4)
    assert loaded.shape == (4, 20, 24, 3) and not bad
    np.testing.assert_array_equal(loaded, np.stack([pixels[4]] * 4))
    assert batches(images, tiny()).load(0)[0].shape == (4, 32, 32, 3)
    source.pixels["2.png"] = pixels[2, :10]
    assert batches(images, tiny(), small=True).load(0)[0].shape == (4, 32, 32, 3)
    source.pixels |= {name: np.zeros((64, 64, 3), np.uint8) for name in names}
    assert batches(images, tiny(), small=True).load(0)[0].shape == (4, 32, 32, 3)


class Small(torch.nn.Module):
    """A network on a card that takes only so many images at once."""

    def __init__(self, capacity):
        super().__init__()
        self.capacity, self.seen = capacity, []

    def forward(self, batch):
        self.seen.append(len(batch))
        if len(batch) > self.capacity:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return batch.mean(dim=(2, 3))


def test_out_of_memory_halves_the_batch_and_goes_on(caplog):
    model = Small(3)
    network = backbones.Backbone(model, "small", "0" * 64, PREPROCESSING, [], "cpu", "float32")
    pixels = np.random.default_rng(0).integers(0, 256, (13, 32, 32, 3), dtype=np.uint8)
    features, _ = network(pixels)
    assert model.seen == [13, 7, 4, 2, 2, 2, 2, 2, 2, 1] and network.at_once == 2
    assert "continuing with 2 images at once" in caplog.text
    whole, _ = backbones.Backbone(Small(13), "s", "0", PREPROCESSING, [], "cpu", "float32")(pixels)
    np.testing.assert_allclose(features, whole, rtol=1e-6)
    model.seen.clear()
    network(pixels[:4])
    assert model.seen == [2, 2], "the next batch does not try the whole again"


def test_out_of_memory_for_one_image_is_an_error():
    network = backbones.Backbone(Small(0), "small", "0", PREPROCESSING, [], "cpu", "float32")
    with pytest.raises(ConfigError, match=r"small: the GPU's memory is too small for one image"):
        network(np.zeros((3, 32, 32, 3), dtype=np.uint8))


@pytest.fixture
def job(root, params, tmp_path):
    """The arguments of `extract_split` for the folder through the tiny network."""
    torch.save(tiny().model.state_dict(), tmp_path / "tiny.pth")
    block = {"timm_id": "vit_tiny_patch16_224", "timm_args": TINY, "preprocessing": PREPROCESSING}
    return {
        "dataset": "mine",
        "dataset_block": {"reader": "folder", "root": str(root)},
        "backbone": "tiny",
        "backbone_block": block | {"weights": pinned(tmp_path / "tiny.pth")},
        "split": "train",
        "extraction": params["extraction"] | {"device": "cpu", "batch_size": 4},
    }


def test_bad_images_are_skipped_and_listed_or_an_error(job, root, tmp_path):
    whole = split_of(root).ids
    (root / whole[3]).write_bytes(b"")
    (root / whole[9]).write_bytes(miniatures.jpeg(0)[:200])
    (root / "notes.txt").write_text("x")
    path = tmp_path / "out" / "train.h5"
    with pytest.raises(
        DatasetError, match=r"2 image\(s\) cannot be read.*on_bad_image: skip"
    ) as refused:
        extract_split(path, **job)
    _, *named = str(refused.value).splitlines()
    assert [line.split(":")[0].strip() for line in named] == [whole[3], whole[9]], "all at once"
    assert named[0].endswith("the file is empty") and not path.exists()
    job["dataset_block"]["on_bad_image"] = "skip"
    manifest = extract_split(path, **job)
    data = store.read(path)
    kept = [name for i, name in enumerate(whole) if i not in (3, 9)]
    assert [i.decode() for i in data.ids] == kept and manifest["n"] == 16
    assert len(manifest["split_sha256"]) == 64
    listed = dict(
        line.split("\t") for line in path.with_name("train.skipped.txt").read_text().splitlines()
    )
    assert listed.keys() == {whole[3], whole[9], "notes.txt"}
    assert listed[whole[3]] == "the file is empty"
    for name in (whole[3], whole[9], "notes.txt"):
        (root / name).unlink()
    job["dataset_block"]["split"] = str(tmp_path / "list.txt")
    held = (kept[0], kept[-1])  # one of each class
    lines = [f"{'test' if name in held else 'train'} {name}\n" for name in kept]
    (tmp_path / "list.txt").write_text("".join(lines))
    extract_split(path, **job)
    assert not path.with_name("train.skipped.txt").exists(), "an old list does not stay"


@pytest.mark.parametrize("first", ["fail", "skip"])
def test_another_on_bad_image_keeps_finished_batches(
    job, root, tmp_path, monkeypatch, caplog, first
):
    """The seventh image stops the second batch, or the disk is full when all batches are done."""
    whole = split_of(root).ids
    (root / whole[6]).write_bytes(b"")
    path = tmp_path / "train.h5"

    def full(*_, **__):
        raise OSError("disk full")

    job["dataset_block"]["on_bad_image"] = first
    with monkeypatch.context() as patch:
        patch.setattr(store, "write", full)
        with pytest.raises((OSError, DatasetError)):
            extract_split(path, **job)
    second = {"fail": "skip", "skip": "fail"}[first]
    job["dataset_block"]["on_bad_image"] = second
    with caplog.at_level("INFO"):
        if second == "skip":
            assert extract_split(path, **job)["n"] == 17
        else:
            with pytest.raises(DatasetError, match=rf"1 image\(s\) .*\n  {whole[6]}: the file"):
                extract_split(path, **job)
    assert f"{4 if first == 'fail' else 18} of 18 images were done before" in caplog.text


def test_many_bad_images_are_a_short_message_and_a_whole_log(job, root, tmp_path, caplog):
    whole = split_of(root).ids
    for name in whole[2:]:
        (root / name).write_bytes(b"")
    with pytest.raises(DatasetError, match=r"16 image\(s\).*") as refused:
        extract_split(tmp_path / "train.h5", **job)
    assert len(str(refused.value).splitlines()) == 10
    assert str(refused.value).endswith("and 8 more; the log names all")
    assert all(name in caplog.text for name in whole[2:])


def test_a_class_without_readable_image_is_an_error(job, root, tmp_path):
    for name in split_of(root).ids:
        if name.startswith("bee"):
            (root / name).write_bytes(b"")
    job["dataset_block"]["on_bad_image"] = "skip"
    with pytest.raises(FeatureFileError, match="1 of 2 classes have no training sample: bee"):
        extract_split(tmp_path / "train.h5", **job)
