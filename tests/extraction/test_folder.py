"""Anybody's own images: what lies in folders in the wild is read correctly, or listed with the reason."""

import io
import os
import shutil
import struct

import miniatures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageCms, ImageOps, TiffImagePlugin

from sparcl.base.errors import DatasetError
from study.images import datasets

SPLITS = ("train", "test")
WHITE = (255, 255, 255)


def put(path, image, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, **options)


def birds(root, **more):
    return {"reader": "folder", "root": str(root)} | more


@pytest.fixture
def root(tmp_path):
    """Two classes of five images."""
    for c, name in enumerate(("ant", "bee")):
        for i in range(5):
            miniatures.unpack(tmp_path / "set" / name, {f"{i}.jpg": miniatures.jpeg(10 * c + i)})
    return tmp_path / "set"


def both(block):
    return [datasets.open_split("mine", block, split) for split in ("train", "test")]


def one(root, name, block=None):
    """One image of the folder, decoded."""
    for part in both(block or birds(root)):
        if name in part.ids:
            return part.image(part.ids.index(name))
    raise KeyError(name)


def test_one_block_is_enough(root):
    train, test = both(birds(root))
    assert train.class_names == ["ant", "bee"]
    assert (len(train.ids), len(test.ids)) == (8, 2)  # a fifth of all, one of each class
    assert sorted(test.labels.tolist()) == [0, 1]
    assert len(train.split_sha256) == 64
    assert not set(train.ids) & set(test.ids)
    assert len(both(birds(root, test_share=0.5))[1].ids) == 5


def tree(root, *folders, number=2):
    """Write images into folders of a new data set, and return its block."""
    for folder in folders:
        names = {f"{i}.jpg": miniatures.jpeg(i) for i in range(number)}
        miniatures.unpack(root.parent / "tree" / folder, names)
    return birds(root.parent / "tree")


CLASSES = ("ant", "bee")
SPLIT_NAMES = {
    **dict.fromkeys(("train", "Train", "TRAIN", "training"), "train"),
    **dict.fromkeys(("val", "valid", "Validation", "dev"), "val"),
    **dict.fromkeys(("test", "Test", "testing"), "test"),
}
TOPS = st.dictionaries(
    st.sampled_from([*SPLIT_NAMES, *SPLIT_NAMES, "ant", "Art", "unlabelled"]),
    st.sampled_from([CLASSES, CLASSES, CLASSES, ()]),  # its class folders, or images without any
    min_size=1,
    max_size=4,
).filter(lambda tops: len({top.lower() for top in tops}) == len(tops))


def reading(tops, depth):
    """Say what the folders are: classes, for training, for testing; or why they may be several things."""
    held = {
        role: {t for t in tops if SPLIT_NAMES.get(t) == role} for role in ("train", "val", "test")
    }
    roles = [role for role in held if held[role]]
    others = set(tops).difference(*held.values())
    if others and len(roles) > 1:
        return "beside them are not"
    if others or not roles:
        return [*sorted(tops)] if depth or () in tops.values() else "all hold ant, bee"
    full = {role: {top for top in held[role] if tops[top]} for role in held}
    test = full["test"] or full["val"]
    if not (full["train"] and test):
        return "are names of splits"
    return [*CLASSES], full["train"] | (full["val"] - test), test


@given(TOPS, st.sampled_from([{}, {}, {"class_depth": 1}]), st.sampled_from(["folder", "classes"]))
def test_splits_and_domains_never_become_classes(tmp_path, tops, depth, reader):
    """A tree with names of splits is read as these, or refused; one whose folders all hold the same needs a key."""
    shutil.rmtree(tmp_path / "tree", ignore_errors=True)
    for top, below in tops.items():
        for folder in [tmp_path / "tree" / top / name for name in below or ("",)]:
            miniatures.unpack(folder, {f"{folder.parent.name}-{i}.jpg": b"" for i in range(4)})
    miniatures.unpack(tmp_path / "tree", {"logo.png": b""})
    block = birds(tmp_path / "tree", reader=reader, split="draw", **depth)
    expected = reading(tops, depth)
    if isinstance(expected, str):
        with pytest.raises(DatasetError, match=expected):
            both(block)
        return
    train, test = both(block)
    assert train.skipped["logo.png"] == "in no class folder"
    if isinstance(expected, list):
        assert train.class_names == test.class_names == expected
        return
    classes, *parts = expected
    assert train.class_names == test.class_names == classes
    for part, folders in zip((train, test), parts, strict=True):
        names = {
            f"{top}/{name}/{top}-{i}.jpg" for top in folders for name in CLASSES for i in range(4)
        }
        assert {*part.ids} == names if reader == "folder" else len(part.ids) == len(names)


def test_domains_never_become_classes(root):
    """Both readings of Office-Home and CORe50 are named, and a key chooses."""
    homes = [f"{domain}/{name}" for domain in ("Art", "Clipart") for name in ("Bed", "Fan", "Pen")]
    block = tree(root, *homes, "Art/Mug", number=5)  # one class is not in all
    said = "Art, Clipart all hold Bed, Fan, Pen: .*`class_depth: 1` or `class_depth: 2`.*`domains`"
    with pytest.raises(DatasetError, match=said):
        both(block)
    train, test = both(block | {"class_depth": 2})
    assert train.class_names == ["Bed", "Fan", "Mug", "Pen"]
    assert len(train.ids + test.ids) == 35 and "Art/Bed/0.jpg" in train.ids + test.ids
    art = both(block | {"class_depth": 2, "domains": ["Clipart"]})
    assert art[0].class_names == ["Bed", "Fan", "Pen"]
    assert {i.split("/")[0] for part in art for i in part.ids} == {"Clipart"}
    with pytest.raises(DatasetError, match="domain Photo has no image, but Art, Clipart have"):
        both(block | {"class_depth": 2, "domains": ["Photo"]})
    assert both(block | {"class_depth": 1})[0].class_names == ["Art", "Clipart"]
    shutil.rmtree(root.parent / "tree")
    below = [f"{split}/{home}" for split in ("train", "test") for home in homes]
    block = tree(root, *below)
    with pytest.raises(DatasetError, match="Art, Clipart all hold Bed, Fan, Pen"):
        both(block)
    train, test = both(block | {"class_depth": 2, "class_list": ["Bed", "Pen"], "domains": ["Art"]})
    assert test.ids == [f"test/Art/{name}/{i}.jpg" for name in ("Bed", "Pen") for i in range(2)]
    assert train.class_names == ["Bed", "Pen"] and len(train.ids) == 4
    one = tree(root.parent, "birds/ant", "birds/bee")
    with pytest.raises(DatasetError, match=r"birds all hold ant, bee.*as `root`"):
        both(one)


def test_a_class_list_keeps_folders_within_classes(root):
    for part in ("2023", "2024"):
        miniatures.unpack(root / "ant" / part, {"0.jpg": miniatures.jpeg(0)})
    ids = [i for part in both(birds(root, class_list=["ant"])) for i in part.ids]
    assert len(ids) == 7 and "ant/2023/0.jpg" in ids


def test_same_file_names_in_two_classes_and_deeper_folders(root):
    miniatures.unpack(root / "ant" / "2024" / "may", {"0.jpg": miniatures.jpeg(0)})
    ids = [i for part in both(birds(root)) for i in part.ids]
    assert len(set(ids)) == len(ids) == 11
    assert {"ant/0.jpg", "bee/0.jpg", "ant/2024/may/0.jpg"} <= set(ids)


def test_unicode_spaces_and_very_long_names(root):
    long = "é" * 120 + ".jpg"  # 244 bytes; a file system takes 255
    names = {long: 1, "鳥 の 写真.jpg": 2, "a'b\"c,d;e.JPG": 3, "🐦.jpeg": 4}
    miniatures.unpack(root / "Größe 鳥", {n: miniatures.jpeg(i) for n, i in names.items()})
    parts = both(birds(root))
    assert parts[0].class_names == ["Größe 鳥", "ant", "bee"]
    ids = {i for part in parts for i in part.ids}
    assert {f"Größe 鳥/{name}" for name in names} <= ids


def test_names_that_are_no_text(root):
    bad = os.path.join(os.fsencode(root), b"ant", b"\xff\xfe.jpg")
    with open(bad, "wb") as file:
        file.write(miniatures.jpeg(0))
    miniatures.unpack(root / "bee", {"line\nbreak.jpg": miniatures.jpeg(0)})
    skipped = both(birds(root))[0].skipped
    assert skipped == {
        "ant/\\udcff\\udcfe.jpg": "the name is not UTF-8: rename it",
        "bee/line\nbreak.jpg": "a line break in its name: rename it",
    }


def test_links(root):
    (root.parent / "far").mkdir()
    miniatures.unpack(
        root.parent / "far", {"cat/0.jpg": miniatures.jpeg(0), "cat/1.jpg": miniatures.jpeg(1)}
    )
    (root / "cat").symlink_to(root.parent / "far" / "cat")
    (root / "ant" / "loop").symlink_to(root)
    (root / "ant" / "self.jpg").symlink_to(root / "ant" / "self.jpg")
    (root / "bee" / "gone.jpg").symlink_to(root / "nowhere.jpg")
    (root / "bee" / "linked.jpg").symlink_to(root / "ant" / "0.jpg")
    os.mkfifo(root / "bee" / "pipe.jpg")
    parts = both(birds(root))
    assert parts[0].class_names == ["ant", "bee", "cat"]
    assert "bee/linked.jpg" in {i for part in parts for i in part.ids}
    skipped = parts[0].skipped
    assert skipped["ant/loop"] == "a link into a folder above it"
    assert "leads nowhere" in skipped["ant/self.jpg"] and "leads nowhere" in skipped["bee/gone.jpg"]
    assert skipped["bee/pipe.jpg"] == "neither a file nor a folder"
    assert len(skipped) == 4


def test_files_that_are_no_images_are_listed(root):
    junk = {"ant/notes.txt": b"x", "cow/notes.txt": b"x", "readme.md": b"x"}
    miniatures.unpack(root, junk | {"top.jpg": miniatures.jpeg(0)})
    (root / "dog").mkdir()
    assert both(birds(root))[0].skipped == {
        **dict.fromkeys(junk, "no image by its name"),
        "cow/": "a class folder without images",
        "dog/": "an empty folder",
        "top.jpg": "in no class folder",
    }


HIDDEN = ["ant/._0.jpg", "ant/.DS_Store", "ant/Thumbs.db", ".ipynb_checkpoints/0.jpg"]
HIDDEN += [
    "ant/.ipynb_checkpoints/0-checkpoint.jpg",
    "__MACOSX/ant/._0.jpg",
    "bee/@eaDir/0.jpg/t.jpg",
]


@pytest.mark.parametrize("reader", ["folder", "classes"])
@pytest.mark.parametrize("packed", [False, True])
def test_hidden_and_system_entries_are_neither_classes_nor_samples(root, reader, packed):
    block = {"reader": reader, "folder": "set", "archive": "set.tar", "split": "draw"}
    before = [datasets.open_split("m", block, part, str(root.parent)).ids for part in SPLITS]
    miniatures.unpack(root, dict.fromkeys(HIDDEN, miniatures.jpeg(0)))
    if packed:
        names = {p.relative_to(root).as_posix(): p for p in root.rglob("*") if p.is_file()}
        content = {name: path.read_bytes() for name, path in names.items()}
        miniatures.pack(root.parent / "packed" / "set.tar", "set", content)
    place = root.parent / "packed" if packed else root.parent
    parts = [datasets.open_split("m", block, part, str(place)) for part in SPLITS]
    assert parts[0].class_names == ["ant", "bee"]
    assert [part.ids for part in parts] == before
    assert parts[0].skipped == dict.fromkeys(HIDDEN, "hidden, or a system's own")


def test_hidden_entries_of_the_layouts_of_publishers(root):
    """Of the bundled sets' readers, those that go by names and not by a list."""
    for part in ("train", "test"):
        miniatures.unpack(root.parent / "split" / part / "ant", {"0.jpg": miniatures.jpeg(0)})
    junk = [
        "train/.ipynb_checkpoints/0.jpg",
        "train/ant/._0.jpg",
        "test/ant/.ipynb_checkpoints/0.jpg",
    ]
    miniatures.unpack(root.parent / "split", dict.fromkeys(junk, miniatures.jpeg(0)))
    train, test = both({"reader": "folders", "root": str(root.parent / "split")})
    assert (train.ids, test.ids) == (["train/ant/0.jpg"], ["test/ant/0.jpg"])
    names = {f"cat/n01_{photo}-{k}.png": b"" for photo in (1, 2) for k in (1, 2)}
    miniatures.unpack(
        root.parent / "sketches", names | {"cat/._n01_1-1.png": b"", ".x/n_1-1.png": b""}
    )
    train, test = both({"reader": "sketchy", "root": str(root.parent / "sketches")})
    assert train.class_names == ["cat"] and len(train.ids) + len(test.ids) == 4


def test_formats_that_are_known_and_not_read_never_vanish(root):
    phone = {"bee/IMG_1.HEIC": b"x", "bee/2.avif": b"x", "cat/3.heic": b"x"}
    miniatures.unpack(root, phone | {"bee/._IMG_1.HEIC": b"x"})
    said = (
        r"3 files are images of a format that is not read here, first 'bee/2\.avif'.*on_bad_image"
    )
    with pytest.raises(DatasetError, match=said):
        both(birds(root))
    skipped = both(birds(root, on_bad_image="skip"))[0].skipped
    why = "an image of a format that is not read here"
    assert {name for name, reason in skipped.items() if reason == why} == set(phone)
    assert skipped["cat/"] == "a class folder without images"


def test_what_is_left_out_is_said_when_the_split_is_drawn(root, caplog):
    miniatures.unpack(root, {"top.jpg": miniatures.jpeg(0), "ant/._0.jpg": b"x"})
    (root / "dog").mkdir()
    datasets.find_split("mine", birds(root))
    assert [record.getMessage() for record in caplog.records] == [
        "mine: left out, an empty folder: 1, first 'dog/'.",
        "mine: left out, in no class folder: 1, first 'top.jpg'.",
    ]


def test_a_class_with_too_few_images_stops_in_the_split_by_its_name(root):
    miniatures.unpack(root, {"cat/0.jpg": miniatures.jpeg(0)})
    with pytest.raises(DatasetError, match=r"mine: a single image in cat, and"):
        datasets.find_split("mine", birds(root))
    for number in range(6):
        miniatures.unpack(root, {f"x{number}/0.jpg": miniatures.jpeg(0)})
    with pytest.raises(DatasetError, match=r"cat, x0, x1, x2, x3 and 2 more, and"):
        datasets.find_split("mine", birds(root))


def test_a_class_without_an_image_in_one_of_two_folders(root):
    for name in ("train/ant/0", "train/bee/0", "test/ant/0"):
        miniatures.unpack(root.parent / "split", {f"{name}.jpg": miniatures.jpeg(0)})
    with pytest.raises(DatasetError, match="no test image of bee"):
        both(birds(root.parent / "split"))


def test_the_default_share_yields_to_one_image_of_each_class(root):
    for name in ("cat", "dog", "eel"):
        miniatures.unpack(root, {f"{name}/{i}.jpg": miniatures.jpeg(i) for i in range(2)})
    # sixteen images in five classes: a fifth of them is three
    assert sorted(both(birds(root))[1].labels.tolist()) == [0, 1, 2, 3, 4]
    with pytest.raises(DatasetError, match=r"3 test images cannot .* 5 to 11 .*`test_share`"):
        both(birds(root, test_share=0.2))


def test_every_orientation_and_tags_that_cannot_be_written_again(root):
    """Pillow 11.0 turns no image with a rational 1/0 among its tags."""
    stored = Image.fromarray(np.random.default_rng(0).integers(0, 256, (6, 9, 3), dtype=np.uint8))
    for turn in range(1, 9):
        exif = Image.Exif()
        exif[0x0112], exif[0x011A] = turn, TiffImagePlugin.IFDRational(7, 9)
        tags = exif.tobytes().replace(struct.pack(">II", 7, 9), struct.pack(">II", 1, 0))
        assert struct.pack(">II", 1, 0) in tags
        put(root / "ant" / "turned.png", stored, exif=tags)
        plain = Image.Exif()
        plain[0x0112] = turn
        viewed = stored.copy()
        viewed.info["exif"] = plain.tobytes()
        expected = ImageOps.exif_transpose(viewed)
        np.testing.assert_array_equal(one(root, "ant/turned.png"), expected, err_msg=str(turn))


def test_sixteen_bits_are_scaled_not_cut(root):
    ramp = np.linspace(0, 65535, 64).astype(np.uint16).reshape(8, 8)
    put(root / "ant" / "deep.png", Image.fromarray(ramp))
    put(root / "ant" / "deep.tif", Image.fromarray(ramp))
    for name in ("ant/deep.png", "ant/deep.tif"):
        values = np.asarray(one(root, name))
        assert values.shape == (8, 8, 3)
        np.testing.assert_allclose(values[..., 0], ramp / 257, atol=0.5)


PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
GREEN = Image.new("RGB", (9, 9), (10, 200, 30))
# A file, its image, how it is saved, the colour that a viewer shows, and how much a JPEG may differ from it.
COLOURS = (
    ("print.jpg", Image.new("CMYK", (9, 9), (0, 255, 255, 0)), {"quality": 95}, (255, 0, 0), 12),
    ("icc.jpg", GREEN, {"icc_profile": PROFILE}, (10, 200, 30), 8),
    ("p.png", GREEN.quantize(4), {}, (10, 200, 30), 0),
    ("p.gif", GREEN.quantize(4), {}, (10, 200, 30), 0),
    ("grey.png", Image.new("L", (9, 9), 77), {}, (77, 77, 77), 0),
    ("bit.png", Image.new("1", (9, 9), 1), {}, WHITE, 0),
    ("clear.png", Image.new("RGBA", (9, 9), (0, 0, 0, 0)), {}, WHITE, 0),
    ("half.png", Image.new("RGBA", (9, 9), (0, 0, 0, 128)), {}, (127, 127, 127), 0),
    ("entry.png", Image.new("P", (9, 9), 0), {"transparency": 0}, WHITE, 0),
    ("la.png", Image.new("LA", (9, 9), (0, 0)), {}, WHITE, 0),
)


def test_colours_are_those_of_a_viewer_on_white(root):
    for name, stored, options, _, _ in COLOURS:
        put(root / "ant" / name, stored, **options)
    for name, _, _, colour, most in COLOURS:
        image = one(root, f"ant/{name}")
        assert image.mode == "RGB", name
        np.testing.assert_allclose(image.getpixel((3, 3)), colour, atol=most, err_msg=name)


def tiff(pixels):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="tiff")
    return stream.getvalue()


ODD = {
    "zero.jpg": (b"", "the file is empty"),
    "text.jpg": (b"<html>not found</html>", "the content is none of PNG, JPEG"),
    "cut.jpg": (miniatures.jpeg(0, (300, 200))[:1500], "truncated"),
    "float.tif": (tiff(np.ones((8, 8), dtype=np.float32)), "floating-point pixels"),
    "wide.tif": (tiff(np.full((8, 8), 70000, dtype=np.int32)), "more than 16 bits"),
}


def test_files_that_cannot_be_read(root):
    for name, (content, reason) in ODD.items():
        miniatures.unpack(root / "ant", {name: content})
        said = rf"cannot decode image 'ant/{name}' \(.*{reason}.*on_bad_image: skip"
        with pytest.raises(DatasetError, match=said):
            one(root, f"ant/{name}")
    faults = {i: p.fault(k) for p in both(birds(root)) for k, i in enumerate(p.ids)}
    assert {name for name, why in faults.items() if why} == {f"ant/{name}" for name in ODD}


def test_missing_folders(root):
    with pytest.raises(DatasetError, match=r"no .*none exists\. Correct `datasets\.mine\.root`"):
        both(birds(root / "none"))
    (root.parent / "empty").mkdir()
    with pytest.raises(DatasetError, match="no image lies in a folder"):
        both(birds(root.parent / "empty"))


def test_new_images_are_noticed(root):
    before = datasets.folder_stamp(birds(root))
    assert datasets.folder_stamp(birds(root)) == before != ""
    miniatures.unpack(root / "ant", {"new.jpg": miniatures.jpeg(77)})
    after = datasets.folder_stamp(birds(root))
    assert after != before
    (root / "ant" / "new.jpg").write_bytes(miniatures.jpeg(78, (41, 31)))
    assert datasets.folder_stamp(birds(root)) != after
    assert datasets.folder_stamp({"reader": "cub", "root": str(root)}) == ""
    assert datasets.folder_stamp(birds(root / "none")) == ""


def test_new_images_are_noticed_wherever_the_folder_is_named(root, monkeypatch):
    place = str(root.parent)
    for number, (root_of, variable) in enumerate(((place, ""), ("", place))):
        monkeypatch.setenv("SPARCL_DATA", variable)
        named = {"reader": "folder", "folder": "set"}, root_of
        before = datasets.folder_stamp(*named)
        assert before == datasets.folder_stamp(birds(root)) != ""
        miniatures.unpack(root / "ant", {f"new-{number}.jpg": miniatures.jpeg(77)})
        assert datasets.folder_stamp(*named) != before


def test_content_that_no_suffix_stands_for_starts_no_decoder(root, monkeypatch):
    """Pillow would start Ghostscript on the first."""
    from PIL import EpsImagePlugin

    started = []
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *a, **k: started.append(a))
    block = birds(root)
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n%%EOF\n"
    (root / "ant/0.png").write_bytes(eps)
    assert Image.open(io.BytesIO(eps)).format == "EPS"
    Image.new("RGB", (8, 8)).save(root / "ant/1.png", format="ppm")
    Image.new("RGB", (8, 8), "red").save(root / "ant/2.png", format="jpeg")  # as some of ImageNet's
    for part in both(block):
        for index, name in enumerate(part.files):
            if name in ("ant/0.png", "ant/1.png"):
                with pytest.raises(DatasetError, match="the content is none of PNG, JPEG"):
                    part.image(index)
            else:
                part.image(index)
    assert not started
