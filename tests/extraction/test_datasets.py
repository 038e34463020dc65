"""Readers of data sets, each on a miniature of its exact layout, as a folder and as an archive."""

import shutil
import tarfile

import miniatures
import numpy as np
import pytest

from sparcl.base.errors import DatasetError
from study.images import datasets
from study.images.archive import TarStorage


def text(*lines):
    return "".join(f"{line}\n" for line in lines).encode()


def named(split, number):
    """Images of Grocery Store: so many of an apple and of milk, and the lines that list them."""
    paths = ("Fruit/Apple/Pink-Lady/Pink-Lady", "Packages/Milk/Oat-Milk")
    return {
        f"{split}/{path}_{i:03d}.jpg": f"{split}/{path}_{i:03d}.jpg, {label}, {label}"
        for label, path in enumerate(paths)
        for i in range(number)
    }


PHOTOS = dict.fromkeys(("ant/n01_10", "ant/n01_12", "ant/n01_7", "ant/n01_9"), 5)
PHOTOS |= {"bee/n02_1": 1, "bee/n02_2": 9}
SKETCHES = [f"{photo}-{k}.png" for photo, number in PHOTOS.items() for k in range(1, number + 1)]
TRAIN, VAL, TEST = (named(split, n) for split, n in (("train", 2), ("val", 1), ("test", 1)))
# Of each reader: images, the publisher's lists, class names, and the ids for training and for testing.
LAYOUTS = {
    "folders": (
        [f"{split}/{name}/{i}.png" for split in ("train", "test") for name in ("bee", "ant")
         for i in range(2 if split == "train" else 1)],
        {"train/ant/notes.txt": b"not an image"},
        ["ant", "bee"],
        ["train/ant/0.png", "train/ant/1.png", "train/bee/0.png", "train/bee/1.png"],
        ["test/ant/0.png", "test/bee/0.png"],
    ),
    "cub": (
        ["images/001.Albatross/B_2.jpg", "images/001.Albatross/A_1.jpg",
         "images/002.Auklet/C_3.jpg", "images/002.Auklet/D_4.jpg"],
        {
            "images.txt": text("1 001.Albatross/B_2.jpg", "2 001.Albatross/A_1.jpg",
                               "3 002.Auklet/C_3.jpg", "4 002.Auklet/D_4.jpg"),
            "classes.txt": text("1 001.Albatross", "2 002.Auklet"),
            "image_class_labels.txt": text("1 1", "2 1", "3 2", "4 2"),
            "train_test_split.txt": text("1 0", "2 1", "3 1", "4 0"),
        },
        ["001.Albatross", "002.Auklet"],
        ["images/001.Albatross/A_1.jpg", "images/002.Auklet/C_3.jpg"],
        ["images/001.Albatross/B_2.jpg", "images/002.Auklet/D_4.jpg"],
    ),
    "grocery": (
        [*TRAIN, *VAL, *TEST],
        {
            "classes.csv": b"Class Name (str),Class ID (int),Coarse Class Name (str),Coarse Class ID (int)\r\n"
            b"Pink-Lady,0,Apple,0\r\nOat-Milk,1,Milk,1",
            **{f"{split}.txt": text(*lines.values())
               for split, lines in (("train", TRAIN), ("val", VAL), ("test", TEST))},
        },
        ["Pink-Lady", "Oat-Milk"],
        [*TRAIN, *VAL],
        [*TEST],
    ),
    # Of the ants, 15 of 20 sketches are closest to 14. Of bees there are two photos: one goes to each side.
    "sketchy": (
        [*SKETCHES],
        {},
        ["ant", "bee"],
        [name for name in SKETCHES if "/n01_9" not in name and "/n02_2" not in name],
        [name for name in SKETCHES if "/n01_9" in name or "/n02_2" in name],
    ),
}  # fmt: skip


def block(reader, classes, train, test):
    counts = {"train": train, "test": test}
    files = {"folder": "set", "archive": "set.tar"}
    return {"reader": reader, **files, "classes": classes, "counts": counts}


FOLDERS = block("folders", 2, 4, 2)


def both(params, root):
    return {
        split: datasets.open_split("toy", params, split, str(root)) for split in ("train", "test")
    }


def unpack(root, reader):
    """Write the files of a layout into the folder ``set``."""
    names, lists, *_ = LAYOUTS[reader]
    images = {name: miniatures.jpeg(seed, (8, 8)) for seed, name in enumerate(names)}
    miniatures.unpack(root / "set", images | lists)
    return root


@pytest.fixture
def folders(tmp_path):
    return unpack(tmp_path, "folders")


def pack(root):
    """The same files as an archive, and the folder gone."""
    with tarfile.open(root / "set.tar", "w") as tar:
        tar.add(root / "set", "set")
    shutil.rmtree(root / "set")
    return root


@pytest.mark.parametrize("reader", LAYOUTS)
def test_a_layout_as_a_folder_and_as_an_archive(reader, tmp_path, monkeypatch):
    images, _, names, *expected = LAYOUTS[reader]
    sizes = [len(ids) for ids in expected]
    params, root = block(reader, 2, *sizes), unpack(tmp_path, reader)
    before = both(params, root)
    pixels = {s: [np.asarray(p.image(i)) for i in range(len(p.ids))] for s, p in before.items()}
    monkeypatch.setenv("SPARCL_DATA", str(pack(root)))
    after = both(params, "")
    assert sum(sizes) == len(images)
    for (split, part), wanted in zip(before.items(), expected, strict=True):
        assert part.class_names == after[split].class_names == names
        assert part.ids == wanted
        assert all(names[k] in name for k, name in zip(part.labels, wanted, strict=True))
        assert after[split].ids == part.ids
        assert after[split].labels.tolist() == part.labels.tolist()
        for i, image in enumerate(pixels[split]):
            assert image.shape == (8, 8, 3)
            np.testing.assert_array_equal(after[split].image(i), image)
    assert [p.name for p in root.iterdir()] == ["set.tar"], "reading an archive unpacks nothing"


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


def test_missing_images_name_every_way_to_give_them(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARCL_DATA", raising=False)
    bundled = FOLDERS | {"features": "bundle"}
    every_way = r"set/ \(a folder\) or set\.tar.*SPARCL_DATA.*image_root.*bundle"
    with pytest.raises(DatasetError, match=f"nothing says where.*{every_way}"):
        both(bundled, "")
    with pytest.raises(DatasetError, match=f"exists.*{every_way}"):
        both(bundled, tmp_path)


def test_what_does_not_fit_its_block(folders, tmp_path):
    unpack(tmp_path / "birds", "cub")
    unpack(tmp_path / "sketches", "sketchy")
    (tmp_path / "birds/set/images/002.Auklet/C_3.jpg").unlink()
    damaged = folders / "set/train/bee/1.png"
    for params, place, said in (
        (
            *(block("folders", 2, 5, 2), folders),
            r"2 classes and \{'train': 4, 'test': 2\} images, and the settings",
        ),
        (block("folders", 3, 4, 2), folders, "2 classes"),
        (
            *(block("cub", 2, 2, 2), tmp_path / "birds"),
            r"layout of reader 'cub'.*C_3\.jpg of images\.txt is missing",
        ),
        (block("sketchy", 2, 1, 1), folders, "not have the layout of reader 'sketch"),
        (
            *(block("cub", 2, 1, 1), tmp_path / "sketches"),
            r"classes\.txt.*missing|layout of reader 'cub'",
        ),
    ):
        with pytest.raises(DatasetError, match=said):
            both(params, place)
    damaged.write_bytes(damaged.read_bytes()[:60])
    with pytest.raises(DatasetError, match=r"toy, train: cannot decode image 'train/bee/1\.png'"):
        both(FOLDERS, folders)["train"].image(3)


def test_a_table_that_is_none(tmp_path):
    table = unpack(tmp_path, "grocery") / "set/classes.csv"
    for damaged in (b"a,b,c\n0\r1,2,3\n", b"\xff", b"a,b,c\nx,y,z\n", b"a\nx\n"):
        table.write_bytes(damaged)
        with pytest.raises(DatasetError, match="not have the layout of reader 'grocery'"):
            both(block("grocery", 2, 6, 2), tmp_path)


def test_a_label_without_a_class(tmp_path):
    for reader, name, line in (
        ("grocery", "train.txt", ", {}, 0"),
        ("cub", "image_class_labels.txt", "1 {}\n"),
    ):
        path = unpack(tmp_path / reader, reader) / "set" / name
        whole = path.read_text()
        good = line.format(1 if reader == "cub" else 0)
        for label in ("1" * 30, "-5", "7"):
            path.write_text(whole.replace(good, line.format(label), 1))
            with pytest.raises(DatasetError, match=rf"reader '{reader}' .* is of class .*0\.\.1"):
                both(block(reader, 2, 6 if reader == "grocery" else 2, 2), tmp_path / reader)


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
            both(FOLDERS, folders)


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
        both(FOLDERS, folders)
    archive.write_bytes(whole[:1700])
    with pytest.raises(DatasetError, match=r"truncated|found"):
        both(FOLDERS, folders)
    with tarfile.open(archive, "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("set/train/ant/0.png"))
    with pytest.raises(DatasetError, match="not an uncompressed tar archive"):
        both(FOLDERS, folders)
