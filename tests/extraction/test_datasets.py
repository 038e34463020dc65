"""Readers of data sets, each on a miniature of its exact layout, as a folder and as an archive."""

import tarfile
from collections import Counter

import numpy as np
import pytest

from sparcl.base.errors import ConfigError, DatasetError
from study.images import datasets
from study.images.archive import TarStorage
from study.images.readers.published import photo_id


def block(reader, classes, train, test, folder="set", archive="set.tar"):
    return {
        "reader": reader,
        "folder": folder,
        "archive": archive,
        "classes": classes,
        "counts": {"train": train, "test": test},
    }


def both(params, root):
    return {
        split: datasets.open_split("toy", params, split, str(root)) for split in ("train", "test")
    }


def ids_and_labels(split):
    return list(zip(split.ids, split.labels.tolist(), strict=True))


@pytest.fixture
def folders(tmp_path, save_image):
    for split, number in (("train", 2), ("test", 1)):
        for label, name in enumerate(("bee", "ant")):
            for i in range(number):
                save_image(tmp_path / "set" / split / name / f"{i}.png", 10 * label + i)
    (tmp_path / "set" / "train" / "ant" / "notes.txt").write_text("not an image")
    return tmp_path


@pytest.fixture
def cub(tmp_path, save_image):
    root = tmp_path / "set"
    names = [
        "001.Albatross/B_2.jpg",
        "001.Albatross/A_1.jpg",
        "002.Auklet/C_3.jpg",
        "002.Auklet/D_4.jpg",
    ]
    for number, name in enumerate(names):
        save_image(root / "images" / name, number)
    lines = {
        "images.txt": [f"{i} {name}" for i, name in enumerate(names, 1)],
        "classes.txt": ["1 001.Albatross", "2 002.Auklet"],
        "image_class_labels.txt": ["1 1", "2 1", "3 2", "4 2"],
        "train_test_split.txt": ["1 0", "2 1", "3 1", "4 0"],
    }
    for name, rows in lines.items():
        (root / name).write_text("\n".join(rows) + "\n")
    return tmp_path


@pytest.fixture
def grocery(tmp_path, save_image):
    root = tmp_path / "set"
    head = "Class Name (str),Class ID (int),Coarse Class Name (str),Coarse Class ID (int)"
    (root / "x").mkdir(parents=True)
    (root / "classes.csv").write_bytes(
        f"{head}\r\nPink-Lady,0,Apple,0\r\nOat-Milk,1,Milk,1".encode()
    )
    for split, number in (("train", 2), ("val", 1), ("test", 1)):
        rows = []
        for label, path in enumerate(("Fruit/Apple/Pink-Lady/Pink-Lady", "Packages/Milk/Oat-Milk")):
            for i in range(number):
                name = f"{split}/{path}_{i:03d}.jpg"
                save_image(root / name, label)
                rows.append(f"{name}, {label}, {label}")
        (root / f"{split}.txt").write_text("\n".join(rows) + "\n")
    return tmp_path


SKETCHES = {
    "ant": {"n01_7": 5, "n01_12": 5, "n01_9": 5, "n01_10": 5},
    "bee": {"n02_1": 1, "n02_2": 9},
}


@pytest.fixture
def sketchy(tmp_path, save_image):
    for category, photos in SKETCHES.items():
        for photo, number in photos.items():
            for k in range(1, number + 1):
                save_image(tmp_path / "set" / category / f"{photo}-{k}.png", k)
    return tmp_path


def pack(root):
    """The same files as an archive, and the folder gone."""
    import shutil

    with tarfile.open(root / "set.tar", "w") as tar:
        tar.add(root / "set", "set")
    shutil.rmtree(root / "set")
    return root


def test_folders(folders):
    found = both(block("folders", 2, 4, 2), folders)
    assert found["train"].class_names == ["ant", "bee"]
    assert ids_and_labels(found["train"]) == [
        ("train/ant/0.png", 0),
        ("train/ant/1.png", 0),
        ("train/bee/0.png", 1),
        ("train/bee/1.png", 1),
    ]
    assert ids_and_labels(found["test"]) == [("test/ant/0.png", 0), ("test/bee/0.png", 1)]
    assert found["train"].image(0).size == (8, 8)


def test_cub(cub):
    found = both(block("cub", 2, 2, 2), cub)
    assert found["train"].class_names == ["001.Albatross", "002.Auklet"]
    assert ids_and_labels(found["train"]) == [
        ("images/001.Albatross/A_1.jpg", 0),
        ("images/002.Auklet/C_3.jpg", 1),
    ]
    assert ids_and_labels(found["test"]) == [
        ("images/001.Albatross/B_2.jpg", 0),
        ("images/002.Auklet/D_4.jpg", 1),
    ]


def test_grocery(grocery):
    found = both(block("grocery", 2, 6, 2), grocery)
    assert found["train"].class_names == ["Pink-Lady", "Oat-Milk"]
    assert Counter(name.split("/")[0] for name in found["train"].ids) == {"train": 4, "val": 2}
    assert Counter(found["train"].labels.tolist()) == {0: 3, 1: 3}
    assert [name.split("/")[0] for name in found["test"].ids] == ["test", "test"]


def test_sketchy_keeps_a_photo_in_one_split(sketchy):
    found = both(block("sketchy", 2, 16, 14), sketchy)
    photos = {split: {photo_id(name) for name in part.ids} for split, part in found.items()}
    # ant: 15 of 20 sketches are closest to 14. bee has two photos, so one goes to each side.
    assert photos["train"] == {"n01_10", "n01_12", "n01_7", "n02_1"}
    assert photos["test"] == {"n01_9", "n02_2"}
    assert not photos["train"] & photos["test"]
    assert len(set(found["train"].ids) | set(found["test"].ids)) == 30


def test_digits():
    params = block("digits", 10, 1258, 539)
    found = both(params, "")
    assert not set(found["train"].ids) & set(found["test"].ids)
    for part in found.values():
        assert [name.split("/")[0] for name in part.ids] == [str(label) for label in part.labels]
    share = np.bincount(found["train"].labels) / np.bincount(
        np.concatenate([part.labels for part in found.values()])
    )
    np.testing.assert_allclose(share, 0.7, atol=0.004)
    values = {value for i in range(20) for value in np.asarray(found["train"].image(i)).ravel()}
    assert min(values) == 0 and max(values) == 255


@pytest.mark.parametrize(
    ("layout", "params"),
    [
        ("folders", block("folders", 2, 4, 2)),
        ("cub", block("cub", 2, 2, 2)),
        ("grocery", block("grocery", 2, 6, 2)),
        ("sketchy", block("sketchy", 2, 16, 14)),
    ],
)
def test_an_archive_is_as_good_as_a_folder(request, monkeypatch, layout, params):
    root = request.getfixturevalue(layout)
    before = both(params, root)
    pixels = {
        s: [np.asarray(part.image(i)) for i in range(len(part.ids))] for s, part in before.items()
    }
    monkeypatch.setenv("SPARCL_DATA", str(pack(root)))
    after = both(params, "")
    for split, part in after.items():
        assert ids_and_labels(part) == ids_and_labels(before[split])
        for i, expected in enumerate(pixels[split]):
            np.testing.assert_array_equal(np.asarray(part.image(i)), expected)
    assert [p.name for p in root.iterdir()] == ["set.tar"], "reading an archive unpacks nothing"


def test_missing_images_name_every_way_to_give_them(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARCL_DATA", raising=False)
    bundled = block("folders", 1, 1, 1) | {"features": "bundle"}
    every_way = r"set/ \(a folder\) or set\.tar.*SPARCL_DATA.*image_root.*bundle"
    with pytest.raises(DatasetError, match=f"nothing says where.*{every_way}"):
        both(bundled, "")
    with pytest.raises(DatasetError, match=f"exists.*{every_way}"):
        both(bundled, tmp_path)


def test_unknown_reader_and_split(folders):
    with pytest.raises(ConfigError, match="allowed: folders, classes, folder, cifar-100, cub"):
        datasets.open_split("toy", block("webdataset", 1, 1, 1), "train", str(folders))
    with pytest.raises(ConfigError, match="'val'"):
        datasets.open_split("toy", block("folders", 2, 4, 2), "val", str(folders))


def test_incomplete_copies(folders):
    with pytest.raises(
        DatasetError, match=r"2 classes and \{'train': 4, 'test': 2\} images, and the settings"
    ):
        both(block("folders", 2, 5, 2), folders)
    with pytest.raises(DatasetError, match="2 classes"):
        both(block("folders", 3, 4, 2), folders)


def test_listed_images_that_are_missing(cub, request):
    (cub / "set" / "images" / "002.Auklet" / "C_3.jpg").unlink()
    with pytest.raises(
        DatasetError, match=r"layout of reader 'cub'.*C_3\.jpg of images\.txt is missing"
    ):
        both(block("cub", 2, 2, 2), cub)


def test_another_layout(folders, sketchy):
    with pytest.raises(DatasetError, match="not have the layout of reader 'sketchy'"):
        both(block("sketchy", 2, 1, 1), folders)
    with pytest.raises(DatasetError, match=r"classes\.txt.*missing|layout of reader 'cub'"):
        both(block("cub", 2, 1, 1), folders)


def test_damaged_image_names_the_file(folders):
    path = folders / "set" / "train" / "bee" / "1.png"
    path.write_bytes(path.read_bytes()[:60])
    split = both(block("folders", 2, 4, 2), folders)["train"]
    with pytest.raises(DatasetError, match=r"toy, train: cannot decode image 'train/bee/1\.png'"):
        split.image(3)


def test_a_format_that_no_suffix_stands_for_is_not_opened(folders):
    postscript = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n%%EndComments\n"
    for content in (
        postscript,
        b"P6\n1 1\n255\n\x00\x00\x00",
    ):  # for the first Pillow starts Ghostscript
        (folders / "set/train/ant/0.png").write_bytes(content)
        train = both(block("folders", 2, 4, 2), folders)["train"]
        with pytest.raises(DatasetError, match="the content is none of PNG, JPEG"):
            train.image(0)


def test_archive_members_outside_their_folder_or_no_files(folders):
    whole = (pack(folders) / "set.tar").read_bytes()
    outside = [(name, tarfile.REGTYPE) for name in ("../evil.png", "/evil.png", "set/../../e.png")]
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE)
    for name, kind in (*outside, *(("set/train/ant/9.png", kind) for kind in kinds)):
        (folders / "set.tar").write_bytes(whole)
        with tarfile.open(folders / "set.tar", "a") as tar:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "../../../secret"
            tar.addfile(member)
        with pytest.raises(DatasetError, match="is a link, a device or leads out of its folder"):
            both(block("folders", 2, 4, 2), folders)


def test_a_size_that_no_file_has(tmp_path):
    path = tmp_path / "set.tar"
    for size in (-1, -512, 10**12, 2**80):  # -512 leads back to its own header
        for name in ("set/a.png", "another/a.png"):
            header = bytearray(tarfile.TarInfo(name).tobuf(tarfile.USTAR_FORMAT))
            sign = b"\xff" if size < 0 else b"\x80"
            header[124:136] = sign + (size % 256**11).to_bytes(11, "big")
            header[148:156] = b" " * 8
            header[148:156] = b"%06o\0 " % sum(header)
            path.write_bytes(bytes(header) + bytes(1024))
            with pytest.raises(DatasetError, match=r"set\.tar: .*(size below zero|truncated)"):
                TarStorage(path, "set")


def test_a_header_that_claims_to_be_long_is_not_reserved(tmp_path):
    path = tmp_path / "set.tar"
    for kind in (b"x", b"g", b"L", b"K"):
        header = tarfile.TarInfo("set/a.png")
        header.type, header.size = kind, 2**33
        with open(path, "wb") as file:  # as long as it says, of nothing
            file.write(header.tobuf(tarfile.GNU_FORMAT))
            file.truncate(2**33 + 1024)
        with pytest.raises(DatasetError, match=f"a header of {2**33} bytes"):
            TarStorage(path, "set")


def test_headers_without_end(tmp_path):
    header = tarfile.TarInfo("././@LongLink")
    header.type = tarfile.GNUTYPE_LONGNAME
    path = tmp_path / "set.tar"
    path.write_bytes(header.tobuf(tarfile.GNU_FORMAT) * 3000)
    with pytest.raises(DatasetError, match="recursion"):
        TarStorage(path, "set")


def test_names_of_members_that_are_no_text(tmp_path):
    path = tmp_path / "set.tar"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT, encoding="latin-1") as tar:
        for name in ("set/ä.png", "set/line\nbreak.png", "set/b.png"):
            tar.addfile(tarfile.TarInfo(name))
    storage = TarStorage(path, "set")
    assert storage.names() == ["b.png"]
    assert storage.skipped == {
        "\\udce4.png": "the name is not UTF-8: rename it",
        "line\nbreak.png": "a line break in its name: rename it",
    }


def test_truncated_compressed_and_doubled_archives(folders):
    archive = pack(folders) / "set.tar"
    whole = archive.read_bytes()
    with tarfile.open(archive, "a") as tar:
        member = tarfile.TarInfo("set/train/ant/0.png")
        tar.addfile(member)
    with pytest.raises(DatasetError, match="occurs twice"):
        both(block("folders", 2, 4, 2), folders)
    archive.write_bytes(whole[:1700])
    with pytest.raises(DatasetError, match=r"truncated|found"):
        both(block("folders", 2, 4, 2), folders)
    with tarfile.open(archive, "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("set/train/ant/0.png"))
    with pytest.raises(DatasetError, match="not an uncompressed tar archive"):
        both(block("folders", 2, 4, 2), folders)
