"""A saved model says what is in images and learns more of them, as extraction and `predict` or `fit` would do."""

import csv
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Refused
from own_data import write_network
from PIL import Image

import sparcl
from sparcl.app import pictures
from sparcl.app.cli import main
from sparcl.app.model import Model
from sparcl.base.errors import InputError, WeightsError
from sparcl.base.npz import read_npz, write_npz
from sparcl.extraction import networks
from sparcl.features import store
from study.images.extract import extract_split, recorded

CLASSES = ("ant", "bee", "cat")
SEEN = {"size": 32, "interpolation": "bicubic", "mean": [0.5] * 3, "std": [0.5] * 3}
EXTRACTION = {
    **{"image_root": "", "cache": "", "device": "cpu", "dtype": "float16", "precision": "float32"},
    **{"batch_size": 4, "threads": 2, "workers": 1},
}
ACIL = ["fit", "--method", "acil", "--set", "ridge=0.1"]


def draw(folder: Path, hue: int, number: int = 10) -> None:
    """Write images of noise around a colour, one of them turned by EXIF, which a viewer undoes."""
    folder.mkdir(parents=True)
    for i in range(number):
        rng = np.random.default_rng([hue, i])
        pixels = (rng.integers(0, 90, (40, 32, 3)) + np.roll([150, 60, 0], hue)).astype(np.uint8)
        exif = Image.Exif()
        exif[0x0112] = 6 if i == 1 else 1
        Image.fromarray(pixels).save(folder / f"{i}.jpg", exif=exif)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with images, their features, models of these, and the cache that holds the network's weights."""
    root = tmp_path_factory.mktemp("label")
    for hue, name in enumerate(CLASSES):
        draw(root / "set" / name, hue)
    draw(root / "new/dog", 4)
    digest = write_network(root / "net.pth")
    cached = root / "cache/weights" / digest / "net.pth"
    cached.parent.mkdir(parents=True)
    shutil.copy(root / "net.pth", cached)
    pins = {"sha256": digest, "keys": "name"}
    wheel = {"source": "wheel", "package": "none", "version": "1", "wheel_sha256": "0" * 64}
    wheel |= {"member": "none/net.pth", "bytes": cached.stat().st_size}
    sources = {"wheel": wheel, "file": {"source": "file", "path": str(root / "net.pth")}}
    for name, source in sources.items():
        block = {"timm_id": "test_efficientnet", "weights": source | pins} | SEEN
        for split in ("train", "test"):
            job = "mine", {"reader": "folder", "root": str(root / "set")}, "net", block, split
            cache = {"cache": str(root / "cache")}
            extract_split(root / f"{name}-{split}.h5", *job, EXTRACTION | cache)
        files = ["--features", str(root / f"{name}-train.h5"), "--out", str(root / f"{name}.npz")]
        assert main([*ACIL, *files]) == 0
    return root


@pytest.fixture
def place(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy."""
    shutil.copytree(made, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("SPARCL_CACHE", str(tmp_path / "work/cache"))
    monkeypatch.setattr(pictures, "THREADS", 2)
    return tmp_path / "work"


def rows(path: str) -> dict[str, dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def learner_of(path: str) -> dict[str, Any]:
    """Return the arrays of a saved model without its card and its list of samples."""
    return {k: v for k, v in read_npz(path).items() if k not in ("card", "samples", "extracted")}


@pytest.mark.usefixtures("place")
def test_an_image_has_the_label_and_score_of_extraction_and_predict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["predict", "wheel.npz", "--features", "wheel-test.h5", "--out", "p.csv"]) == 0
    wanted = rows("p.csv")
    paths = [f"set/{identifier}" for identifier in wanted]
    found = sparcl.load("wheel.npz").label(paths)
    assert found.paths == paths and found.unreadable == {}
    assert found.labels.tolist() == [row["label"] for row in wanted.values()]
    assert len({*found.labels.tolist()}) == 3
    scores = [[float(row[f"score:{name}"]) for name in CLASSES] for row in wanted.values()]
    np.testing.assert_allclose(found.scores, scores, atol=1e-14)  # features alike to the bit
    alone = sparcl.load("wheel.npz").label(Path(paths[1]))
    np.testing.assert_allclose(alone.scores[0], scores[1], atol=2e-3)

    assert main(["label", "wheel.npz", "set", "--csv", "l.csv"]) == 0
    assert capsys.readouterr().out.endswith("l.csv: labels and scores of 30 images\n")
    table = rows("l.csv")
    assert [*table] == sorted(f"{name}/{i}.jpg" for name in CLASSES for i in range(10))
    assert all(row["file"] == f"set/{identifier}" for identifier, row in table.items())
    assert {i: table[i]["label"] for i in wanted} == {i: row["label"] for i, row in wanted.items()}
    assert [*next(iter(table.values()))] == [*next(iter(wanted.values()))]


def test_the_terminal_shows_the_best_and_what_could_not_be_read(
    place: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    (place / "set/ant/bad.png").write_bytes(b"no image")
    (place / "set/ant/phone.heic").write_bytes(b"")
    (place / "set/ant/notes.txt").write_text("no image by its name")
    assert main(["label", "wheel.npz", "typo.jpg", "set/ant", "--top", "2"]) == 1
    said = capsys.readouterr()
    head, *lines = said.out.splitlines()
    assert head.split() == ["image", "label", "score"] and len(lines) == 20
    found = sparcl.load("wheel.npz").label(["set/ant"])
    best = np.argsort(-found.scores, axis=1)[:, :2]
    for i, (first, second) in enumerate(zip(lines[::2], lines[1::2], strict=True)):
        (one, two), scores = found.class_names[best[i]], np.sort(found.scores[i])[:-3:-1]
        assert first.split() == [f"set/ant/{i}.jpg", one, f"{scores[0]:#.4g}"]
        assert second.split() == [two, f"{scores[1]:#.4g}"]
    assert caplog.messages == [
        "typo.jpg: cannot be read (no such image or folder)",
        "set/ant/phone.heic: cannot be read (an image of a format that is not read here)",
        "set/ant/bad.png: cannot be read (the content is none of PNG, JPEG, WEBP, BMP, GIF, TIFF)",
    ]
    assert said.err == "SkippedError: 3 of 13 images could not be read and got no label.\n"
    assert {*found.unreadable} == {"set/ant/phone.heic", "set/ant/bad.png"}
    assert main(["label", "wheel.npz", "typo.jpg"]) == 1
    assert capsys.readouterr().out == ""
    Path("empty").mkdir()
    assert main(["label", "wheel.npz", "empty"]) == 2
    assert "empty: no image lies there" in capsys.readouterr().err


def test_what_a_model_does_not_know_is_named(place: Path, refused: Refused) -> None:
    train = store.read("wheel-train.h5")
    np.save("X.npy", train.features)
    np.save("y.npy", train.labels)
    assert main(["import", "--features", "X.npy", "--labels", "y.npy", "--out", "own/net"]) == 0
    assert main([*ACIL, "--features", "own/net/train.h5", "--out", "own.npz"]) == 0
    old = {k: v for k, v in read_npz("wheel.npz").items() if k != "extracted"}
    write_npz("old.npz", old)
    assert np.array_equal(
        Model.load("old.npz").predict(train.features[:3]), train_labels(train)[:3]
    )
    fetched = "where its weights are and how they are read (extraction.network)"
    cases = {
        "own.npz": [
            *("the network (timm_id)", "its weights (weights_sha256)"),
            *("the preprocessing of images (size, crop, interpolation, mean, std)", fetched),
        ],
        "old.npz": [fetched],
    }
    for name, missing in cases.items():
        said = refused("label", name, "set")
        assert f"do not say {'; '.join(missing)}. Usual" in said
        assert refused("learn", name, "new", "--out", "made.npz") == said
    with pytest.raises(InputError, match="learned nothing yet"):
        Model.build("acil", {}, True).label("set")
    # the path of somebody's own weights is in no feature file and no model
    model = Model.load("file.npz")
    with pytest.raises(InputError, match=r"do not keep where it lies\. Name a copy by --weights"):
        model.label("set")
    for file in ("file-train.h5", "file-train.json", "file.npz"):
        assert b"net.pth" not in Path(file).read_bytes()
    expected = Model.load("wheel.npz").label("set")
    np.testing.assert_array_equal(model.label("set", weights="net.pth").scores, expected.scores)
    Path("net.pth").write_bytes(b"another")
    with pytest.raises(WeightsError, match="sha256 is"):
        model.label("set", weights="net.pth")


def train_labels(train: Any) -> np.ndarray:
    return np.array(train.class_names)[train.labels]


def test_the_bundles_networks_are_those_of_the_settings(params: dict[str, Any]) -> None:
    for (sha256, size), record in networks.BUNDLED.items():
        blocks = [
            block
            for block in params["backbones"].values()
            if block.get("weights", {}).get("sha256") == sha256 and block["size"] == size
        ]
        assert [recorded(block) for block in blocks] == [record]
    files = [*Path(__file__).parents[2].glob("data/features/*/*/train.h5")]
    assert files and all(networks.of(store.header(file), "") for file in files)


def test_a_session_of_images_is_one_of_their_features(
    place: Path, capsys: pytest.CaptureFixture[str], refused: Refused
) -> None:
    """Against extraction and `fit --append`; the model that goes on may be replaced."""
    block = {"reader": "folder", "root": "new", "split": "all.txt"}
    draw(place / "new/eel", 5)
    lines = [f"train {name}/{i}.jpg" for name in ("dog", "eel") for i in range(9)]
    lines += [f"test {name}/9.jpg" for name in ("dog", "eel")]
    Path("all.txt").write_text("".join(f"{line}\n" for line in lines))
    pins = Model.load("file.npz").terms
    weights = {"source": "file", "path": "net.pth", "sha256": pins["weights_sha256"]}
    network = {"timm_id": "test_efficientnet", "weights": weights} | SEEN
    extract_split("new.h5", "other", block, "net", network, "train", EXTRACTION)
    assert main(["fit", "--append", "wheel.npz", "--features", "new.h5", "--out", "f.npz"]) == 0
    for name in ("dog", "eel"):
        (place / f"new/{name}/9.jpg").unlink()
    assert main(["learn", "wheel.npz", "new", "--out", "wheel.npz"]) == 0
    said = capsys.readouterr().out
    assert said.endswith(
        "session 2: 18 images of 2 classes\nwheel.npz: acil, 2 sessions, 5 classes, 256 features\n"
    )
    one, other = learner_of("wheel.npz"), learner_of("f.npz")
    assert one.keys() == other.keys()
    for name in one:
        if one[name].dtype.kind == "f":
            np.testing.assert_allclose(one[name], other[name], rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(one[name], other[name])
    answers = [Model.load(name).label("new").labels for name in ("wheel.npz", "f.npz")]
    assert answers[0].tolist() == answers[1].tolist() and {"dog", "eel"} <= {*answers[0].tolist()}
    # a class folder alone, and the same images again under another name
    shutil.copytree("new/eel", "again/fly")
    said = refused("learn", "wheel.npz", "again/fly/", "--out", "w.npz")
    assert "again/fly/0.jpg: this image, and 8 others, were learned before" in said
    draw(place / "single/gnu", 2, number=3)
    assert main(["learn", "wheel.npz", "single/gnu/", "--out", "w.npz"]) == 0
    assert Model.load("w.npz").class_names == [*CLASSES, "dog", "eel", "gnu"]
    shutil.copy("new/eel/0.jpg", "single/0.jpg")
    said = refused("learn", "wheel.npz", "single", "--out", "w.npz")
    assert "Name each class folder" in said
    (place / "single/gnu/bad.jpg").write_bytes(b"")
    said = refused("learn", "wheel.npz", "single/gnu", "--out", "wheel.npz")
    assert "gnu/bad.jpg: cannot be read (the first: the file is empty)" in said
