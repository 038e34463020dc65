"""The paper's data sets: published archives and the toolboxes' folders, on miniatures in the exact layouts."""

import pickle
from pathlib import Path

import miniatures
import numpy as np
import pytest
from PIL import Image

from sparcl.base.errors import DatasetError
from study.images import datasets, split_lists

WNIDS = ["n01443537", "n01484850", "n01494475"]
FRUIT = ["apple", "bear", "train"]  # CIFAR-100 has a class that is called like a split


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where images lie; the cache is another folder."""
    monkeypatch.setenv("SPARCL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SPARCL_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def blocks(params):
    def shrunk(name, classes, train, test, **more):
        counts = {"train": train, "test": test}
        return params["datasets"][name] | {"classes": classes, "counts": counts} | more

    return shrunk


def content(block, split, name="mini", **more):
    part = datasets.open_split(name, block, split, **more)
    pixels = [np.asarray(part.image(i)) for i in range(len(part.ids))]
    return part, list(zip(part.ids, part.labels.tolist(), strict=True)), pixels


def test_cifar100_from_archive_folder_of_pickles_and_png(place, blocks):
    members = miniatures.cifar100(FRUIT, 4, 2)
    archive = place / "cifar-100-python.tar.gz"
    md5 = miniatures.pack(archive, "cifar-100-python", members)
    block = blocks("cifar-100", 3, 12, 6, md5=md5)
    found = [content(block, split) for split in ("train", "test")]
    ids = [i for i, _ in found[0][1]]
    assert ids == sorted(ids) and ids[0] == "train/apple/apple_s_000000.png"
    assert found[0][0].class_names == FRUIT and found[0][0].split_sha256 == ""
    assert all(i.split("/")[1] == FRUIT[label] for i, label in found[0][1])
    raw = pickle.loads(members["train"], encoding="bytes")
    for identifier, pixels in zip(ids, found[0][2], strict=True):
        row = raw[b"filenames"].index(identifier.split("/")[2].encode())
        np.testing.assert_array_equal(
            pixels, raw[b"data"][row].reshape(3, 32, 32).transpose(1, 2, 0)
        )

    archive.unlink()
    miniatures.unpack(place / "cifar-100-python", members)
    unpacked = [content(block, split) for split in ("train", "test")]
    for part in (*found, *unpacked):
        for identifier, pixels in zip(part[0].ids, part[2], strict=True):
            path = place / "png" / identifier
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
    png = [content(block | {"folder": "png"}, split) for split in ("train", "test")]
    for other in (unpacked, png):
        for one, two in zip(found, other, strict=True):
            assert one[1] == two[1] and one[0].class_names == two[0].class_names
            for x, y in zip(one[2], two[2], strict=True):
                np.testing.assert_array_equal(x, y)


def test_cifar100_names_that_a_class_has_twice(place, blocks):
    members = miniatures.cifar100(FRUIT, 2, 1)
    for split in ("train", "test"):
        raw = pickle.loads(members[split], encoding="bytes")
        raw[b"filenames"] = [b"same.png"] * len(raw[b"filenames"])
        members[split] = miniatures.python2_pickle(raw)
    miniatures.unpack(place / "cifar-100-python", members)
    part, _, pixels = content(blocks("cifar-100", 3, 6, 3), "train")
    assert part.ids[:2] == ["train/apple/same.png", "train/apple/same~2.png"]
    assert not np.array_equal(pixels[0], pixels[1])


class Code:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_cifar_pickles_of_another_content_or_with_code(place, blocks, tmp_path):
    members, marker = miniatures.cifar100(FRUIT, 2, 1), tmp_path / "ran"
    raw = pickle.loads(members["train"], encoding="bytes")
    layout = "not have the layout of reader 'cifar-100'"
    for content, said in (
        ({key: value for key, value in raw.items() if key != b"filenames"}, layout),
        (raw | {b"fine_labels": raw[b"fine_labels"][:-1]}, layout),
        (raw | {b"data": raw[b"data"].astype(np.float32)}, layout),
        (raw | {b"data": raw[b"data"][:, :100].copy()}, layout),
        ({b"data": Code(marker)}, r"the pickle asks for __builtin__\.getattr; refused"),
    ):
        members["train"] = miniatures.python2_pickle(content)
        miniatures.unpack(place / "cifar-100-python", members)
        with pytest.raises(DatasetError, match=said):
            datasets.open_split("mini", blocks("cifar-100", 3, 6, 3), "train")
    assert not marker.exists()
    pickle.loads(members["train"])
    assert marker.exists(), "the hostile file must be able to do harm, or this test shows nothing"


def test_cub_official_from_archive_and_folders(place, blocks):
    members = miniatures.cub(3, 5, 3)
    md5 = miniatures.pack(place / "CUB_200_2011.tgz", "CUB_200_2011", members)
    block = blocks("cub-200-official", 3, 9, 6, md5=md5)
    found = [content(block, split) for split in ("train", "test")]
    assert found[0][0].ids[0] == "images/001.Bird_1/Bird_1_0000_0.jpg"
    assert found[0][0].labels.tolist() == [0] * 3 + [1] * 3 + [2] * 3
    for part, _, _ in found:
        for identifier in part.ids:
            target = place / "tree" / part.split / identifier.removeprefix("images/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(members[identifier])
    for one, split in zip(found, ("train", "test"), strict=True):
        two = content(block | {"folder": "tree"}, split)
        assert one[1] == two[1] and one[0].class_names == two[0].class_names
        for x, y in zip(one[2], two[2], strict=True):
            np.testing.assert_array_equal(x, y)


def test_cub_split_anew_leaves_no_image_out(place, blocks):
    miniatures.unpack(place / "CUB_200_2011", miniatures.cub(3, 5, 3))
    block = blocks("cub-200", 3, 12, 3)
    train, test = (datasets.open_split("mini", block, split) for split in ("train", "test"))
    assert np.bincount(test.labels).tolist() == [1, 1, 1]
    assert len(set(train.ids) | set(test.ids)) == 15
    assert (
        train.split_sha256
        == test.split_sha256
        == split_lists.sha256(datasets.find_split("mini", block))
    )


def test_imagenet_r_and_a(place, blocks):
    """Drawn splits of the archives; in folders the split that somebody has drawn."""
    sizes = [2, 3, 11]
    sets = {
        "imagenet-r": (miniatures.imagenet_r(WNIDS, 10), 24, 6, [2, 2, 2]),
        "imagenet-a": (miniatures.imagenet_a(WNIDS, sizes), 12, 4, [1, 1, 2]),
    }
    for name, (members, train, test, per_class) in sets.items():
        md5 = miniatures.pack(place / f"{name}.tar", name, members)
        block = blocks(name, 3, train, test, md5=md5)
        parts = {split: content(block, split) for split in ("train", "test")}
        assert np.bincount(parts["test"][0].labels).tolist() == per_class
        assert parts["train"][0].class_names == WNIDS
        assert parts["train"][0].skipped == {"README.txt": "no image by its name"}
        assert all(i.split("/")[0] == WNIDS[label] for i, label in parts["train"][1])
        for split, (part, _, _) in parts.items():
            for identifier in part.ids:
                target = place / "tree" / name / split / identifier
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(members[identifier])
        tree = block | {"folder": f"tree/{name}"}
        for split, one in parts.items():
            two = content(tree, split)
            assert one[1] == two[1] and one[0].split_sha256 == two[0].split_sha256
        moved = parts["test"][0].ids[0]
        folder = place / "tree" / name
        (folder / "test" / moved).rename(folder / "train" / moved)
        with pytest.raises(DatasetError, match=rf"'test': {test - 1}.*and the settings `datasets"):
            datasets.open_split("mini", tree, "train")


def test_somebody_elses_list(place, blocks, tmp_path):
    miniatures.unpack(place / "imagenet-r", miniatures.imagenet_r(WNIDS, 4))
    block = blocks("imagenet-r", 3, 9, 3)
    drawn = datasets.find_split("mini", block)
    names = sorted(drawn)
    theirs = {name: "test" if name.endswith("art_0.jpg") else "train" for name in names}
    assert theirs != drawn
    path = tmp_path / "theirs.txt"
    split_lists.write(path, theirs)
    for found in (
        datasets.open_split("mini", block | {"split": str(path)}, "test"),
        datasets.open_split("mini", block, "test", split_list=path),
    ):
        assert found.ids == [name for name in names if name.endswith("art_0.jpg")]
        assert found.split_sha256 == split_lists.sha256(theirs)
    split_lists.write(path, theirs | {"n0/none.jpg": "test"})
    with pytest.raises(
        DatasetError, match=r"1 images of the split list theirs\.txt.*'n0/none\.jpg'"
    ):
        datasets.open_split("mini", block, "test", split_list=path)


def test_imagenet_100_takes_its_classes_from_a_local_imagenet(place, blocks):
    root = place / "imagenet"
    for split, number in (("train", 3), ("val", 2)):
        for c, wnid in enumerate([*WNIDS, "n02000000"]):
            for i in range(number):
                name = f"{wnid}_{i}.JPEG" if split == "train" else f"ILSVRC2012_val_{c}{i}.JPEG"
                miniatures.unpack(root / split / wnid, {name: miniatures.jpeg(i)})
    miniatures.unpack(root / "test", {"ILSVRC2012_test_1.JPEG": miniatures.jpeg(0)})
    block = blocks("imagenet-100", 2, 6, 4, class_list=[WNIDS[2], WNIDS[0]])
    train, test = (datasets.open_split("mini", block, split) for split in ("train", "test"))
    assert train.class_names == [WNIDS[0], WNIDS[2]]
    assert (
        train.ids[0] == "n01443537/n01443537_0.JPEG" and train.labels.tolist() == [0] * 3 + [1] * 3
    )
    assert test.files[0] == "val/n01443537/ILSVRC2012_val_00.JPEG"
    assert train.image(0).size == (40, 30)
    with pytest.raises(DatasetError, match="1 of 2 classes have no image: n09"):
        datasets.open_split("mini", block | {"class_list": [WNIDS[0], "n09"]}, "train")


def test_the_hundred_classes(params):
    """Positions RandomState(1993).permutation(1000)[:100] of the sorted ids, which timm knows."""
    from timm.data import ImageNetInfo

    known = sorted(ImageNetInfo().label_names())
    chosen = [known[i] for i in np.random.RandomState(1993).permutation(1000)[:100]]
    assert params["datasets"]["imagenet-100"]["class_list"] == sorted(chosen)


def test_totals_of_the_paper(params):
    totals = {
        "cifar-100": (100, 50000, 10000),
        "cub-200": (200, 9430, 2358),
        "cub-200-official": (200, 5994, 5794),
        "imagenet-r": (200, 24000, 6000),
        "imagenet-a": (200, 5981, 1519),
    }
    for name, expected in totals.items():
        block = params["datasets"][name]
        assert (block["classes"], *(block["counts"][s] for s in split_lists.SPLITS)) == expected
