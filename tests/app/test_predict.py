"""`sparcl predict` writes what the model says of each sample, and every wrong file is named for what it is."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import Refused, Write, main
from toy_files import META

import sparcl
from sparcl.app.model import Model
from sparcl.features import store

NAMES = ["ant, red", "bee", 'cat "x"']
ACIL = ["--method", "acil", "--set", "ridge=0.1"]


def drawn(seed: int, n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return (4 * np.eye(3, 5)[y] + rng.standard_normal((n, 5))).astype(np.float32), y


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def write(name: str, seed: int, **meta: str) -> str:
        Phi, y = drawn(seed)
        store.write(name, Phi, y, [f"é {seed}/{i}" for i in range(len(y))], NAMES, META | meta)
        return name

    return write


def rows(path: str) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("raw", [[], ["--raw"]])
def test_labels_and_scores_of_images_and_of_rows(
    raw: list[str],
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(store, "ROWS", 7)
    write("train.h5", 1)
    write("test.h5", 2, split="test")
    X = drawn(2)[0].astype(np.float64) + 1e-9  # numbers that float32 does not hold
    np.save("X.npy", X)
    np.savez("X.npz", features=np.rint(X).astype(np.int64), labels=drawn(2)[1])
    assert main(["fit", *ACIL, *raw, "--features", "train.h5", "--out", "m.npz"]) == 0
    files = ["test.h5", "X.npy", "X.npz"]
    assert main(["predict", "m.npz", "--features", *files, "--out", "p.csv"]) == 0
    assert capsys.readouterr().out.endswith("p.csv: labels and scores of 90 samples\n")
    learner = sparcl.build("acil", ridge=0.1, normalize=not raw)
    learner.fit_session(*drawn(1))
    found = rows("p.csv")
    scores = learner.logits(np.concatenate([drawn(2)[0], X, np.rint(X)]))
    assert list(found[0]) == ["file", "id", "label", *(f"score:{name}" for name in NAMES)]
    assert [row["file"] for row in found] == [name for name in files for _ in range(30)]
    numbers = [str(i) for i in range(30)]
    assert [row["id"] for row in found] == [f"é 2/{i}" for i in range(30)] + numbers + numbers
    assert [row["label"] for row in found] == [NAMES[i] for i in scores.argmax(axis=1)]
    written = np.array([[float(row[f"score:{name}"]) for name in NAMES] for row in found])
    assert np.abs(written - scores).max() < 1e-12
    model = sparcl.load("m.npz")
    assert isinstance(model, Model)
    assert model.predict(X).tolist() == [row["label"] for row in found[30:60]]


def test_a_label_is_written_as_it_is(write: Write, tmp_path: Path) -> None:
    """A spreadsheet may take it for a formula, as docs/command-line.md says; a reader of CSV gets every letter."""
    labels = ["=cmd|' /C calc'!A0", "@SUM(1)\r2", 'a "b"\n,+1']
    Phi, y = drawn(1)
    store.write("own.h5", Phi, y, [f"-{i}\r" for i in range(len(y))], labels, META)
    assert main(["fit", *ACIL, "--features", "own.h5", "--out", "m.npz"]) == 0
    assert main(["predict", "m.npz", "--features", "own.h5", "--out", "p.csv"]) == 0
    found, predicted = rows("p.csv"), Model.load("m.npz").predict(Phi)
    assert [row["label"] for row in found] == predicted.tolist()
    assert [row["id"] for row in found] == [f"-{i}\r" for i in range(len(y))]
    assert {*predicted.tolist()} == {*labels}
    assert [*found[0]][3:] == [f"score:{name}" for name in Model.load("m.npz").labels]
    table = pd.read_csv("p.csv")
    assert table["label"].tolist() == predicted.tolist() and len(table) == len(y)


# --- what is refused ------------------------------------------------------------------------------


def test_a_wrong_file_is_named_for_what_it_is(write: Write, refused: Refused) -> None:
    write("train.h5", 1)
    write("other.h5", 2, backbone="another")
    Phi, y = drawn(1)
    np.save("X.npy", Phi)
    np.save("wide.npy", np.ones((2, 9)))
    np.save("gap.npy", np.where(np.arange(30)[:, None] == 11, np.nan, Phi))
    np.savez("arrays.npz", features=Phi, labels=y)
    sparcl.build("ncm").save("learner.npz")
    sparcl.Classifier("acil").fit(Phi, y).save("classifier.npz")
    Path("order.csv").write_text("3,1\n0,2\n")
    assert main(["fit", *ACIL, "--features", "train.h5", "--out", "m.npz"]) == 0
    assert main(["sums", "--features", "train.h5", "--out", "sums.npz"]) == 0
    predict, fit = "predict m.npz --features", f"{' '.join(['fit', *ACIL])} --features"
    no, twice = "not a model of `sparcl fit`, but", "given twice, and would count twice"
    core = "the rank of a core follows from the share tau of the energy, or is k"
    shape = "of shape (2, 9), and the model takes numbers of shape (n, 5)"
    for command, message in (
        ("predict arrays.npz --features X.npy", f"{no} a file of 2 arrays (features, labels)"),
        ("evaluate learner.npz --features train.h5", f"{no} a learner of Learner.save"),
        ("merge classifier.npz m.npz", f"{no} a classifier of sparcl.Classifier.save"),
        ("fit --append sums.npz --features train.h5", f"{no} sums of `study.sums`"),
        ("merge-sums m.npz sums.npz", "not sums of `study.sums`, but a model of `sparcl fit`"),
        ("predict absent.npz --features X.npy", "absent.npz: no such file"),
        (f"{predict} absent.npy", "absent.npy: no such file of features"),
        (f"{predict} absent.h5", "absent.h5: no such feature file"),
        (f"{fit} train.h5 --order-file absent.json", "absent.json: no such order file"),
        (
            f"{fit} train.h5 --order-file order.csv",
            "order.csv: missing or damaged (Extra",
        ),
        (f"{fit} X.npy", "X.npy: not a readable HDF5 file"),
        (f"{fit} X.npy", "`sparcl import` makes feature files of arrays"),
        (f"{predict} other.h5", "other.h5: backbone is 'another', but 'toy-net' in the model"),
        (f"{predict} wide.npy", f"wide.npy: features are float64 {shape}"),
        (f"{predict} gap.npy", "gap.npy: features of row 11 (the first is 0) are NaN, infinite"),
        (f"{predict} X.npy ./X.npy", f"X.npy is {twice}"),
        ("merge m.npz m.npz", f"m.npz is {twice}"),
        ("merge-sums sums.npz sums.npz", f"sums.npz is {twice}"),
        ("sums --features train.h5 train.h5", f"train.h5 is {twice}"),
        ("fit --method sparcl --set tau=0.5 --set k=3 --features train.h5", core),
        (f"{predict} X.npy --out m.npz", "--out m.npz is read by this command too"),
    ):
        given = command.split()
        assert message in refused(*given, *([] if "--out" in given else ["--out", "made"]))


@pytest.mark.parametrize("method", ["sparcl", "sparcl-alg1"])
def test_rank_or_energy_in_every_way_in(method: str, write: Write) -> None:
    write("train.h5", 1)
    both = {"tau": 0.5, "k": 2}
    with pytest.raises(sparcl.base.errors.InputError, match=r"tau = 0\.5 and k = 2"):
        sparcl.build(method, **both)
    with pytest.raises(ValueError, match=r"tau = 0\.5 and k = 2"):
        sparcl.Classifier(method, **both).fit(*drawn(1))
    with pytest.raises(sparcl.base.errors.InputError, match=r"tau = 0\.5 and k = 2"):
        sparcl.build("compose", core={"spectral": both})
    # a rank alone: a saved model opens again, though tau has a default
    fit = ["fit", "--method", method, "--set", "k=2", "--features", "train.h5", "--out", "m.npz"]
    assert main(fit) == 0
    assert json.dumps(Model.load("m.npz").terms["hyper"]["k"]) == "2"


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"sparcl {sparcl.__version__}\n"
