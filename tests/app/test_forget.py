"""`sparcl forget`: samples, classes and ids leave a model, and nothing is written where that cannot be."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from commands import Refused
from toy_files import META

from sparcl.app.cli import main
from sparcl.app.model import Model
from sparcl.features import store

NAMES = ["ant", "bee", "cat", "dog"]
ACIL = ["--method", "acil", "--set", "ridge=0.1"]
PLUS = ["--method", "sparcl-plus", "--set", "k=3"]
FORGET = ["forget", "m.npz", "--out", "f.npz"]
Say = Callable[..., str]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files of the same classes; the second has the first 20 samples of the first one's shape under other ids."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(store, "ROWS", 7)
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        y = np.arange(40) % 4
        Phi = (4 * np.eye(4, 6)[y] + rng.standard_normal((40, 6))).astype(np.float32)
        store.write(f"{seed}.h5", Phi, y, [f"é {seed}/{i}" for i in range(40)], NAMES, META)


@pytest.fixture
def say(files: None, capsys: pytest.CaptureFixture[str]) -> Say:
    def say(*arguments: str, code: int = 0) -> str:
        assert main(arguments) == code, capsys.readouterr()
        said = capsys.readouterr()
        return said.err if code else said.out

    return say


def features(path: str) -> np.ndarray:
    return store.read(path).features


def numbers(said: str) -> list[float]:
    return [float(found) for found in re.findall(r"\d\.\de[+-]\d\d", said)]


@pytest.mark.parametrize("device", ["cpu", "torch-cpu"])
def test_a_class_leaves_model_ids_and_files(say: Say, device: str) -> None:
    say("fit", *ACIL, "--features", "1.h5", "2.h5", "--out", "m.npz")
    files = ["1.h5", "2.h5"]
    asked = ["--features", *files, "--classes", "bee", "--against", *files, "--device", device]
    said = say(*FORGET, *asked)
    assert "forgotten: 20 samples, 1 classes as a whole\n" in said
    assert "to a model fitted on the 60 samples that stay, largest difference of\n" in said
    bound, weights, scores = numbers(said)
    assert weights < bound < 1e-10 and scores < 1e-10
    model = Model.load("f.npz")
    assert model.labels.tolist() == ["ant", "cat", "dog"]
    assert len(model.counted.names) == 60
    # what is forgotten can be learned again, and the same twice cannot be forgotten
    assert "were not learned" in say(
        "forget", "f.npz", "--out", "f.npz", "--features", "1.h5", "--ids", ids("é 1/1"), code=2
    )
    say("fit", "--append", "f.npz", "--features", "1.h5", "--out", "g.npz", code=2)


def ids(*names: str) -> str:
    Path("ids.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    return "ids.txt"


def test_samples_leave_by_file_and_by_id_in_place(say: Say) -> None:
    say("fit", *ACIL, "--features", "1.h5", "--out", "m.npz")
    say("fit", *ACIL, "--append", "m.npz", "--features", "2.h5", "--out", "m.npz")
    say("forget", "m.npz", "--features", "2.h5", "--out", "m.npz")
    say("fit", *ACIL, "--features", "1.h5", "--out", "w.npz")
    model, wanted = Model.load("m.npz"), Model.load("w.npz")
    assert np.array_equal(model.counted.names, wanted.counted.names)
    assert np.abs(model.scores(features("2.h5")) - wanted.scores(features("2.h5"))).max() < 1e-12
    say("fit", *ACIL, "--append", "m.npz", "--features", "2.h5", "--out", "m.npz")  # learned again
    asked = [f"é 1/{i}" for i in range(0, 40, 4)]  # all of ant in one file, one sample of bee
    said = say(
        *FORGET, "--features", "1.h5", "--ids", ids(*asked, "é 1/1"), "--against", "1.h5", "2.h5"
    )
    assert "forgotten: 11 samples, 0 classes" in said and max(numbers(said)) < 1e-10
    left = Model.load("f.npz").counted.names
    assert (
        len(left) == 69
        and not np.isin(left, [f"toy\ntrain\n{name}".encode() for name in asked]).any()
    )


def test_what_a_refit_can_differ_in_is_said(say: Say) -> None:
    say("fit", *PLUS, "--features", "1.h5", "--out", "m.npz")
    asked = ["--features", "1.h5", "--ids", ids("é 1/0", "é 1/7")]
    refused = say(*FORGET, *asked, code=2)
    assert "refit_from_sums" in refused and not Path("f.npz").exists()
    said = say(*FORGET, *asked, "--refit-from-sums", "--against", "1.h5")
    assert "as with k = 0" in said and "root is taken" in said
    assert numbers(said)[-1] > 1e-4  # beside one that has the covariances


BAD = [
    (["--features", "2.h5"], "40 samples to be forgotten were not learned"),
    (["--features", "1.h5", "--classes", "eel"], "class 'eel' is none"),
    (["--features", "1.h5"], "nothing would be left"),
    (
        ["--features", "1.h5", "--ids", "none.txt"],
        "the files have 0 of the samples to be forgotten",
    ),
    (["--features", "1.h5", "--ids", "twice.txt"], "the files have 1 .* and 2 ids"),
    (["--features", "1.h5", "--ids", "latin.txt"], "latin.txt: no UTF-8"),
    (["--features", "3.h5", "--classes", "bee"], "lack samples of class 'bee'"),
    (["--features", "1.h5", "--classes", "bee", "--against", "2.h5"], "0 of the 30 samples"),
]


def test_a_refusal_writes_nothing(say: Say, refused: Refused) -> None:
    say("fit", *ACIL, "--features", "1.h5", "--out", "m.npz")
    part = store.read("1.h5")
    rows = np.arange(10)
    names = [f"é 1/{i}" for i in rows]
    store.write("3.h5", part.features[rows], part.labels[rows], names, NAMES, META)
    for name, text in {
        "none": b"nobody\n",
        "twice": "é 1/1\né 9/9\n".encode(),
        "latin": b"\xe9\n",
    }.items():
        Path(f"{name}.txt").write_bytes(text)
    for arguments, message in BAD:
        for out in ("f.npz", "m.npz"):
            assert re.search(message, refused("forget", "m.npz", "--out", out, *arguments))
